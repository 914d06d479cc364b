//! Short functions that make attribute values.

use std::{collections::HashMap, fmt::Display};

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use aws_smithy_types::base64;
use serde_json::{Value, json};

pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(crate) fn n(number: impl Display) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn b(bytes: impl Into<Vec<u8>>) -> AttributeValue {
    AttributeValue::B(Blob::new(bytes))
}

pub(crate) fn item<const N: usize>(attributes: [(&str, AttributeValue); N]) -> Item {
    attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the value in its JSON form. The members of a set are sorted.
pub(crate) fn json(value: &AttributeValue) -> Value {
    let sorted = |members: &[String]| {
        let mut members = members.to_vec();
        members.sort_unstable();
        members
    };
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::Bool(flag) => json!({ "BOOL": flag }),
        AttributeValue::Null(_) => json!({ "NULL": true }),
        AttributeValue::L(list) => json!({ "L": list.iter().map(json).collect::<Vec<_>>() }),
        AttributeValue::M(map) => {
            json!({ "M": map.iter().map(|(name, value)| (name.clone(), json(value))).collect::<serde_json::Map<_, _>>() })
        }
        AttributeValue::B(bytes) => json!({ "B": base64::encode(bytes) }),
        AttributeValue::Ss(set) => json!({ "SS": sorted(set) }),
        AttributeValue::Ns(set) => json!({ "NS": sorted(set) }),
        other => panic!("no test sends {other:?}"),
    }
}

//! Value to item and back: the only place that knows the shapes of attribute values.

mod attributes;
mod decode;
mod encode;
mod etag;
mod fingerprint;
mod stored;

pub(crate) use decode::{decode, ring_of, version_in};
pub(crate) use encode::{Changes, encode, encode_attribute};
pub use etag::{Etag, ParseEtagError};
pub(crate) use stored::Basis;
pub use stored::Stored;

use std::collections::HashMap;

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use crate::{
    key::{Key, KeyValue},
    model::Model,
};

/// The attributes of an item, or of a key.
pub(crate) type Item = HashMap<String, AttributeValue>;

impl From<&KeyValue> for AttributeValue {
    fn from(value: &KeyValue) -> Self {
        match value {
            KeyValue::S(text) => Self::S(text.clone()),
            KeyValue::N(digits) => Self::N(digits.clone()),
            KeyValue::B(bytes) => Self::B(Blob::new(bytes.clone())),
        }
    }
}

/// The key attributes under their names. A sort key that the table does not have is left out, and one that is missing as well:
/// [`Key`]s come from generated types, which have what their table has.
pub(crate) fn key_item(model: &Model, key: &Key) -> Item {
    model
        .key_attributes()
        .zip(key.values())
        .map(|(attribute, value)| (attribute.name.to_owned(), value.into()))
        .collect()
}

/// The bytes that DynamoDB counts for an item, names included, by the rules of its documentation (numbers rounded up).
pub(crate) fn size(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + size_of(value)).sum()
}

fn size_of(value: &AttributeValue) -> usize {
    const CONTAINER: usize = 3;
    const ELEMENT: usize = 1;
    let number = |digits: &String| digits.len().div_ceil(2) + 1;
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(digits) => number(digits),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Ns(numbers) => numbers.iter().map(number).sum(),
        AttributeValue::Bs(blobs) => blobs.iter().map(|bytes| bytes.as_ref().len()).sum(),
        AttributeValue::L(list) => CONTAINER + list.iter().map(|value| ELEMENT + size_of(value)).sum::<usize>(),
        AttributeValue::M(map) => {
            CONTAINER + map.iter().map(|(name, value)| ELEMENT + name.len() + size_of(value)).sum::<usize>()
        }
        // Booleans and nulls take one byte; a shape that this SDK does not know takes at least that.
        _ => 1,
    }
}

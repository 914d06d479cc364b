//! Explains why serde cannot read a value, without showing the value.

use crate::error::{CodecReason, SerdeError};

/// Converts the text of a `serde_dynamo` error into the reason of a [`SerdeError`]. The part of an
/// error text before `, expected` may quote the value, so the reason omits this part. An unknown
/// error text becomes the `detail` of the error. `Display` and `Debug` omit the `detail`.
///
/// `found` is the type of the stored attribute.
pub(super) fn refused_by_serde(error: &serde_dynamo::Error, found: &'static str) -> SerdeError {
    let text = error.to_string();
    match reason(&text, found) {
        Some(reason) => SerdeError::new(reason),
        None => SerdeError::refused(text),
    }
}

fn reason(text: &str, found: &'static str) -> Option<CodecReason> {
    // The quoted value may contain `, expected `, so the search starts at the end of the text.
    let expected = || text.rsplit_once(", expected ").map(|(_, expected)| Box::from(expected));
    let quoted = |text: &str| text.strip_suffix('`').map(Box::from);
    if let Some(field) = text.strip_prefix("missing field `") {
        return Some(CodecReason::MissingField { field: quoted(field)? });
    }
    if let Some(field) = text.strip_prefix("duplicate field `") {
        return Some(CodecReason::DuplicateField { field: quoted(field)? });
    }
    if text.starts_with("unknown field `") {
        return Some(CodecReason::UnknownField { expected: expected()? });
    }
    if text.starts_with("unknown variant `") {
        return Some(CodecReason::UnknownVariant { expected: expected()? });
    }
    if text.starts_with("invalid type: ") {
        return Some(CodecReason::Type { expected: expected()?, found });
    }
    if ["invalid value: ", "invalid length "].iter().any(|start| text.starts_with(start)) {
        return Some(CodecReason::Value { expected: expected()?, found });
    }
    // The text `Failed to parse` quotes the stored number, so the reason does not contain the text.
    if text.starts_with("Failed to parse '") {
        return Some(CodecReason::Value { expected: "a number of the field's type".into(), found });
    }
    let expected = match text {
        "Expected string" => "a string",
        "Expected map" => "a map",
        "Expected seq" => "a list or a set",
        "Expected num" => "a number",
        "Expected bool" => "a boolean",
        "Expected char" => "a string of one character",
        "Expected unit" | "Expected unit struct" => "null",
        "Expected enum" => "a variant: a string, or a map with one entry",
        "Expected binary data" => "binary",
        "Expected an item with a single key" => "a map with one entry",
        _ => return None,
    };
    Some(CodecReason::Type { expected: expected.into(), found })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use aws_sdk_dynamodb::types::AttributeValue;
    use serde::{Deserialize, de::DeserializeOwned};

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "it is read alone")]
    struct Line {
        price: u8,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Status {
        Open,
        Paid,
    }

    const SECRET: &str = "a secret, expected by nobody";

    fn refused<T: DeserializeOwned + std::fmt::Debug>(value: AttributeValue) -> CodecReason {
        let value = serde_dynamo::Deserializer::from_attribute_value(value.into());
        let error = refused_by_serde(&T::deserialize(value).unwrap_err(), "a string");
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
        crate::error::CodecError::new("lines".into(), error).reason().clone()
    }

    fn s(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    fn map(name: &str, value: AttributeValue) -> AttributeValue {
        AttributeValue::M([(name.to_owned(), value)].into())
    }

    #[test]
    fn the_reason_has_names_and_types_and_no_value() {
        let type_of = |expected: &str| CodecReason::Type { expected: expected.into(), found: "a string" };
        let value_of = |expected: &str| CodecReason::Value { expected: expected.into(), found: "a string" };
        let n = |digits: &str| AttributeValue::N(digits.to_owned());
        assert_eq!(refused::<u8>(s(SECRET)), type_of("a number"));
        assert_eq!(refused::<u8>(n("300")), value_of("a number of the field's type"));
        assert_eq!(refused::<String>(n("7")), type_of("a string"));
        assert_eq!(refused::<bool>(s(SECRET)), type_of("a boolean"));
        assert_eq!(refused::<char>(s(SECRET)), type_of("a string of one character"));
        assert_eq!(refused::<Vec<u8>>(s(SECRET)), type_of("a list or a set"));
        assert_eq!(refused::<BTreeMap<String, u8>>(s(SECRET)), type_of("a map"));
        assert_eq!(refused::<()>(s(SECRET)), type_of("null"));
        assert_eq!(refused::<Line>(map("price", s(SECRET))), type_of("a number"));
        assert_eq!(refused::<Line>(map("price", map("x", s(SECRET)))), type_of("a number"));
        assert_eq!(refused::<std::net::IpAddr>(s(SECRET)), CodecReason::Refused);
        assert_eq!(refused::<Line>(AttributeValue::M([].into())), CodecReason::MissingField { field: "price".into() });
        assert_eq!(refused::<Line>(map(SECRET, n("1"))), CodecReason::UnknownField { expected: "`price`".into() });
        let variants = CodecReason::UnknownVariant { expected: "`open` or `paid`".into() };
        assert_eq!(refused::<Status>(s(SECRET)), variants);
        assert_eq!(refused::<(u8, u8)>(AttributeValue::L(vec![n("1")])), value_of("a tuple of size 2"));
        assert_eq!(refused::<std::num::NonZeroU8>(n("0")), value_of("a nonzero u8"));
    }
}

//! Values of attributes as text and as JSON.

use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_types::base64;
use serde_json::{Map, Value, json};

use super::Item;
use crate::output::shown;

/// The maximum length of a list or a map that the text shows on one line.
const LINE: usize = 80;

/// Returns an item in the JSON of DynamoDB, for example `{"stock": {"N": "7"}}`.
pub(super) fn item_to_json(item: &Item) -> Value {
    Value::Object(item.iter().map(|(name, value)| (name.clone(), to_json(value))).collect::<Map<_, _>>())
}

fn to_json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(digits) => json!({ "N": digits }),
        AttributeValue::B(bytes) => json!({ "B": base64::encode(bytes) }),
        AttributeValue::Bool(is_true) => json!({ "BOOL": is_true }),
        AttributeValue::Null(is_null) => json!({ "NULL": is_null }),
        AttributeValue::Ss(texts) => json!({ "SS": texts }),
        AttributeValue::Ns(numbers) => json!({ "NS": numbers }),
        AttributeValue::Bs(blobs) => json!({ "BS": blobs.iter().map(base64::encode).collect::<Vec<_>>() }),
        AttributeValue::L(values) => json!({ "L": values.iter().map(to_json).collect::<Vec<_>>() }),
        AttributeValue::M(values) => json!({ "M": item_to_json(values) }),
        _ => json!({ "UNKNOWN": true }),
    }
}

/// Returns the value of an attribute as text for people. `indent` is the number of spaces before
/// the lines of a long list or map.
pub(super) fn to_text(value: &AttributeValue, indent: usize) -> String {
    let (open, parts, close) = match value {
        AttributeValue::S(text) => return quoted(text),
        AttributeValue::N(digits) => return shown(digits),
        AttributeValue::B(bytes) => return blob(bytes.as_ref()),
        AttributeValue::Bool(is_true) => return is_true.to_string(),
        AttributeValue::Null(_) => return "null".to_owned(),
        AttributeValue::Ss(texts) => ("{", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>(), "}"),
        AttributeValue::Ns(numbers) => ("{", numbers.iter().map(|digits| shown(digits)).collect(), "}"),
        AttributeValue::Bs(blobs) => ("{", blobs.iter().map(|bytes| blob(bytes.as_ref())).collect(), "}"),
        AttributeValue::L(values) => ("[", values.iter().map(|value| to_text(value, indent + 2)).collect(), "]"),
        AttributeValue::M(values) => {
            let mut names: Vec<_> = values.keys().collect();
            names.sort();
            let field = |name: &&String| format!("{}: {}", shown(name), to_text(&values[*name], indent + 2));
            ("{", names.iter().map(field).collect(), "}")
        }
        _ => return "(of an unknown type)".to_owned(),
    };
    let line = format!("{open}{}{close}", parts.join(", "));
    if line.len() <= LINE && !line.contains('\n') {
        return line;
    }
    let (inner, outer) = (" ".repeat(indent + 2), " ".repeat(indent));
    format!("{open}\n{inner}{},\n{outer}{close}", parts.join(&format!(",\n{inner}")))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", shown(text))
}

fn blob(bytes: &[u8]) -> String {
    format!("base64 {}", base64::encode(bytes))
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::primitives::Blob;

    use super::*;

    fn text(text: &str) -> AttributeValue {
        AttributeValue::S(text.to_owned())
    }

    #[test]
    fn a_short_value_is_one_line() {
        let number = AttributeValue::N("12345678901234567890123456789012345678".to_owned());
        let map = AttributeValue::M([("b".to_owned(), number), ("a".to_owned(), AttributeValue::Null(true))].into());
        assert_eq!(to_text(&map, 0), "{a: null, b: 12345678901234567890123456789012345678}");
        assert_eq!(to_text(&AttributeValue::L(vec![text("x\ny"), AttributeValue::Bool(true)]), 0), "[\"x\\ny\", true]");
        assert_eq!(to_text(&AttributeValue::B(Blob::new([1, 2])), 0), "base64 AQI=");
        assert_eq!(to_text(&AttributeValue::Ss(vec!["a".to_owned()]), 0), "{\"a\"}");
    }

    #[test]
    fn a_long_value_has_a_line_for_each_part() {
        let long = "x".repeat(60);
        let list = AttributeValue::L(vec![text(&long), text(&long)]);
        assert_eq!(to_text(&list, 2), format!("[\n    \"{long}\",\n    \"{long}\",\n  ]"));
    }

    #[test]
    fn json_keeps_all_digits() {
        let item = [("n".to_owned(), AttributeValue::N("12345678901234567890123456789012345678".to_owned()))].into();
        assert_eq!(item_to_json(&item), json!({ "n": { "N": "12345678901234567890123456789012345678" } }));
    }
}

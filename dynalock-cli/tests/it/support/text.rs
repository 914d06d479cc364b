//! Texts whose times and random numbers are replaced.

#[cfg(unix)]
use serde_json::Value;

/// Replaces the parts of a text that differ in each run, and the spaces after them:
///
/// | part | replaced by |
/// |---|---|
/// | a nonce, a ticket, a write id | `<id>` |
/// | a fence, which starts with the time in milliseconds | `<fence>` |
/// | a moment in RFC 3339 | `<moment>` |
/// | a duration | `<time>` |
/// | the address of a server | `<address>` |
pub(crate) fn masked(text: &str) -> String {
    let line = |line: &str| {
        let parts: Vec<_> = line.split(' ').collect();
        let mut masked: Vec<String> = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let is_after_mask = masked.last().is_some_and(|last| last.starts_with('<'));
            // The width of a column depends on the masked parts.
            if part.is_empty() && index > 0 && is_after_mask {
                continue;
            }
            // The second part of a duration like `9m 58s`.
            let part = with_mask(part);
            match masked.last_mut() {
                Some(last) if last.ends_with("<time>") && part.starts_with("<time>") => {
                    last.push_str(&part["<time>".len()..]);
                }
                _ => masked.push(part),
            }
        }
        masked.join(" ").trim_end().to_owned()
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Masks a part, and keeps the punctuation around it.
fn with_mask(part: &str) -> String {
    let start = part.trim_start_matches('(');
    let inner = start.trim_end_matches([')', ':', ',']);
    match mask(inner) {
        Some(mask) => format!("{}{mask}{}", &part[..part.len() - start.len()], &start[inner.len()..]),
        None => part.to_owned(),
    }
}

fn mask(part: &str) -> Option<&'static str> {
    let is_digit = |char: char| char.is_ascii_digit();
    let units = ["ms", "s", "m", "h", "d"];
    let is_duration = units
        .iter()
        .filter_map(|unit| part.strip_suffix(unit))
        .any(|number| number.starts_with(is_digit) && number.parse::<f64>().is_ok());
    if part.len() == 16 && part.chars().all(|char| char.is_ascii_hexdigit()) {
        Some("<id>")
    } else if part.len() == 13 && part.chars().all(is_digit) {
        Some("<fence>")
    } else if part.len() == 20 && part.starts_with("20") && part.ends_with('Z') {
        Some("<moment>")
    } else if is_duration {
        Some("<time>")
    } else if part.starts_with("127.0.0.1:") {
        Some("<address>")
    } else {
        None
    }
}

/// Parses JSON, and replaces the same parts. A number of milliseconds is a duration.
#[cfg(unix)]
pub(crate) fn masked_json(text: &str) -> Value {
    let mut value = serde_json::from_str(text).unwrap();
    mask_value("", &mut value);
    value
}

#[cfg(unix)]
fn mask_value(name: &str, value: &mut Value) {
    match value {
        Value::String(text) => *text = masked(text),
        Value::Number(_) if name.ends_with("_ms") => *value = "<time>".into(),
        Value::Number(number) => {
            if let Some(mask) = mask(&number.to_string()) {
                *value = mask.into();
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| mask_value("", value)),
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| mask_value(name, value)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[test]
fn the_times_of_a_text_are_masked() {
    assert_eq!(masked("held  9m 58s  0123456789abcdef  x"), "held  <time> <id> x");
    assert_eq!(masked("1795346342123  free\n\n85123A 7"), "<fence> free\n\n85123A 7");
    assert_eq!(masked("at 2026-11-22T11:30:02Z 4.2s ago"), "at <moment> <time> ago");
    assert_eq!(masked("expires (in 26d 4h): soon"), "expires (in <time>): soon");
}

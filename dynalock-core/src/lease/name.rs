//! The names of rows: that of a lock, and behind it its namespace, if it is in one.

use std::sync::Arc;

/// What stands between both, and in neither: U+001F, the unit separator.
const SEPARATOR: char = '\u{1f}';

/// The name of the row; nothing if one of the two cannot be part of it.
pub(crate) fn row_name(name: &str, namespace: Option<&str>) -> Result<Arc<str>, &'static str> {
    if name.is_empty() || namespace == Some("") {
        return Err("it is empty");
    }
    if name.contains(SEPARATOR) || namespace.is_some_and(|namespace| namespace.contains(SEPARATOR)) {
        return Err("it contains U+001F, which stands between a name and its namespace");
    }
    Ok(match namespace {
        Some(namespace) => format!("{name}{SEPARATOR}{namespace}").into(),
        None => name.into(),
    })
}

/// The name of the lock, and its namespace.
pub(crate) fn parts(row_name: &str) -> (&str, Option<&str>) {
    match row_name.split_once(SEPARATOR) {
        Some((name, namespace)) => (name, Some(namespace)),
        None => (row_name, None),
    }
}

use std::sync::Arc;

use crate::key::MAX_PARTITION_BYTES;

const SEPARATOR: char = '\u{1f}';

pub(crate) fn row_name(name: &str, namespace: Option<&str>) -> Result<Arc<str>, &'static str> {
    if name.is_empty() || namespace == Some("") {
        return Err("it is empty");
    }
    if name.contains(SEPARATOR) || namespace.is_some_and(|namespace| namespace.contains(SEPARATOR)) {
        return Err("it contains U+001F, which stands between a name and its namespace");
    }
    let row_name: Arc<str> = match namespace {
        Some(namespace) => format!("{name}{SEPARATOR}{namespace}").into(),
        None => name.into(),
    };
    if row_name.len() > MAX_PARTITION_BYTES {
        return Err("the name, or the name and its namespace with one byte between them, has more than 2,048 bytes");
    }
    Ok(row_name)
}

/// Returns the text by which errors name the lock, or `None` if `row_name` is empty.
pub(crate) fn shown(row_name: &str) -> Option<Arc<str>> {
    match parts(row_name) {
        ("", _) => None,
        (name, None) => Some(name.into()),
        (name, Some(namespace)) => Some(format!("{name} of namespace {namespace}").into()),
    }
}

pub(crate) fn parts(row_name: &str) -> (&str, Option<&str>) {
    match row_name.split_once(SEPARATOR) {
        Some((name, namespace)) => (name, Some(namespace)),
        None => (row_name, None),
    }
}

//! Checks the writes of types with a flattened field (`#[serde(flatten)]`). The derive macro sees
//! neither the attribute names nor the aliases inside a flattened field. Before each write of a
//! type with a flattened field, the library verifies that serde can read the resulting item.

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{
    Item,
    decode::decode_value,
    encode::{Changes, Fingerprints, attributes_of, not_encoded},
};
use crate::{
    error::{CodecReason, Error, SerdeError},
    model::Versioned,
};

/// Returns an error if serde cannot decode a new item, or would ignore an attribute of the new
/// item.
pub(super) fn check_new<T: Versioned>(table: &Arc<str>, item: Item) -> Result<(), Error> {
    let written: Vec<String> = item.keys().cloned().collect();
    shows_all::<T>(table, item, &written, None)
}

/// Finds the aliases of the changed attributes in the stored item, and adds the aliases to
/// `changes.remove`. Returns an error if serde could not decode the item after the changes, or
/// would ignore a changed attribute.
///
/// An item must not contain both a field and an alias of the field. Serde would report a duplicate
/// field. For a flattened field of type `Option`, serde would read the whole field as `None`. If a
/// write removes a field but not its alias, serde reads the old value from the alias.
///
/// `stored` is the stored item without the attributes that the library adds, for example `_writes`.
/// `written` contains the attributes that serde writes for the value.
pub(super) fn remove_aliases<T: Versioned>(
    table: &Arc<str>,
    stored: &Item,
    written: &Fingerprints,
    changes: &mut Changes,
) -> Result<(), Error> {
    let alias_of = |name: &str, value: &AttributeValue| alias_of::<T>(table, stored, written, name, value);
    let is_new = |name: &str| !stored.contains_key(name);

    // If a removed attribute is not in the stored item, serde has read the attribute from an alias
    // or from a default.
    let mut aliases = Vec::new();
    if changes.remove.iter().any(|name| is_new(name)) {
        let before = read_back::<T>(table, stored.clone())?;
        let removed = changes.remove.iter().filter(|name| is_new(name));
        let removed = removed.filter_map(|name| before.get(&**name).map(|value| (name, value)));
        aliases.extend(removed.filter_map(|(name, value)| alias_of(name, value)));
    }

    // Nearly all writes end after the first call of `shows_all`, because an item usually contains
    // no aliases.
    let names: Vec<String> = changes.set.iter().map(|(name, _)| name.clone().into_owned()).collect();
    let is_complete = shows_all::<T>(table, changes.after(T::MODEL, stored), &names, None).is_ok();
    if is_complete && aliases.is_empty() {
        return Ok(());
    }
    // The search for the aliases of the set attributes decodes the item many times.
    if !is_complete {
        let set = changes.set.iter().filter(|(name, _)| is_new(name));
        aliases.extend(set.filter_map(|(name, value)| alias_of(name, value)));
    }
    changes.remove.extend(aliases.into_iter().map(Into::into));
    let blamed = names.iter().find(|name| is_new(name));
    shows_all::<T>(table, changes.after(T::MODEL, stored), &names, blamed)
}

/// Decodes the item, serializes the decoded value, and returns an error if serde fails or leaves
/// out an attribute in `written`. The error names the first attribute that serde leaves out, or the
/// attribute `blamed` if serde cannot decode the item.
fn shows_all<T: Versioned>(
    table: &Arc<str>,
    item: Item,
    written: &[String],
    blamed: Option<&String>,
) -> Result<(), Error> {
    const TOGETHER: &str = "the item could not be read back: this write would store an attribute and its alias, or two \
                            fields, together";
    const HIDDEN: &str = "the item could not be read back: serde would not read this attribute, because an alias or \
                          another attribute is stored beside it";
    const OTHER: &str = "the item could not be read back: serde cannot read what this write would leave";
    let (attribute, why) = match read_back::<T>(table, item) {
        Ok(shown) => match written.iter().find(|name| !shown.contains_key(*name)) {
            None => return Ok(()),
            hidden => (hidden, HIDDEN),
        },
        Err(Error::Decode(error)) if matches!(error.reason(), CodecReason::DuplicateField { .. }) => (blamed, TOGETHER),
        Err(_) => (blamed, OTHER),
    };
    let error = SerdeError::not_storable(why);
    Err(not_encoded(table, if let Some(name) = attribute { error.in_field(name) } else { error }))
}

/// Returns the alias under which the item stores the field `name`, or `None` if the item contains
/// no alias of `name`. `alias_of` adds the field `name` to a copy of the item, and then removes one
/// other attribute at a time. If serde can then read the field, the removed attribute is the alias.
fn alias_of<T: Versioned>(
    table: &Arc<str>,
    stored: &Item,
    written: &Fingerprints,
    name: &str,
    value: &AttributeValue,
) -> Option<String> {
    let shows = |item: Item| read_back::<T>(table, item).is_ok_and(|item| item.contains_key(name));
    let mut both = stored.clone();
    both.insert(name.to_owned(), value.clone());
    if shows(both.clone()) {
        return None;
    }
    // An attribute with the wrong type can also prevent serde from reading `name`. The library must
    // not remove such an attribute.
    let is_read_from_another = shows(stored.clone());
    let is_candidate = |other: &&String| {
        // Serde reads a null under an alias as an absent field, and then writes no attribute for
        // the field.
        let may_be_alias = is_read_from_another || matches!(stored.get(*other), Some(AttributeValue::Null(_)));
        may_be_alias && !written.contains(other)
    };
    let is_alias = |other: &&String| {
        let mut alone = both.clone();
        alone.remove(*other);
        shows(alone)
    };
    stored.keys().filter(is_candidate).find(is_alias).cloned()
}

/// The argument `item` must not contain the attributes that the library adds, for example
/// `_writes`.
fn read_back<T: Versioned>(table: &Arc<str>, mut item: Item) -> Result<Item, Error> {
    // If the type has fields for the creation time and the update time, serde needs both
    // attributes. `read_back` does not return the times, so 0 replaces a missing time.
    for time in T::MODEL.times.kept() {
        item.entry(time.name.to_owned()).or_insert_with(|| AttributeValue::N("0".to_owned()));
    }
    let value: T = decode_value(table, item, 1)?;
    attributes_of(table, &value)
}

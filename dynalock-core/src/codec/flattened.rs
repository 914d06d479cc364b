//! Checks the writes of types with a flattened field (`#[serde(flatten)]`). The derive macro sees
//! neither the attribute names nor the aliases inside a flattened field. Before each write of a
//! type with a flattened field, the library verifies that serde can read the resulting item.

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{
    Item,
    decode::value_of,
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

/// Finds the aliases of the changed attributes in the stored item, and adds the aliases to the
/// attributes that `changes` removes. Returns an error if serde could not decode the changed item,
/// or would ignore a changed attribute.
///
/// If an item contains both a field and an alias of the field, serde reports a duplicate field, or
/// reads the whole flattened field as `None` if its type is an `Option`. If a write removes a field
/// but not its alias, serde reads the old value from the alias.
///
/// `stored` is the item that the read returned, without the library's own attributes. `written`
/// contains the names of the attributes that serde writes for the value.
pub(super) fn remove_aliases<T: Versioned>(
    table: &Arc<str>,
    stored: &Item,
    written: &Fingerprints,
    changes: &mut Changes,
) -> Result<(), Error> {
    let alias_of = |name: &str, value: &AttributeValue| alias_of::<T>(table, stored, written, name, value);
    let is_new = |name: &str| !stored.contains_key(name);

    // If the stored item does not contain the name of a removed attribute, serde has read an alias,
    // or has used a default.
    let mut aliases = Vec::new();
    if changes.remove.iter().any(|name| is_new(name)) {
        let before = read_back::<T>(table, stored.clone())?;
        let removed = changes.remove.iter().filter(|name| is_new(name));
        let removed = removed.filter_map(|name| before.get(&**name).map(|value| (name, value)));
        aliases.extend(removed.filter_map(|(name, value)| alias_of(name, value)));
    }

    // The first call of `shows_all` succeeds for nearly all writes, because an item usually
    // contains no aliases.
    let names: Vec<String> = changes.set.iter().map(|(name, _)| name.clone().into_owned()).collect();
    let is_complete = shows_all::<T>(table, changes.after(T::MODEL, stored), &names, None).is_ok();
    if is_complete && aliases.is_empty() {
        return Ok(());
    }
    // The search for the aliases of the set attributes decodes the item many times, so it runs only
    // if the first `shows_all` has failed.
    if !is_complete {
        let set = changes.set.iter().filter(|(name, _)| is_new(name));
        aliases.extend(set.filter_map(|(name, value)| alias_of(name, value)));
    }
    changes.remove.extend(aliases.into_iter().map(Into::into));
    // After the removal of the aliases, serde must be able to read all written attributes.
    let blamed = names.iter().find(|name| is_new(name));
    shows_all::<T>(table, changes.after(T::MODEL, stored), &names, blamed)
}

/// Returns an error if serde cannot decode the item, or if an attribute in `written` is missing
/// after serde has decoded and serialized the item. The error names the first missing attribute, or
/// `blamed` if serde cannot decode the item.
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
/// no alias of `name`. Serde cannot read an item that contains both a field and its alias, so an
/// attribute is an alias of `name` if serde can read `name` only without the attribute.
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
    // An attribute with the wrong type can prevent serde from reading `name`. An attribute with the
    // wrong type is not an alias, and the library must not remove the attribute.
    let is_read_from_another = shows(stored.clone());
    let is_candidate = |other: &&String| {
        // If an item stores a null under an alias, serde reads the field as absent, and then writes
        // no attribute for the field.
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

/// Returns the attributes that serde writes for the decoded `item`. `item` no longer contains the
/// library's own attributes.
fn read_back<T: Versioned>(table: &Arc<str>, mut item: Item) -> Result<Item, Error> {
    // If the type has fields for the times of the create and of the last write, serde needs the
    // times in the item. `read_back` does not return the times, so the code inserts 0 for a missing
    // time.
    for time in T::MODEL.times.kept() {
        item.entry(time.name.to_owned()).or_insert_with(|| AttributeValue::N("0".to_owned()));
    }
    let value: T = value_of(table, item, 1)?;
    attributes_of(table, &value)
}

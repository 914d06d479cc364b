//! Checks for types with a flattened field. The derive knows neither the attributes of such a
//! field nor their aliases. Before the library sends a write, it therefore verifies that serde can
//! read the resulting item.

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

/// Refuses a new item if serde cannot read it back, or does not read every attribute.
pub(super) fn check_new<T: Versioned>(table: &Arc<str>, item: Item) -> Result<(), Error> {
    let written: Vec<String> = item.keys().cloned().collect();
    shows_all::<T>(table, item, &written).map_err(|unread| unread.into_error(table))
}

/// Adds to `changes` the removal of the aliases under which the changed attributes are stored.
/// Returns an error if serde could not read the resulting item, or would ignore a changed
/// attribute.
///
/// Serde refuses an item that has both a name and its alias, as a duplicate field. A flattened
/// `Option` is `None` for such an item. If a write removes only the name, serde reads the old value
/// from the alias.
///
/// `stored` is the item as it was read, without bookkeeping. `written` contains the names under
/// which serde writes the value.
pub(super) fn remove_aliases<T: Versioned>(
    table: &Arc<str>,
    stored: &Item,
    written: &Fingerprints,
    changes: &mut Changes,
) -> Result<(), Error> {
    let search = Search::<T> { table, stored, written, of: std::marker::PhantomData };
    let is_new = |name: &str| !stored.contains_key(name);

    // Such an attribute was read from an alias, or has a default. The item itself does not contain
    // its name.
    let mut aliases = Vec::new();
    if changes.remove.iter().any(|name| is_new(name)) {
        let before = read_back::<T>(table, stored.clone())?;
        let removed = changes.remove.iter().filter(|name| is_new(name));
        let removed = removed.filter_map(|name| before.get(&**name).map(|value| (name, value)));
        aliases.extend(removed.filter_map(|(name, value)| search.alias_of(name, value)));
    }

    // For nearly all writes, one check is enough: an item that is stored under the written names
    // has no aliases.
    let names: Vec<String> = changes.set.iter().map(|(name, _)| name.clone().into_owned()).collect();
    let is_complete = shows_all::<T>(table, changes.after(T::MODEL, stored), &names).is_ok();
    if is_complete && aliases.is_empty() {
        return Ok(());
    }
    if !is_complete {
        let set = changes.set.iter().filter(|(name, _)| is_new(name));
        aliases.extend(set.filter_map(|(name, value)| search.alias_of(name, value)));
    }
    changes.remove.extend(aliases.into_iter().map(Into::into));
    let shown = shows_all::<T>(table, changes.after(T::MODEL, stored), &names);
    shown.map_err(|Unread { attribute, why }| {
        let attribute = attribute.or_else(|| names.iter().find(|name| is_new(name)).cloned());
        Unread { attribute, why }.into_error(table)
    })
}

/// The reason why serde could not read an item.
struct Unread {
    /// The attribute that is the cause, if it is known.
    attribute: Option<String>,
    why: &'static str,
}

impl Unread {
    const TOGETHER: &str = "the item could not be read back: this write would store an attribute and its alias, or two \
                            fields, together";
    const HIDDEN: &str = "the item could not be read back: serde would not read this attribute, because an alias or \
                          another attribute is stored beside it";
    const OTHER: &str = "the item could not be read back: serde cannot read what this write would leave";

    fn of_error(error: &Error) -> Self {
        let is_twice =
            matches!(error, Error::Decode(error) if matches!(error.reason(), CodecReason::DuplicateField { .. }));
        Self { attribute: None, why: if is_twice { Self::TOGETHER } else { Self::OTHER } }
    }

    fn into_error(self, table: &Arc<str>) -> Error {
        let error = SerdeError::not_storable(self.why);
        let error = match self.attribute {
            Some(attribute) => error.in_field(&attribute),
            None => error,
        };
        not_encoded(table, error)
    }
}

/// Checks that serde can read an item, and that its value contains each of these attributes. The
/// error names the first attribute that is missing.
fn shows_all<T: Versioned>(table: &Arc<str>, item: Item, written: &[String]) -> Result<(), Unread> {
    let shown = read_back::<T>(table, item).map_err(|error| Unread::of_error(&error))?;
    match written.iter().find(|name| !shown.contains_key(*name)) {
        Some(hidden) => Err(Unread { attribute: Some(hidden.clone()), why: Unread::HIDDEN }),
        None => Ok(()),
    }
}

/// Finds the aliases of the attributes of one stored item.
struct Search<'a, T> {
    table: &'a Arc<str>,
    stored: &'a Item,
    written: &'a Fingerprints,
    of: std::marker::PhantomData<fn() -> T>,
}

impl<T: Versioned> Search<'_, T> {
    /// Returns the alias under which `name` is stored. An attribute is the alias if serde shows
    /// `name` without it, and does not show `name` with both attributes present.
    fn alias_of(&self, name: &str, value: &AttributeValue) -> Option<String> {
        let mut both = self.stored.clone();
        both.insert(name.to_owned(), value.clone());
        if self.shows(both.clone(), name) {
            return None;
        }
        // An attribute that is not an alias may have the wrong type, and hide the name for that
        // reason. Such an attribute must not be removed.
        let is_read_from_another = self.shows(self.stored.clone(), name);
        let is_candidate = |other: &&String| {
            let may_be_alias = is_read_from_another || matches!(self.stored.get(*other), Some(AttributeValue::Null(_)));
            may_be_alias && !self.written.contains(other)
        };
        let is_alias = |other: &&String| {
            let mut alone = both.clone();
            alone.remove(*other);
            self.shows(alone, name)
        };
        self.stored.keys().filter(is_candidate).find(is_alias).cloned()
    }

    fn shows(&self, item: Item, name: &str) -> bool {
        read_back::<T>(self.table, item).is_ok_and(|item| item.contains_key(name))
    }
}

/// Returns the attributes that serde writes for the value of an item without bookkeeping.
fn read_back<T: Versioned>(table: &Arc<str>, mut item: Item) -> Result<Item, Error> {
    // The version and the kept times are not part of the content. Any number makes the item
    // readable.
    for time in T::MODEL.times.kept() {
        item.entry(time.name.to_owned()).or_insert_with(|| AttributeValue::N("0".to_owned()));
    }
    let value: T = value_of(table, item, 1)?;
    attributes_of(table, &value)
}

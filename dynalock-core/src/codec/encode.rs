//! Converts Rust values into DynamoDB items, and finds the changed attributes of a value.

use std::{borrow::Cow, collections::hash_map::Entry, mem, ops::Range, sync::Arc};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;

use super::{
    Item,
    attributes::{AttributeSink, walk},
    fingerprint::Buffer,
    size_of,
};
use crate::{
    error::{CodecError, Error, SerdeError, SerdeResult},
    model::{Model, Versioned},
    version::{PATCHES, WRITES},
};

/// Encodes the attributes of a value except the version, the creation time and the update time.
/// Only the library may change these three.
pub(super) fn attributes_of<T: Versioned>(table: &Arc<str>, value: &T) -> Result<Item, Error> {
    let mut encode = Encode { item: Item::new(), model: T::MODEL, buffer: Buffer::new() };
    walk(value, &mut encode).map_err(|error| not_encoded(table, error))?;
    Ok(encode.item)
}

pub(super) fn not_encoded(table: &Arc<str>, error: SerdeError) -> Error {
    Error::Encode(CodecError::new(Arc::clone(table), error))
}

pub(crate) fn encode_attribute<V: Serialize + ?Sized>(value: &V) -> SerdeResult<AttributeValue> {
    Buffer::new().check(value)?;
    attribute(value)
}

#[derive(Default, Clone)]
pub(crate) struct Changes {
    pub(crate) set: Vec<(Cow<'static, str>, AttributeValue)>,
    /// The attributes that the write removes: attributes that serde no longer writes, and aliases
    /// of changed attributes.
    pub(crate) remove: Vec<Cow<'static, str>>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }

    /// Applies the changes to an item in memory, and removes the serde aliases of each changed
    /// attribute.
    pub(crate) fn apply(&self, model: &Model, item: &mut Item) {
        for name in self.names() {
            item.remove(name);
            for alias in model.aliases_of(name) {
                item.remove(*alias);
            }
        }
        for (name, value) in &self.set {
            item.insert(name.clone().into_owned(), value.clone());
        }
    }

    pub(crate) fn after(&self, model: &Model, item: &Item) -> Item {
        let mut after = item.clone();
        self.apply(model, &mut after);
        after
    }

    /// Returns the size in bytes of the attributes in `set`, by DynamoDB's rules.
    pub(crate) fn size(&self) -> usize {
        self.set.iter().map(|(name, value)| name.len() + size_of(value)).sum()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.set.iter().map(|(name, _)| &**name).chain(self.remove.iter().map(|name| &**name))
    }
}

/// One fingerprint for each attribute of a value, in the order in which serde writes the
/// attributes.
#[derive(Clone)]
pub(super) struct Fingerprints {
    model: &'static Model,
    bytes: Buffer,
    attributes: Vec<Fingerprinted>,
}

#[derive(Clone)]
struct Fingerprinted {
    name: Cow<'static, str>,
    position: Range<usize>,
}

impl Fingerprints {
    pub(super) fn of<T: Versioned>(value: &T) -> SerdeResult<Self> {
        // Most values have at most 16 attributes.
        let mut of = Self { model: T::MODEL, bytes: Buffer::new(), attributes: Vec::with_capacity(16) };
        walk(value, &mut of)?;
        Ok(of)
    }

    fn equals(&self, index: usize, fingerprint: &[u8]) -> bool {
        self.bytes.at(&self.attributes[index].position) == fingerprint
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.attributes.iter().map(|attribute| &*attribute.name)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.names().any(|written| written == name)
    }

    pub(super) fn key_differs<T: Versioned>(&self, value: &T) -> SerdeResult<bool> {
        let mut keys = KeyComparison { before: self, buffer: Buffer::new(), differ: false };
        walk(value, &mut keys)?;
        Ok(keys.differ)
    }

    pub(super) fn changes<T: Versioned>(&self, value: &T) -> SerdeResult<Changes> {
        let mut diff = Diff {
            before: self,
            seen: vec![false; self.attributes.len()],
            at: 0,
            changes: Changes::default(),
            buffer: Buffer::new(),
        };
        walk(value, &mut diff)?;
        let Diff { seen, mut changes, .. } = diff;
        // Serde may no longer write an attribute, for example because of `skip_serializing_if`.
        let gone = self.attributes.iter().zip(seen).filter(|(_, seen)| !seen).map(|(gone, _)| gone.name.clone());
        changes.remove.extend(gone);
        Ok(changes)
    }
}

/// Returns `true` for an attribute of the user's value, and an error for a reserved name. Returns
/// `false` for the version, the creation time and the update time, which only the library may
/// change.
fn is_own(model: &Model, name: &str) -> SerdeResult<bool> {
    let reserved = |why| Err(SerdeError::not_storable(why).in_field(name));
    if name == model.version {
        return match model.version_is_field {
            true => Ok(false),
            false => reserved("the name is reserved for the version"),
        };
    }
    if model.lock.is_some_and(|lock| lock.names().contains(&name)) {
        return reserved("the name is reserved for the lease");
    }
    // Most names of user attributes do not begin with `_`, so the test of the first character saves
    // most comparisons of whole names.
    if name.starts_with('_') && (name == WRITES || PATCHES.contains(&name)) {
        return reserved("the name is reserved for the ids of writes and patches");
    }
    Ok(!model.times.is_kept(name))
}

fn written_twice(name: &str) -> SerdeError {
    SerdeError::not_storable("it is written twice").in_field(name)
}

struct Encode<'m> {
    item: Item,
    model: &'m Model,
    buffer: Buffer,
}

impl AttributeSink for Encode<'_> {
    fn attribute<V: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &V) -> SerdeResult<()> {
        if !is_own(self.model, &name)? {
            return Ok(());
        }
        let encoded = self.buffer.check(value).and_then(|()| attribute(value));
        let encoded = encoded.map_err(|error| error.in_field(&name))?;
        // A flattened field can contain an attribute with the name of another field.
        match self.item.entry(name.into_owned()) {
            Entry::Vacant(place) => {
                place.insert(encoded);
                Ok(())
            }
            Entry::Occupied(place) => Err(written_twice(place.key())),
        }
    }
}

impl AttributeSink for Fingerprints {
    fn attribute<V: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &V) -> SerdeResult<()> {
        if is_own(self.model, &name)? {
            let position = self.bytes.push(value).map_err(|error| error.in_field(&name))?;
            self.attributes.push(Fingerprinted { name, position });
        }
        Ok(())
    }
}

struct KeyComparison<'a> {
    before: &'a Fingerprints,
    buffer: Buffer,
    differ: bool,
}

impl AttributeSink for KeyComparison<'_> {
    fn attribute<V: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &V) -> SerdeResult<()> {
        if self.before.model.is_key(&name) {
            // An update never writes a key attribute, so the fingerprint of the key is enough.
            let after = self.buffer.push(value)?;
            let index = self.before.names().position(|before| before == name);
            self.differ |= index.is_some_and(|index| !self.before.equals(index, self.buffer.at(&after)));
        }
        Ok(())
    }
}

struct Diff<'a> {
    before: &'a Fingerprints,
    seen: Vec<bool>,
    at: usize,
    changes: Changes,
    buffer: Buffer,
}

impl Diff<'_> {
    /// Finds the fingerprint of the attribute `name`. `find` first tries the attribute after the
    /// last match, because serde usually writes the attributes of a value in the same order.
    fn find(&mut self, name: &str) -> Option<usize> {
        let found = match self.before.attributes.get(self.at) {
            Some(here) if here.name == name => Some(self.at),
            Some(_) | None => self.before.names().position(|here| here == name),
        };
        self.at = found.map_or(self.at, |index| index + 1);
        found
    }
}

impl AttributeSink for Diff<'_> {
    fn attribute<V: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &V) -> SerdeResult<()> {
        let known = self.find(&name);
        // The library has already checked each attribute that has a fingerprint.
        if known.is_none() && !is_own(self.before.model, &name)? {
            return Ok(());
        }
        self.buffer.clear();
        let after = self.buffer.push(value).map_err(|error| error.in_field(&name))?;
        if let Some(index) = known {
            // If serde wrote an attribute twice, one of the two values would be lost without an
            // error.
            if mem::replace(&mut self.seen[index], true) {
                return Err(written_twice(&name));
            }
            if self.before.equals(index, self.buffer.at(&after)) {
                return Ok(());
            }
        }
        let encoded = attribute(value).map_err(|error| error.in_field(&name))?;
        self.changes.set.push((name, encoded));
        Ok(())
    }
}

/// Encodes one attribute, or returns an error for a value that DynamoDB cannot store. The caller
/// must first write the value into a [`Buffer`]. The `Buffer` refuses map keys that would make
/// `serde_dynamo` panic.
fn attribute<V: Serialize + ?Sized>(value: &V) -> SerdeResult<AttributeValue> {
    let encoded = value.serialize(serde_dynamo::Serializer).map_err(|error| not_converted(&error))?.into();
    match why_not_storable(&encoded) {
        Some(why) => Err(SerdeError::not_storable(why)),
        None => Ok(encoded),
    }
}

/// Returns the error for a value that `serde_dynamo` cannot convert into an attribute. If
/// `not_converted` does not know the text of the `serde_dynamo` error, the text becomes the
/// `detail` of the returned error. `Display` and `Debug` omit the `detail`.
fn not_converted(error: &serde_dynamo::Error) -> SerdeError {
    const SETS: [(&str, &str); 4] = [
        ("Not a set-like sequence", "it is written as a set, and is no list"),
        (
            "String set element does not serialize to string",
            "it is written as a set of strings, and an element is no string",
        ),
        (
            "Number set element does not serialize to number",
            "it is written as a set of numbers, and an element is no number",
        ),
        (
            "Binary set element does not serialize to binary",
            "it is written as a set of binaries, and an element is no binary",
        ),
    ];
    let text = error.to_string();
    match SETS.iter().find(|(known, _)| *known == text) {
        Some((_, why)) => SerdeError::not_storable(why),
        None => SerdeError::refused(text),
    }
}

fn why_not_storable(value: &AttributeValue) -> Option<&'static str> {
    const EMPTY_SET: &str = "it is an empty set, which DynamoDB does not store; leave the attribute out with \
                             `#[serde(default, skip_serializing_if = \"..\")]`";
    match value {
        AttributeValue::N(digits) if matches!(digits.as_str(), "NaN" | "inf" | "-inf") => {
            Some("it is not a finite number, and DynamoDB stores no others")
        }
        AttributeValue::Ss(set) | AttributeValue::Ns(set) if set.is_empty() => Some(EMPTY_SET),
        AttributeValue::Bs(set) if set.is_empty() => Some(EMPTY_SET),
        AttributeValue::L(list) => list.iter().find_map(why_not_storable),
        AttributeValue::M(map) => map.values().find_map(why_not_storable),
        _ => None,
    }
}

//! Converts DynamoDB items into Rust values.

use std::{collections::hash_map, sync::Arc};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess, Visitor},
    forward_to_deserialize_any,
};

use super::{Basis, Changes, Content, Item, State, Stored, refused::refused_by_serde, times::times_of, type_of};
use crate::{
    error::{CodecError, Error, SerdeError, SerdeResult},
    model::{LockModel, Model, Versioned},
    version::{PATCHES, Revision, WRITES, parse_ring, version_of},
};

/// Decodes an item into a value and a [`Basis`], which contains the data for the next write of the
/// item.
pub(crate) fn decode<T: Versioned>(table: &Arc<str>, mut item: Item) -> Result<(T, Basis), Error> {
    let state = take_state(T::MODEL, table, &mut item)?;
    item.remove(T::MODEL.version);
    strip_lease(T::MODEL, &mut item);
    strip_patches(&mut item);
    let content = Content::of(T::MODEL, &item);
    let times = times_of(T::MODEL, &item);
    Ok((value_of(table, item, state.revision.number())?, Basis::read(state, content, times)))
}

/// Decodes an item, runs the closure `change` on the value, and returns the value, its [`Basis`]
/// and the attributes that the closure has changed.
pub(crate) fn changed<T: Versioned, E: From<Error>>(
    table: &Arc<str>,
    item: Item,
    change: impl FnOnce(&mut T) -> Result<(), E>,
) -> Result<(T, Basis, Changes), E> {
    let (mut value, mut basis) = decode::<T>(table, item)?;
    // `remember` stores fingerprints of the value, so that `changes` can find the attributes that
    // the closure has changed.
    basis.remember(&value);
    change(&mut value)?;
    let changes = basis.changes(table, &value)?;
    Ok((value, basis, changes))
}

pub(crate) fn decode_stored<T: Versioned>(table: &Arc<str>, item: Item) -> Result<Stored<T>, Error> {
    let (value, basis) = decode(table, item)?;
    Ok(Stored::new(value, basis))
}

pub(crate) fn state_of(model: &Model, table: &Arc<str>, item: &Item) -> Result<State, Error> {
    let revision = revision(model, table, item.get(model.version), item.get(WRITES).cloned())?;
    // Without a version or without write ids, only the whole item identifies its state.
    let image = (!revision.is_tracked()).then(|| Box::new(image(model, item)));
    Ok(State { revision, image })
}

fn image(model: &Model, item: &Item) -> Item {
    let mut image = item.clone();
    strip_lease(model, &mut image);
    strip_patches(&mut image);
    image
}

pub(super) fn without_bookkeeping(model: &Model, item: &Item) -> Item {
    let mut content = image(model, item);
    content.remove(model.version);
    content.remove(WRITES);
    content
}

fn strip_patches(item: &mut Item) {
    // Each patch writes all eight attributes `_p0` to `_p7`, so an item without `_p0` has none of
    // them.
    if item.remove(PATCHES[0]).is_some() {
        for name in &PATCHES[1..] {
            item.remove(*name);
        }
    }
}

fn strip_lease(model: &Model, item: &mut Item) {
    for name in model.lock.iter().flat_map(LockModel::names) {
        item.remove(name);
    }
}

/// Returns `true` if an item has both a version and write ids, which together identify the state of
/// the item.
pub(super) fn is_tracked(model: &Model, item: &Item) -> bool {
    item.contains_key(model.version) && item.contains_key(WRITES)
}

/// Returns the [`State`] of an item: its version and write ids, and a copy of the item if one of
/// the two is missing. `take_state` also removes the attribute `_writes` (the write ids) from
/// `item`.
fn take_state(model: &Model, table: &Arc<str>, item: &mut Item) -> Result<State, Error> {
    // The copy `image` must contain the attribute `_writes`.
    let image = (!is_tracked(model, item)).then(|| Box::new(image(model, item)));
    let writes = item.remove(WRITES);
    Ok(State { revision: revision(model, table, item.get(model.version), writes)?, image })
}

fn revision(
    model: &Model,
    table: &Arc<str>,
    version: Option<&AttributeValue>,
    writes: Option<AttributeValue>,
) -> Result<Revision, Error> {
    const NO_VERSION: &str = "it is not a whole number from 0 to 18446744073709551615";
    const NO_WRITES: &str = "it is not binary, or its length is not that of an incarnation, a time and write ids";
    let read = |attribute| version_of(attribute).ok_or_else(|| corrupt(table, model.version, NO_VERSION));
    let version = version.map(read).transpose()?;
    let read = |attribute| parse_ring(attribute).ok_or_else(|| corrupt(table, WRITES, NO_WRITES));
    let ring = writes.map(read).transpose()?;
    Ok(Revision { version, ring })
}

fn corrupt(table: &Arc<str>, attribute: &'static str, reason: &'static str) -> Error {
    Error::Corrupt { table: Arc::clone(table), attribute, reason }
}

/// Decodes an item from which the caller has removed the attributes of the library, for example
/// `_writes`. Sets a field marked `#[dynalock(version)]` to the argument `version`.
pub(super) fn value_of<T: Versioned>(table: &Arc<str>, mut item: Item, version: u64) -> Result<T, Error> {
    // Serde requires the version field, even if the stored item has no version.
    if T::MODEL.version_is_field {
        item.insert(T::MODEL.version.to_owned(), AttributeValue::N(version.to_string()));
    }
    let attributes = Attributes { entries: item.into_iter(), value: None };
    T::deserialize(attributes).map_err(|error| Error::Decode(CodecError::new(Arc::clone(table), error)))
}

/// A serde deserializer for the attributes of an item. Each error names the attribute that caused
/// the error.
struct Attributes {
    entries: hash_map::IntoIter<String, AttributeValue>,
    value: Option<(String, AttributeValue)>,
}

impl<'de> Deserializer<'de> for Attributes {
    type Error = SerdeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Attributes {
    type Error = SerdeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> SerdeResult<Option<K::Value>> {
        let Some((name, value)) = self.entries.next() else { return Ok(None) };
        let key = IntoDeserializer::<SerdeError>::into_deserializer(name.as_str());
        let key = seed.deserialize(key).map_err(|error| error.in_field(&name))?;
        self.value = Some((name, value));
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> SerdeResult<V::Value> {
        let (name, value) = self.value.take().ok_or_else(|| SerdeError::custom("a value was asked for twice"))?;
        if !is_known(&value) {
            let why = "it has a type of attribute that this version of the SDK does not know";
            return Err(SerdeError::not_storable(why).in_field(&name));
        }
        let found = kind_of(&value);
        seed.deserialize(serde_dynamo::Deserializer::from_attribute_value(value.into()))
            .map_err(|error: serde_dynamo::Error| refused_by_serde(&error, found).in_field(&name))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// `serde_dynamo` would panic for a value of a type that the SDK does not know.
fn is_known(value: &AttributeValue) -> bool {
    match value {
        AttributeValue::L(list) => list.iter().all(is_known),
        AttributeValue::M(map) => map.values().all(is_known),
        value => type_of(value) != "?",
    }
}

/// Returns a phrase for the type of an attribute in error messages, for example `a string`. For a
/// list or a map, the phrase is `another value in a list` or `another value in a map`, because
/// serde may have refused only a value inside the list or map.
fn kind_of(value: &AttributeValue) -> &'static str {
    match value {
        AttributeValue::S(_) => "a string",
        AttributeValue::N(_) => "a number",
        AttributeValue::B(_) => "binary",
        AttributeValue::Bool(_) => "a boolean",
        AttributeValue::Null(_) => "null",
        AttributeValue::L(_) => "another value in a list",
        AttributeValue::M(_) => "another value in a map",
        _ => "a set",
    }
}

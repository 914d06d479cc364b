//! Decodes a Rust value from the attributes of an item.

use std::{collections::hash_map, sync::Arc};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{
    Deserializer,
    de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess, Visitor},
    forward_to_deserialize_any,
};

use super::{Item, key_of, refused::refused_by_serde, type_of};
use crate::{
    error::{CodecError, Error, SerdeError, SerdeResult},
    model::Versioned,
};

/// Decodes an item from which the caller has removed the attributes of the library, for example
/// `_writes`. Sets a field marked `#[dynalock(version)]` to the argument `version`.
pub(super) fn decode_value<T: Versioned>(table: &Arc<str>, mut item: Item, version: u64) -> Result<T, Error> {
    // Serde requires the version field, even if the stored item has no version.
    if T::MODEL.version_is_field {
        item.insert(T::MODEL.version.to_owned(), AttributeValue::N(version.to_string()));
    }
    let key = T::MODEL.show_key.then(|| key_of(T::MODEL, &item)).flatten();
    let attributes = Attributes { entries: item.into_iter(), value: None };
    T::deserialize(attributes).map_err(|error| {
        let error = CodecError::new(Arc::clone(table), error);
        Error::Decode(error.of_item(key.and_then(|key| T::MODEL.shown_key(&key))))
    })
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
/// list or a map, `kind_of` returns `another value in a list` or `another value in a map`. Serde
/// may have accepted the list or the map, and refused only one of its members.
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

//! Converts values to items and back. Only the module `codec` interprets the attribute values of a
//! user's type.

mod attributes;
mod current;
mod decode;
mod encode;
mod etag;
mod expiry;
mod fingerprint;
mod flattened;
mod load;
mod refused;
mod stored;
mod strip;
mod times;

pub(crate) use encode::{Changes, encode_attribute};
pub use etag::Etag;
pub(crate) use etag::digest_item;
pub(crate) use expiry::{ExpiredItems, ExpiredTimes, expiry_time};
pub(crate) use load::{changed, corrupt, decode, decode_applied, decode_stored, expired_state_of, state_of};
pub use stored::Stored;
pub(crate) use stored::{Basis, ComparedContent, State, UserAttributes};
use strip::is_tracked;
pub(crate) use times::{times_of_create, updated_at};

use std::sync::Arc;

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use serde::Serialize;

use crate::{
    error::Error,
    key::{Key, KeyValue},
    model::{KeyModel, Model, Versioned},
    number,
    version::WRITES,
};

pub(crate) use crate::model::Item;

impl From<&KeyValue> for AttributeValue {
    fn from(value: &KeyValue) -> Self {
        match value {
            KeyValue::S(text) => Self::S(text.clone()),
            KeyValue::N(digits) => Self::N(digits.clone()),
            KeyValue::B(bytes) => Self::B(Blob::new(bytes.clone())),
        }
    }
}

/// Converts a value into an item. For a type with a flattened field, `encode` verifies that serde
/// can decode the item.
pub(crate) fn encode<T: Versioned>(table: &Arc<str>, value: &T) -> Result<Item, Error> {
    let item = encode::attributes_of(table, value)?;
    if T::MODEL.flattens {
        flattened::check_new::<T>(table, item.clone())?;
    }
    Ok(item)
}

/// Returns the key attributes of an item. The derive macro generates a key type that matches the
/// table, so `key_item` does not check whether the sort key is missing or superfluous.
pub(crate) fn key_item(model: &Model, key: &Key) -> Item {
    model
        .key_attributes()
        .zip(key.values())
        .map(|(attribute, value)| (attribute.name.to_owned(), value.into()))
        .collect()
}

/// Returns `None` if the item does not have the key attributes of the table.
pub(crate) fn key_of(model: &Model, item: &Item) -> Option<Key> {
    let value = |attribute: KeyModel| scalar(item.get(attribute.name)?.clone());
    let sort = match model.sort_key {
        Some(attribute) => Some(value(attribute)?),
        None => None,
    };
    Some(Key::new(value(model.partition_key)?, sort))
}

/// Two notations of one number, for example `0.1` and `1e-1`, are the same key value.
pub(crate) fn is_same_key_value(one: Option<&AttributeValue>, other: Option<&AttributeValue>) -> bool {
    let canonical = |value: &AttributeValue| scalar(value.clone()).map(KeyValue::canonical);
    one == other || one.and_then(canonical).is_some_and(|one| Some(one) == other.and_then(canonical))
}

/// Returns the value that serde writes for a key attribute: a string, a number or bytes. If serde
/// writes neither a string nor a number nor bytes, `key_value` returns an empty string, which
/// DynamoDB refuses as a key.
pub fn key_value<V: Serialize + ?Sized>(value: &V) -> KeyValue {
    let written = value.serialize(serde_dynamo::Serializer).ok().map(AttributeValue::from);
    written.and_then(scalar).unwrap_or_else(|| KeyValue::S(String::new()))
}

pub(crate) fn scalar(value: AttributeValue) -> Option<KeyValue> {
    match value {
        AttributeValue::S(text) => Some(KeyValue::S(text)),
        AttributeValue::N(digits) => Some(KeyValue::N(digits)),
        AttributeValue::B(bytes) => Some(KeyValue::B(bytes.into_inner())),
        _ => None,
    }
}

pub(crate) fn same_state(model: &Model, one: Option<&Item>, other: Option<&Item>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) if is_tracked(model, one) && is_tracked(model, other) => {
            // A program without versions may have changed the time to live.
            let mut names = [model.version, WRITES].into_iter().chain(model.times.expires.map(|expires| expires.name));
            names.all(|name| one.get(name) == other.get(name))
        }
        (Some(one), Some(other)) => etag::digest_item(one) == etag::digest_item(other),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Returns the size of an item in bytes with its attribute names, by the rules in the DynamoDB
/// documentation.
pub(crate) fn size(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + size_of(value)).sum()
}

pub(crate) fn size_of(value: &AttributeValue) -> usize {
    const CONTAINER: usize = 3;
    const ELEMENT: usize = 1;
    // DynamoDB stores two significant digits in one byte, and adds one byte for each number.
    let number = |digits: &String| number::significant_digits(digits).div_ceil(2) + 1;
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(digits) => number(digits),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Ns(numbers) => numbers.iter().map(number).sum(),
        AttributeValue::Bs(blobs) => blobs.iter().map(|bytes| bytes.as_ref().len()).sum(),
        AttributeValue::L(list) => CONTAINER + list.iter().map(|value| ELEMENT + size_of(value)).sum::<usize>(),
        AttributeValue::M(map) => {
            CONTAINER + map.iter().map(|(name, value)| ELEMENT + name.len() + size_of(value)).sum::<usize>()
        }
        // Booleans and nulls take one byte. A value of a type that the SDK does not know takes at
        // least one byte.
        _ => 1,
    }
}

/// Returns DynamoDB's name for the type of a value, for example `S`, or `?` for a type that the SDK
/// does not know.
pub(crate) fn type_of(value: &AttributeValue) -> &'static str {
    match value {
        AttributeValue::S(_) => "S",
        AttributeValue::N(_) => "N",
        AttributeValue::B(_) => "B",
        AttributeValue::Bool(_) => "BOOL",
        AttributeValue::Null(_) => "NULL",
        AttributeValue::L(_) => "L",
        AttributeValue::M(_) => "M",
        AttributeValue::Ss(_) => "SS",
        AttributeValue::Ns(_) => "NS",
        AttributeValue::Bs(_) => "BS",
        _ => "?",
    }
}

//! Keys of items and of lease rows, which the library checks before it sends a request.

use std::sync::Arc;

use crate::{
    codec::{Item, key_item},
    error::Error,
    key::{Key, MAX_BYTES},
    model::{ItemRef, KeyModel, Model},
    operation::GetItem,
};

impl ItemRef {
    pub(crate) fn is(&self, table: &str, key: &Key) -> bool {
        *self.table == *table && self.key == *key
    }

    pub(crate) fn key_item(&self) -> Result<Item, Error> {
        checked_key(self.model, &self.table, &self.key)
    }

    pub(crate) fn read(&self) -> Result<GetItem, Error> {
        Ok(GetItem { table: Arc::clone(&self.table), key: self.key_item()?, consistent: true })
    }
}

pub(crate) fn lease_row_key(model: &Model, table: &Arc<str>, key: &Key) -> Result<Item, Error> {
    const NUMBER: &str = "it is a number, and the key of the separate lease row has `#lock` after its value";
    checked_key(model, table, key)?;
    let Some(key) = key.lease_row() else { return Err(invalid(table, model.last_key(), NUMBER)) };
    Ok(key_item(model, &key))
}

/// Returns an error if DynamoDB would refuse the key, or the key of the separate lease row of the
/// item.
pub(crate) fn checked_key(model: &Model, table: &Arc<str>, key: &Key) -> Result<Item, Error> {
    for ((attribute, value), max_bytes) in model.key_attributes().zip(key.values()).zip(MAX_BYTES) {
        if let Some(reason) = attribute.refusal_of(value, max_bytes) {
            return Err(invalid(table, attribute, reason));
        }
    }
    if model.lock_in_row().is_some() {
        const RESERVED: &str = "it ends in `#lock`, like the key of a separate lease row";
        const NO_ROOM: &str =
            "the key of its separate lease row has five bytes more, and is longer than DynamoDB allows";
        if key.is_lease_row() {
            return Err(invalid(table, model.last_key(), RESERVED));
        }
        if key.lease_row().is_some_and(|row| row.is_too_long()) {
            return Err(invalid(table, model.last_key(), NO_ROOM));
        }
    }
    Ok(key_item(model, key))
}

fn invalid(table: &Arc<str>, attribute: KeyModel, reason: &'static str) -> Error {
    Error::InvalidKey { table: Arc::clone(table), attribute: attribute.name, reason }
}

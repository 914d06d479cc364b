//! Converts DynamoDB items into Rust values, and keeps the data for the next write of the item.

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{
    Basis, Changes, ComparedContent, Item, State, Stored, UserAttributes,
    decode::decode_value,
    key_of,
    strip::{image, is_tracked, strip_lease, strip_patches},
    times::times_of,
};
use crate::{
    error::Error,
    model::{Model, Versioned},
    version::{Revision, WRITES, parse_ring, version_of},
};

/// Decodes an item into a value and a [`Basis`], which contains the data for the next write of the
/// item.
pub(crate) fn decode<T: Versioned>(table: &Arc<str>, mut item: Item) -> Result<(T, Basis), Error> {
    let state = take_state(T::MODEL, table, &mut item)?;
    item.remove(T::MODEL.version);
    strip_lease(T::MODEL, &mut item);
    strip_patches(&mut item);
    let content = UserAttributes::of(T::MODEL, &item);
    let times = times_of(T::MODEL, &item);
    Ok((decode_value(table, item, state.revision.number())?, Basis::read(state, content, times)))
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

/// Decodes the item after a write that DynamoDB has applied.
pub(crate) fn decode_applied<T: Versioned>(table: &Arc<str>, item: Item) -> Result<Stored<T>, Error> {
    decode_stored(table, item).map_err(|error| match error {
        Error::Decode(error) => Error::Decode(error.after_write()),
        Error::Corrupt { table, key, attribute, reason, .. } => {
            Error::Corrupt { table, key, attribute, reason, applied: true }
        }
        other => other,
    })
}

pub(crate) fn state_of(model: &Model, table: &Arc<str>, item: &Item) -> Result<State, Error> {
    let revision = revision(model, table, item, item.get(WRITES).cloned())?;
    // Without a version or without write ids, only the whole item identifies its state.
    let compared = (!revision.is_tracked()).then(|| Box::new(ComparedContent::Item(image(model, item))));
    Ok(State { revision, compared })
}

/// Returns the [`State`] of an expired item.
pub(crate) fn expired_state_of(model: &Model, table: &Arc<str>, item: &Item) -> Result<State, Error> {
    let State { revision, compared } = state_of(model, table, item)?;
    let expires = model.times.expires.and_then(|expires| item.get(expires.name));
    let time = || expires.map(|time| Box::new(ComparedContent::TimeToLive(time.clone())));
    Ok(State { revision, compared: compared.or_else(time) })
}

/// Returns the [`State`] of an item: its version and write ids, and a copy of the item if one of
/// the two is missing. `take_state` also removes the attribute `_writes` (the write ids) from
/// `item`.
fn take_state(model: &Model, table: &Arc<str>, item: &mut Item) -> Result<State, Error> {
    // The copy in `compared` must contain the attribute `_writes`.
    let compared = (!is_tracked(model, item)).then(|| Box::new(ComparedContent::Item(image(model, item))));
    let writes = item.remove(WRITES);
    Ok(State { revision: revision(model, table, item, writes)?, compared })
}

fn revision(model: &Model, table: &Arc<str>, item: &Item, writes: Option<AttributeValue>) -> Result<Revision, Error> {
    const NO_VERSION: &str = "it is not a whole number from 0 to 18446744073709551615";
    const NO_WRITES: &str = "it is not binary, or its length is not that of an incarnation, a time and write ids";
    let read = |attribute| version_of(attribute).ok_or_else(|| corrupt(model, table, item, model.version, NO_VERSION));
    let version = item.get(model.version).map(read).transpose()?;
    let read = |attribute| parse_ring(attribute).ok_or_else(|| corrupt(model, table, item, WRITES, NO_WRITES));
    let ring = writes.map(read).transpose()?;
    Ok(Revision { version, ring })
}

pub(crate) fn corrupt(
    model: &Model,
    table: &Arc<str>,
    item: &Item,
    attribute: &'static str,
    reason: &'static str,
) -> Error {
    let key = key_of(model, item).and_then(|key| model.shown_key(&key));
    Error::Corrupt { table: Arc::clone(table), key, attribute, reason, applied: false }
}

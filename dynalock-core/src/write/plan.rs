//! The request that a write needs at one moment, and what the request leaves. Pure.

use std::sync::Arc;

use super::key::lease_row_key;
use crate::{
    codec::{Basis, Item, size},
    error::Error,
    expression::{Placeholders, operators},
    key::Key,
    lease::clause::LeaseClause,
    model::Model,
    operation::{Action, Write},
};

/// A write that is ready to be sent.
pub(crate) struct Plan {
    pub(crate) write: Write,
    /// The write, or the check, of the separate row that keeps the lease of the item. Both happen, or neither does.
    pub(crate) companion: Option<Box<Write>>,
    /// What the next write of the item rests on, once this write is applied. `None` for a delete, and for a check.
    pub(crate) next: Option<Basis>,
    /// The moment that the conditions compare the end of a lease with, in epoch milliseconds. A refusal is judged by the same
    /// moment. `None` if no end is compared.
    pub(crate) judged_at: Option<u64>,
    /// The bytes of the changed attributes, if the write is an update of a transaction.
    pub(crate) changed_bytes: usize,
}

impl Plan {
    /// A write that leaves a revision, with the companion write that the lease clause asks for.
    pub(super) fn new(model: &'static Model, key: &Key, write: Write, clause: &LeaseClause) -> Result<Self, Error> {
        check_size(&write)?;
        let companion = companion(model, &write.table, key, clause)?;
        let judged_at = match clause {
            LeaseClause::Outside { expired_before } => *expired_before,
            LeaseClause::Ignoring | LeaseClause::Holder(_) => None,
        };
        Ok(Self { write, companion, next: None, judged_at, changed_bytes: 0 })
    }

    /// A write without a lease clause.
    pub(super) fn alone(write: Write) -> Self {
        Self { write, companion: None, next: None, judged_at: None, changed_bytes: 0 }
    }

    pub(super) fn leaving(self, next: Basis) -> Self {
        Self { next: Some(next), ..self }
    }

    /// The bytes of the item in the write, as DynamoDB counts them for the limits of a transaction.
    pub(super) fn bytes(&self) -> usize {
        match &self.write.action {
            Action::Put(item) => size(item),
            Action::Update(_) | Action::Delete | Action::Check => size(&self.write.key) + self.changed_bytes,
        }
    }
}

/// The write of the separate row that keeps the lease: its condition, and the renewal, release or removal of the lease. `None` if
/// the lease is in the item, or is ignored.
fn companion(
    model: &'static Model,
    table: &Arc<str>,
    key: &Key,
    clause: &LeaseClause,
) -> Result<Option<Box<Write>>, Error> {
    let mut to = Placeholders::default();
    let Some(condition) = clause.row_condition(model, &mut to) else { return Ok(None) };
    let action = clause.row_update(model, &mut to).map_or(Action::Check, Action::Update);
    Ok(Some(Box::new(write(table, lease_row_key(model, table, key)?, action, Some(condition), to))))
}

/// Refuses a write whose expressions are longer than DynamoDB takes.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
pub(super) fn check_size(write: &Write) -> Result<(), Error> {
    const MOST_BYTES: usize = 4096;
    const MOST_OPERATORS: usize = 300;
    let too_long = |bytes, remedy| Err(Error::ExpressionTooLong { table: Arc::clone(&write.table), bytes, remedy });
    if let Action::Update(text) = &write.action
        && text.len() > MOST_BYTES
    {
        return too_long(text.len(), UPDATE_REMEDY);
    }
    match &write.condition {
        // A short text cannot have so many operators, and is not counted.
        Some(text)
            if text.len() > MOST_BYTES || (text.len() > 2 * MOST_OPERATORS && operators(text) > MOST_OPERATORS) =>
        {
            too_long(text.len(), CONDITION_REMEDY)
        }
        Some(_) | None => Ok(()),
    }
}

const UPDATE_REMEDY: &str = "it changes too many attributes at once: change fewer, keep them in one map attribute, or use \
                             `Repository::update`, which can put the whole item if it has a version and `_writes`";
const CONDITION_REMEDY: &str = "its condition is too long: an item without a version or without `_writes` is compared as a whole, so give it both \
                                with the SDK (the version a number, `_writes` eight random bytes) and read it again; or ask for less in \
                                conditions of your own";

pub(super) fn write(
    table: &Arc<str>,
    key: Item,
    action: Action,
    condition: Option<String>,
    placeholders: Placeholders,
) -> Write {
    let (names, values) = placeholders.finish();
    Write { table: Arc::clone(table), key, action, condition, names, values }
}

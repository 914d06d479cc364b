//! Defines [`Plan`]: the request of one attempt of a write, and the state of the item after the
//! attempt.

use std::sync::Arc;

use super::key::lease_row_key;
use crate::{
    codec::{Basis, size},
    error::{ActionReason, CancellationClass, Error},
    expression::{Placeholders, operators},
    key::Key,
    lease::clause::LeaseClause,
    model::Model,
    operation::{Action, Write},
};

pub(crate) struct Plan {
    pub(crate) write: Write,
    /// The write or check of the separate lease row, in one transaction with the write of the item.
    pub(crate) companion: Option<Box<Write>>,
    /// The state of the item after the write, or `None` for a delete, a patch or a check.
    pub(crate) next: Option<Basis>,
    /// The time in epoch milliseconds that the conditions compare with the end of a lease, or
    /// `None` if no condition compares the end of a lease. After a refusal, the library compares
    /// the end of the stored lease with `judged_at`.
    pub(crate) judged_at: Option<u64>,
    /// The size in bytes of the attributes that an update or a patch changes.
    pub(crate) changed_bytes: usize,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WritePosition {
    pub(crate) write: usize,
    /// The index of the write with the lease condition: the write of the item or of the separate
    /// lease row.
    pub(crate) lease: Option<usize>,
    pub(crate) judged_at: Option<u64>,
}

impl Plan {
    pub(super) fn new(model: &'static Model, key: &Key, write: Write, clause: &LeaseClause) -> Result<Self, Error> {
        check_size(&write)?;
        let mut to = Placeholders::default();
        let companion = match clause.row_condition(model, &mut to) {
            Some(condition) => {
                let action = clause.row_update(model, &mut to).map_or(Action::Check, Action::Update);
                let row = lease_row_key(model, &write.table, key)?;
                Some(Box::new(Write::new(&write.table, row, action, Some(condition), to)))
            }
            None => None,
        };
        // Only a caller that does not hold the lease sends a condition on the end of the lease.
        let judged_at = match clause {
            LeaseClause::Outside { expired_before } => *expired_before,
            LeaseClause::Ignoring | LeaseClause::Holder(_) => None,
        };
        Ok(Self { write, companion, next: None, judged_at, changed_bytes: 0 })
    }

    pub(super) fn alone(write: Write) -> Self {
        Self { write, companion: None, next: None, judged_at: None, changed_bytes: 0 }
    }

    pub(super) fn leaving(self, next: Basis) -> Self {
        Self { next: Some(next), ..self }
    }

    /// Returns the indexes of the plan's writes among all writes of a transaction. `first` is the
    /// index of the write of the item.
    pub(super) fn position(&self, first: usize) -> WritePosition {
        let lease = self.companion.is_some().then_some(first + 1);
        WritePosition { write: first, lease, judged_at: self.judged_at }
    }

    pub(super) fn into_writes(self) -> impl Iterator<Item = Write> {
        std::iter::once(self.write).chain(self.companion.map(|companion| *companion))
    }

    /// Returns the size of the write in bytes, as DynamoDB counts the size for the limits of a
    /// transaction.
    pub(super) fn bytes(&self) -> usize {
        match &self.write.action {
            Action::Put(item) => size(item),
            Action::Update(_) | Action::Patch(_) | Action::RowUpdate(_) | Action::Delete | Action::Check => {
                size(&self.write.key) + self.changed_bytes
            }
        }
    }
}

impl WritePosition {
    pub(crate) fn refused_lease<'r>(&self, reasons: &'r [ActionReason]) -> Option<&'r ActionReason> {
        reasons.get(self.lease?).filter(|reason| reason.class() == Some(CancellationClass::Conflict))
    }
}

/// Returns an error if an expression of the write is longer than DynamoDB allows.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
pub(super) fn check_size(write: &Write) -> Result<(), Error> {
    const MOST_BYTES: usize = 4096;
    const MOST_OPERATORS: usize = 300;
    let too_long = |text: &str, remedy| {
        let (table, bytes, operators) = (Arc::clone(&write.table), text.len(), operators(text));
        Err(Error::ExpressionTooLong { table, bytes, operators, remedy })
    };
    let (update_remedy, condition_remedy) = match &write.action {
        Action::Patch(_) => (PATCH_REMEDY, PATCH_REMEDY),
        _ => (UPDATE_REMEDY, CONDITION_REMEDY),
    };
    if let Action::Update(text) | Action::Patch(text) = &write.action
        && text.len() > MOST_BYTES
    {
        return too_long(text, update_remedy);
    }
    match &write.condition {
        // A condition of at most 600 bytes cannot contain more than 300 operators.
        Some(text)
            if text.len() > MOST_BYTES || (text.len() > 2 * MOST_OPERATORS && operators(text) > MOST_OPERATORS) =>
        {
            too_long(text, condition_remedy)
        }
        Some(_) | None => Ok(()),
    }
}

const UPDATE_REMEDY: &str = "it changes too many attributes at once: change fewer, keep them in one map attribute, or use \
                             `Repository::update`, which can put the whole item if it has a version and `_writes`";
const PATCH_REMEDY: &str =
    "the patch has too many changes or too long a condition: send several patches, or use `update_with`";
const CONDITION_REMEDY: &str = "its condition is too long: an item without a version or without `_writes` is compared as a whole, so \
                                send it a `patch`, which adds both, and read it again; or ask for less in conditions of your own";

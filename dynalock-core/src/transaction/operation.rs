use std::{fmt, sync::Arc};

use super::change::Change;
use crate::{
    codec::{Item, State},
    error::{Error, Spent},
    expression::HolderProof,
    key::Key,
    lock::LeasePolicy,
    model::{Model, Versioned},
    operation::GetItem,
    plan::{Requirement, checked_key},
    repository::Repository,
    version::Expected,
};

/// The item that an operation is about.
#[derive(Clone)]
pub(crate) struct ItemRef {
    pub(crate) table: Arc<str>,
    pub(crate) model: &'static Model,
    pub(crate) key: Key,
    /// The version that the operation rests on.
    pub(crate) expected: Option<u64>,
}

/// One operation, the type of its item forgotten.
pub(super) struct Operation {
    pub(super) item_ref: ItemRef,
    pub(super) act: OperationKind,
}

/// What an operation does.
pub(super) enum OperationKind {
    Change(Box<dyn Change>),
    Check(Requirement),
}

impl ItemRef {
    pub(crate) fn of<T: Versioned>(repository: &Repository<T>, key: Key, expected: Option<u64>) -> Self {
        Self { table: Arc::clone(&repository.table), model: T::MODEL, key, expected }
    }

    /// Whether both are about one item.
    pub(super) fn is(&self, table: &str, key: &Key) -> bool {
        *self.table == *table && self.key == *key
    }

    /// The item's key as DynamoDB takes it.
    pub(super) fn key_item(&self) -> Result<Item, Error> {
        checked_key(self.model, &self.table, &self.key)
    }

    /// A strongly consistent read of the item.
    pub(super) fn read(&self) -> Result<GetItem, Error> {
        Ok(GetItem { table: Arc::clone(&self.table), key: self.key_item()?, consistent: true })
    }
}

impl Operation {
    /// The state that its condition rests on; `None` if it rests on something else.
    pub(super) fn rests_on(&self) -> Option<&State> {
        match &self.act {
            OperationKind::Change(change) => change.state(),
            OperationKind::Check(Requirement::Unchanged(state)) => Some(state),
            OperationKind::Check(
                Requirement::Exists | Requirement::Absent | Requirement::Holds(_) | Requirement::Guard(_),
            ) => None,
        }
    }

    /// The lease that the transaction is guarded by, if this says so.
    pub(super) fn held(&self) -> Option<&HolderProof> {
        match &self.act {
            OperationKind::Check(Requirement::Guard(holder)) => Some(holder),
            OperationKind::Check(_) | OperationKind::Change(_) => None,
        }
    }

    /// The lease that the transaction is guarded by, if this says so and it is kept in a row beside the item.
    pub(super) fn held_beside(&self) -> Option<&HolderProof> {
        self.held().filter(|_| self.item_ref.model.lock_beside().is_some())
    }

    /// Whether it may pass, made anew, what the row beside its item has refused it for.
    pub(super) fn clears(&self, row: Option<&Item>) -> bool {
        match &self.act {
            OperationKind::Change(change) => change.clears(row),
            OperationKind::Check(_) => false,
        }
    }

    /// The error that a false condition is, if a lease is the reason.
    pub(super) fn refusal(&self, met: Option<&Item>, spent: Spent) -> Option<Error> {
        let ItemRef { table, model, .. } = &self.item_ref;
        match &self.act {
            OperationKind::Change(change) => change.refusal(table, met, spent),
            OperationKind::Check(Requirement::Guard(holder)) => holder.lost(model.lock?, met).map(Error::Lost),
            OperationKind::Check(_) => None,
        }
    }

    /// How its write stands to the lease of the item.
    pub(super) fn policy(&self) -> Option<&LeasePolicy> {
        match &self.act {
            OperationKind::Change(change) => Some(change.policy()),
            OperationKind::Check(_) => None,
        }
    }

    /// What a write of it rests on; nothing if it is a check.
    pub(super) fn expected(&self) -> Option<Expected<'_>> {
        match &self.act {
            OperationKind::Change(change) => Some(change.expected()),
            OperationKind::Check(_) => None,
        }
    }
}

impl fmt::Debug for ItemRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").field("table", &self.table).finish_non_exhaustive()
    }
}

use super::change::Change;
use crate::{
    codec::{Item, State},
    error::{Error, Spent},
    lease::{LeasePolicy, clause::HolderProof},
    model::ItemRef,
    version::Expected,
    write::plan::Requirement,
};

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

use super::{
    check::Requirement,
    intent::{Adapted, OwnedIntent},
};
use crate::{
    codec::{Item, State, expired_state_of},
    error::{Error, Spent},
    lease::{clause::HolderProof, policy::CompanionWrite},
    model::ItemRef,
    version::Expected,
};

pub(crate) struct Operation {
    pub(crate) item_ref: ItemRef,
    pub(crate) kind: OperationKind,
    pub(crate) companion: CompanionWrite,
}

pub(crate) enum OperationKind {
    Write(Box<dyn OwnedIntent>),
    Check(Requirement),
}

impl Operation {
    pub(crate) fn new(item_ref: ItemRef, kind: OperationKind) -> Self {
        Self { item_ref, kind, companion: CompanionWrite::Check }
    }

    pub(crate) fn adapt(&mut self, stored: Option<&Item>) -> Result<Adapted, Error> {
        let ItemRef { table, model, expiry, .. } = &self.item_ref;
        match (&mut self.kind, stored) {
            (OperationKind::Write(intent), _) => intent.adapt(stored),
            (OperationKind::Check(Requirement::Absent { expired }), Some(item)) if expiry.is_over(model, item) => {
                let state = Some(expired_state_of(model, table, item)?);
                let adapted = Adapted::if_changed(*expired != state);
                *expired = state;
                Ok(adapted)
            }
            _ => Ok(Adapted::No),
        }
    }

    pub(crate) fn intent(&self) -> Option<&dyn OwnedIntent> {
        let OperationKind::Write(intent) = &self.kind else { return None };
        Some(&**intent)
    }

    pub(crate) fn expected(&self) -> Option<Expected<'_>> {
        self.intent().map(|intent| intent.target().expected)
    }

    pub(crate) fn rests_on(&self) -> Option<&State> {
        match &self.kind {
            OperationKind::Write(intent) => intent.state(),
            OperationKind::Check(Requirement::Unchanged(state)) => Some(state),
            OperationKind::Check(_) => None,
        }
    }

    pub(crate) fn guarded(&self) -> Option<&HolderProof> {
        let OperationKind::Check(Requirement::Guard(holder)) = &self.kind else { return None };
        Some(holder)
    }

    /// Returns `true` for a guard whose lease is in a separate row. Such a guard tests the lease
    /// row and not the item.
    pub(crate) fn is_of_lease_row(&self) -> bool {
        self.guarded().is_some() && self.item_ref.model.lock_in_row().is_some()
    }

    pub(crate) fn lease_error(&self, met: Option<&Item>, judged_at: Option<u64>, spent: Spent) -> Option<Error> {
        match &self.kind {
            OperationKind::Write(intent) => intent.lease_error(met, judged_at, spent),
            OperationKind::Check(Requirement::Guard(holder)) => {
                holder.lost(self.item_ref.model.lock?, met).map(Error::Lost)
            }
            OperationKind::Check(_) => None,
        }
    }
}

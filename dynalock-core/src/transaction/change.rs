use std::{any::Any, sync::Arc};

use crate::{
    codec::{Basis, Item, State, Stored, encode, size},
    error::{Error, Spent},
    lease::{
        LeasePolicy,
        clause::{HolderProof, LeaseClause},
    },
    model::Versioned,
    operation::{Action, Write},
    version::Expected,
    write::plan::{self, Plan, Requirement, WriteStamp},
};

/// A write of a value, whose type is forgotten.
pub(super) trait Change: Send + Sync {
    /// What it rests on.
    fn expected(&self) -> Expected<'_>;

    /// The state of the item that it rests on; `None` for a create.
    fn state(&self) -> Option<&State>;

    /// The write that it needs.
    ///
    /// `held` is the lease that the transaction is guarded by, if it is that of this item.
    fn plan(&self, stamp: WriteStamp, held: Option<&HolderProof>) -> Result<PlannedWrite, Error>;

    /// The error that its refusal is, if the lease of the item that it met is the reason.
    fn refusal(&self, table: &Arc<str>, met: Option<&Item>, spent: Spent) -> Option<Error>;

    /// How it stands to the lease of its item.
    fn policy(&self) -> &LeasePolicy;

    /// Whether the lease in the row beside the item, which has refused it, is no reason to refuse it once more.
    fn clears(&self, row: Option<&Item>) -> bool;

    /// What it leaves, after the planned write: a `Stored<T>`, or `()`.
    fn applied(self: Box<Self>, next: Option<Basis>) -> OperationOutput;
}

/// What an operation leaves behind.
pub(super) type OperationOutput = Box<dyn Any + Send>;

/// A write, what DynamoDB counts for it, and what the next write of the item rests on.
pub(super) struct PlannedWrite {
    pub(super) write: Write,
    /// The bytes of its item, as far as they are known here.
    pub(super) bytes: usize,
    /// Nothing if the item is not written: deleted, or unchanged.
    pub(super) next: Option<Basis>,
}

/// A write of a `T`.
pub(super) struct ChangeOf<T> {
    pub(super) table: Arc<str>,
    pub(super) value: T,
    pub(super) kind: ChangeKind,
    pub(super) policy: LeasePolicy,
}

pub(super) enum ChangeKind {
    Create,
    Update(Basis),
    Replace(Basis),
    /// A replace of an item that keeps its own lease: with the item as it is stored.
    Overwrite(Basis, Item),
    Delete(Basis),
}

impl<T: Versioned> ChangeOf<T> {
    /// An update of the attributes that changed. Where none did, that nobody else changed the item is checked.
    fn update(&self, basis: &Basis, stamp: WriteStamp, clause: &LeaseClause) -> Result<PlannedWrite, Error> {
        let changes = basis.changes(&self.table, &self.value)?;
        if changes.is_empty() {
            let requirement = Requirement::Unchanged(basis.state.clone());
            let check = plan::check(T::MODEL, &self.table, &self.value.key(), &requirement)?;
            return Ok(PlannedWrite::without_value(check));
        }
        let bytes = changes.size();
        let Plan { write, next } = plan::update(&self.table, &self.value, basis, changes, stamp, clause)?;
        Ok(PlannedWrite { bytes: bytes + size(&write.key), write, next: Some(next) })
    }
}

impl<T: Versioned> Change for ChangeOf<T> {
    fn expected(&self) -> Expected<'_> {
        match &self.kind {
            ChangeKind::Create => Expected::Absent,
            ChangeKind::Update(basis) | ChangeKind::Replace(basis) | ChangeKind::Overwrite(basis, _) => {
                Expected::Unchanged(&basis.state.revision)
            }
            ChangeKind::Delete(basis) => Expected::Deleted(&basis.state.revision),
        }
    }

    fn state(&self) -> Option<&State> {
        match &self.kind {
            ChangeKind::Create => None,
            ChangeKind::Update(basis)
            | ChangeKind::Replace(basis)
            | ChangeKind::Overwrite(basis, _)
            | ChangeKind::Delete(basis) => Some(&basis.state),
        }
    }

    fn plan(&self, stamp: WriteStamp, held: Option<&HolderProof>) -> Result<PlannedWrite, Error> {
        let Self { table, value, kind, policy } = self;
        let clause = held.map_or_else(|| policy.clause(stamp.repeats), |holder| LeaseClause::Holder(holder.clone()));
        match kind {
            ChangeKind::Create => plan::create(table, value, stamp, &clause).map(PlannedWrite::put),
            ChangeKind::Update(basis) => self.update(basis, stamp, &clause),
            ChangeKind::Replace(basis) => {
                basis.check_key(table, value)?;
                plan::replace(table, value, basis, stamp, &clause).map(PlannedWrite::put)
            }
            ChangeKind::Overwrite(basis, stored) => {
                basis.check_key(table, value)?;
                let Plan { write, next } = plan::overwrite(table, value, basis, stored, stamp, &clause)?;
                Ok(PlannedWrite { bytes: size(&encode(table, value)?), write, next: Some(next) })
            }
            ChangeKind::Delete(basis) => {
                basis.check_key(table, value)?;
                plan::delete(table, value, basis, &clause).map(PlannedWrite::without_value)
            }
        }
    }

    fn refusal(&self, table: &Arc<str>, met: Option<&Item>, spent: Spent) -> Option<Error> {
        let asked = match &self.kind {
            ChangeKind::Create => T::MODEL.lock_beside().is_some(),
            // Of a value that did not change there is only a check.
            ChangeKind::Update(basis) => basis.changes(table, &self.value).is_ok_and(|changes| !changes.is_empty()),
            ChangeKind::Replace(_) | ChangeKind::Overwrite(..) | ChangeKind::Delete(_) => true,
        };
        self.policy.refusal(T::MODEL, table, met, spent).filter(|_| asked)
    }

    fn policy(&self) -> &LeasePolicy {
        &self.policy
    }

    fn clears(&self, row: Option<&Item>) -> bool {
        self.policy.clears(T::MODEL, row)
    }

    fn applied(self: Box<Self>, next: Option<Basis>) -> OperationOutput {
        let Self { value, kind, .. } = *self;
        match (kind, next) {
            (ChangeKind::Delete(_) | ChangeKind::Create, None) => Box::new(()),
            (ChangeKind::Update(basis) | ChangeKind::Replace(basis) | ChangeKind::Overwrite(basis, _), None) => {
                Box::new(Stored::unchanged(value, basis))
            }
            (_, Some(next)) => Box::new(Stored::unchanged(value, next)),
        }
    }
}

impl PlannedWrite {
    fn put(Plan { write, next }: Plan) -> Self {
        let bytes = match &write.action {
            Action::Put(item) => size(item),
            Action::Update(_) | Action::Delete | Action::Check => size(&write.key),
        };
        Self { write, bytes, next: Some(next) }
    }

    /// A delete or a check.
    pub(super) fn without_value(write: Write) -> Self {
        Self { bytes: size(&write.key), write, next: None }
    }
}

use std::{any::Any, sync::Arc};

use crate::{
    codec::{Basis, Item, State, Stored, encode, size},
    error::{Error, Spent},
    expression::{Holder, Standing},
    lock::Stance,
    model::Versioned,
    operation::{Action, Write},
    plan::{self, Mark, Plan, Requirement},
    version::Expected,
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
    fn plan(&self, mark: Mark, held: Option<&Holder>) -> Result<Planned, Error>;

    /// The error that its refusal is, if the lease of the item that it met is the reason.
    fn refusal(&self, table: &Arc<str>, met: Option<&Item>, spent: Spent) -> Option<Error>;

    /// How it stands to the lease of its item.
    fn stance(&self) -> &Stance;

    /// Whether the lease in the row beside the item, which has refused it, is no reason to refuse it once more.
    fn clears(&self, row: Option<&Item>) -> bool;

    /// What it leaves, after the planned write: a `Stored<T>`, or `()`.
    fn applied(self: Box<Self>, next: Option<Basis>) -> Left;
}

/// What an operation leaves behind.
pub(super) type Left = Box<dyn Any + Send>;

/// A write, what DynamoDB counts for it, and what the next write of the item rests on.
pub(super) struct Planned {
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
    pub(super) kind: Kind,
    pub(super) stance: Stance,
}

pub(super) enum Kind {
    Create,
    Update(Basis),
    Replace(Basis),
    /// A replace of an item that keeps its own lease: with the item as it is stored.
    Overwrite(Basis, Item),
    Delete(Basis),
}

impl<T: Versioned> ChangeOf<T> {
    /// An update of the attributes that changed. Where none did, that nobody else changed the item is checked.
    fn update(&self, basis: &Basis, mark: Mark, standing: &Standing) -> Result<Planned, Error> {
        let changes = basis.changes(&self.table, &self.value)?;
        if changes.is_empty() {
            let requirement = Requirement::Unchanged(basis.state.clone());
            let check = plan::check(T::MODEL, &self.table, &self.value.key(), &requirement)?;
            return Ok(Planned::without_value(check));
        }
        let bytes = changes.size();
        let Plan { write, next } = plan::update(&self.table, &self.value, basis, changes, mark, standing)?;
        Ok(Planned { bytes: bytes + size(&write.key), write, next: Some(next) })
    }
}

impl<T: Versioned> Change for ChangeOf<T> {
    fn expected(&self) -> Expected<'_> {
        match &self.kind {
            Kind::Create => Expected::Absent,
            Kind::Update(basis) | Kind::Replace(basis) | Kind::Overwrite(basis, _) => {
                Expected::Unchanged(&basis.state.revision)
            }
            Kind::Delete(basis) => Expected::Deleted(&basis.state.revision),
        }
    }

    fn state(&self) -> Option<&State> {
        match &self.kind {
            Kind::Create => None,
            Kind::Update(basis) | Kind::Replace(basis) | Kind::Overwrite(basis, _) | Kind::Delete(basis) => {
                Some(&basis.state)
            }
        }
    }

    fn plan(&self, mark: Mark, held: Option<&Holder>) -> Result<Planned, Error> {
        let Self { table, value, kind, stance } = self;
        let standing = held.map_or_else(|| stance.standing(mark.repeats), |holder| Standing::Holder(holder.clone()));
        match kind {
            Kind::Create => plan::create(table, value, mark, &standing).map(Planned::put),
            Kind::Update(basis) => self.update(basis, mark, &standing),
            Kind::Replace(basis) => {
                basis.check_key(table, value)?;
                plan::replace(table, value, basis, mark, &standing).map(Planned::put)
            }
            Kind::Overwrite(basis, stored) => {
                basis.check_key(table, value)?;
                let Plan { write, next } = plan::overwrite(table, value, basis, stored, mark, &standing)?;
                Ok(Planned { bytes: size(&encode(table, value)?), write, next: Some(next) })
            }
            Kind::Delete(basis) => {
                basis.check_key(table, value)?;
                plan::delete(table, value, basis, &standing).map(Planned::without_value)
            }
        }
    }

    fn refusal(&self, table: &Arc<str>, met: Option<&Item>, spent: Spent) -> Option<Error> {
        let asked = match &self.kind {
            Kind::Create => T::MODEL.lock_beside().is_some(),
            // Of a value that did not change there is only a check.
            Kind::Update(basis) => basis.changes(table, &self.value).is_ok_and(|changes| !changes.is_empty()),
            Kind::Replace(_) | Kind::Overwrite(..) | Kind::Delete(_) => true,
        };
        self.stance.refusal(T::MODEL, table, met, spent).filter(|_| asked)
    }

    fn stance(&self) -> &Stance {
        &self.stance
    }

    fn clears(&self, row: Option<&Item>) -> bool {
        self.stance.clears(T::MODEL, row)
    }

    fn applied(self: Box<Self>, next: Option<Basis>) -> Left {
        let Self { value, kind, .. } = *self;
        match (kind, next) {
            (Kind::Delete(_) | Kind::Create, None) => Box::new(()),
            (Kind::Update(basis) | Kind::Replace(basis) | Kind::Overwrite(basis, _), None) => {
                Box::new(Stored::unchanged(value, basis))
            }
            (_, Some(next)) => Box::new(Stored::unchanged(value, next)),
        }
    }
}

impl Planned {
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

//! What the calls of the public API ask for, before anything is read.

use std::sync::Arc;

use super::{
    change::{ChangeKind, ChangeOf},
    operation::{Operation, OperationKind},
};
use crate::{
    codec::{Basis, Etag, Item, Stored, decode, state_of},
    error::Error,
    expression::{Condition, Placeholders},
    key::Key,
    lease::LeasePolicy,
    model::{ItemRef, Versioned},
    repository::Repository,
    write::{Guard, plan::Requirement},
};

/// One operation as it was called.
pub(super) struct PendingOperation {
    pub(super) item_ref: ItemRef,
    pub(super) purpose: Purpose,
    pub(super) step: PendingStep,
}

/// What an operation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Write,
    Check,
}

/// What is known of it.
pub(super) enum PendingStep {
    Known(OperationKind),
    /// It cannot be done.
    Wrong(Error),
    /// The value came back from somewhere with an etag: the item has to be read, and to be in that state.
    Assumed(Etag, RestOn),
}

/// What an assumed operation does on the item that was read; nothing if that is in another state.
pub(super) type RestOn = Box<dyn FnOnce(Item) -> Result<Option<OperationKind>, Error> + Send + Sync>;

impl PendingOperation {
    pub(super) fn create<T: Versioned>(repository: &Repository<T>, value: T) -> Self {
        let item_ref = repository.item_ref(value.key(), None);
        Self {
            item_ref,
            purpose: Purpose::Write,
            step: PendingStep::Known(change(repository, value, ChangeKind::Create)),
        }
    }

    pub(super) fn update<T: Versioned>(repository: &Repository<T>, stored: Stored<T>) -> Self {
        Self::of_stored(repository, stored, ChangeKind::Update)
    }

    pub(super) fn replace<T: Versioned>(repository: &Repository<T>, stored: Stored<T>) -> Self {
        match T::MODEL.lock_in_item() {
            None => Self::of_stored(repository, stored, ChangeKind::Replace),
            Some(_) => Self::overwrite(repository, stored),
        }
    }

    pub(super) fn delete<T: Versioned>(repository: &Repository<T>, stored: Stored<T>) -> Self {
        Self::of_stored(repository, stored, ChangeKind::Delete)
    }

    pub(super) fn check<T: Versioned>(repository: &Repository<T>, stored: &Stored<T>) -> Self {
        let item_ref = repository.item_ref(stored.key(), Some(stored.version()));
        let step = match stored.origin() {
            Ok(basis) => match basis.check_key::<T>(&repository.table, stored) {
                Ok(()) => PendingStep::Known(OperationKind::Check(Requirement::Unchanged(basis.state.clone()))),
                Err(error) => PendingStep::Wrong(error),
            },
            Err(etag) => {
                let (table, as_of) = (Arc::clone(&repository.table), etag.clone());
                let rest_on = move |item: Item| {
                    let state = state_of(T::MODEL, &table, &item)?;
                    Ok(state.is_at(&as_of).then_some(OperationKind::Check(Requirement::Unchanged(state))))
                };
                PendingStep::Assumed(etag.clone(), Box::new(rest_on))
            }
        };
        Self { item_ref, purpose: Purpose::Check, step }
    }

    pub(super) fn require<T: Versioned>(repository: &Repository<T>, key: Key, requirement: Requirement) -> Self {
        let step = PendingStep::Known(OperationKind::Check(requirement));
        Self { item_ref: repository.item_ref(key, None), purpose: Purpose::Check, step }
    }

    /// A lease that the transaction is to happen under.
    pub(super) fn guard(lease: &impl Guard) -> Self {
        let (item_ref, holder) = lease.leased();
        Self {
            item_ref,
            purpose: Purpose::Check,
            step: PendingStep::Known(OperationKind::Check(Requirement::Guard(holder))),
        }
    }

    pub(super) fn when<T: Versioned>(repository: &Repository<T>, key: Key, condition: Condition<T>) -> Self {
        let holds = move |table: &Arc<str>, to: &mut Placeholders| condition.render(table, to);
        Self::require(repository, key, Requirement::Holds(Box::new(holds)))
    }

    fn of_stored<T: Versioned>(
        repository: &Repository<T>,
        stored: Stored<T>,
        kind: impl FnOnce(Basis) -> ChangeKind + Send + Sync + 'static,
    ) -> Self {
        let item_ref = repository.item_ref(stored.key(), Some(stored.version()));
        let step = match stored.into_parts() {
            (value, Ok(basis)) => PendingStep::Known(change(repository, value, kind(basis))),
            (value, Err(etag)) => {
                let (repository, as_of) = (repository.clone(), etag.clone());
                let rest_on = move |item| {
                    let (current, mut basis) = decode::<T>(&repository.table, item)?;
                    if !basis.state.is_at(&as_of) {
                        return Ok(None);
                    }
                    basis.remember(&current);
                    Ok(Some(change(&repository, value, kind(basis))))
                };
                PendingStep::Assumed(etag, Box::new(rest_on))
            }
        };
        Self { item_ref, purpose: Purpose::Write, step }
    }

    /// A replace that has to know the stored item, to remove what the value does not have.
    fn overwrite<T: Versioned>(repository: &Repository<T>, stored: Stored<T>) -> Self {
        let item_ref = repository.item_ref(stored.key(), Some(stored.version()));
        let etag = stored.etag();
        let (repository, as_of) = (repository.clone(), etag.clone());
        let rest_on = move |item: Item| {
            let (current, mut read) = decode::<T>(&repository.table, item.clone())?;
            if !read.state.is_at(&as_of) {
                return Ok(None);
            }
            read.remember(&current);
            let (value, origin) = stored.into_parts();
            let kind = ChangeKind::Overwrite(origin.unwrap_or(read), item);
            Ok(Some(change(&repository, value, kind)))
        };
        Self { item_ref, purpose: Purpose::Write, step: PendingStep::Assumed(etag, Box::new(rest_on)) }
    }
}

impl Operation {
    /// The check that an item is still as it was read.
    pub(super) fn unchanged(item_ref: ItemRef, item: Option<&Item>) -> Result<Self, Error> {
        let requirement = match item {
            Some(item) => Requirement::Unchanged(state_of(item_ref.model, &item_ref.table, item)?),
            None => Requirement::Absent,
        };
        Ok(Self { item_ref, act: OperationKind::Check(requirement) })
    }
}

fn change<T: Versioned>(repository: &Repository<T>, value: T, kind: ChangeKind) -> OperationKind {
    let (table, policy) = (Arc::clone(&repository.table), LeasePolicy::outside(T::MODEL, repository.options));
    OperationKind::Change(Box::new(ChangeOf { table, value, kind, policy }))
}

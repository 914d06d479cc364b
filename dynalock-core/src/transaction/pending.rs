use std::sync::Arc;

use crate::{
    codec::{Basis, Etag, Item, Stored, state_of},
    error::Error,
    expression::{Condition, Placeholders},
    key::Key,
    model::{ItemRef, Versioned},
    repository::Repository,
    write::{
        Guard,
        check::Requirement,
        intent::{ItemChange, basis_at},
        operation::OperationKind,
        patch::SharedPatch,
    },
};

pub(super) struct PendingOperation {
    pub(super) item_ref: ItemRef,
    /// `true` if the operation writes its item, and `false` if the operation only checks its item.
    pub(super) is_write: bool,
    pub(super) state: PendingState,
}

pub(super) enum PendingState {
    Ready(OperationKind),
    /// The operation is invalid, and the commit fails with the contained error.
    Invalid(Error),
    /// An operation that depends on the stored item. The commit first reads the item, and compares
    /// the state of the item with the etag.
    Assumed(Etag, Resolve),
}

/// Makes an operation from the stored item, or returns `None` if the item has changed since the
/// etag was made.
pub(super) type Resolve = Box<dyn FnOnce(Item, &Etag) -> Result<Option<OperationKind>, Error> + Send + Sync>;

impl PendingOperation {
    pub(super) fn ready(item_ref: ItemRef, kind: OperationKind) -> Self {
        Self { item_ref, is_write: matches!(kind, OperationKind::Write(_)), state: PendingState::Ready(kind) }
    }

    pub(super) fn create<T: Versioned>(repository: &Repository<T>, value: T) -> Self {
        let item_ref = repository.item_ref(value.key(), None);
        Self::ready(item_ref, write(repository, value, ItemChange::Create))
    }

    pub(super) fn update<T: Versioned>(repository: &Repository<T>, stored: Stored<T>) -> Self {
        Self::of_stored(repository, stored, ItemChange::Update)
    }

    pub(super) fn replace<T: Versioned>(repository: &Repository<T>, stored: Stored<T>) -> Self {
        match T::MODEL.lock_in_item() {
            None => Self::of_stored(repository, stored, ItemChange::Replace),
            // A PutItem would remove the lease attributes of the item.
            Some(_) => Self::overwrite(repository, stored),
        }
    }

    pub(super) fn delete<T: Versioned>(repository: &Repository<T>, stored: Stored<T>) -> Self {
        Self::of_stored(repository, stored, ItemChange::Delete)
    }

    pub(super) fn check<T: Versioned>(repository: &Repository<T>, stored: &Stored<T>) -> Self {
        let item_ref = repository.item_ref(stored.key(), Some(stored.version()));
        let state = match stored.origin() {
            Ok(basis) => match basis.check_key::<T>(&repository.table, stored) {
                Ok(()) => PendingState::Ready(OperationKind::Check(Requirement::Unchanged(basis.state.clone()))),
                Err(error) => PendingState::Invalid(error),
            },
            Err(etag) => {
                let table = Arc::clone(&repository.table);
                let resolve = move |item: Item, etag: &Etag| {
                    let state = state_of(T::MODEL, &table, &item)?;
                    Ok(state.is_at(etag).then_some(OperationKind::Check(Requirement::Unchanged(state))))
                };
                PendingState::Assumed(etag.clone(), Box::new(resolve))
            }
        };
        Self { item_ref, is_write: false, state }
    }

    pub(super) fn exists<T: Versioned>(repository: &Repository<T>, key: Key) -> Self {
        Self::require(repository, key, Requirement::Exists(repository.item_expiry().times()))
    }

    pub(super) fn absent<T: Versioned>(repository: &Repository<T>, key: Key) -> Self {
        Self::require(repository, key, Requirement::Absent { expired: None })
    }

    fn require<T: Versioned>(repository: &Repository<T>, key: Key, requirement: Requirement) -> Self {
        Self::ready(repository.item_ref(key, None), OperationKind::Check(requirement))
    }

    pub(super) fn guard(lease: &impl Guard) -> Self {
        let (item_ref, holder) = lease.leased();
        Self::ready(item_ref, OperationKind::Check(Requirement::Guard(holder)))
    }

    pub(super) fn when<T: Versioned>(repository: &Repository<T>, key: Key, condition: Condition<T>) -> Self {
        let render = move |table: &Arc<str>, to: &mut Placeholders| condition.render(table, to);
        Self::require(repository, key, Requirement::Condition(Box::new(render)))
    }

    pub(super) fn patch<T: Versioned>(repository: &Repository<T>, key: Key, content: SharedPatch<T>) -> Self {
        let intent = repository.patch_intent(key.clone(), content, repository.outside());
        Self::ready(repository.item_ref(key, None), OperationKind::Write(Box::new(intent)))
    }

    fn of_stored<T: Versioned>(repository: &Repository<T>, stored: Stored<T>, change: fn(Basis) -> ItemChange) -> Self {
        let item_ref = repository.item_ref(stored.key(), Some(stored.version()));
        let state = match stored.into_parts() {
            (value, Ok(basis)) => PendingState::Ready(write(repository, value, change(basis))),
            (value, Err(etag)) => {
                let repository = repository.clone();
                let resolve = move |item, etag: &Etag| {
                    let basis = basis_at::<T>(&repository.table, item, etag)?;
                    Ok(basis.map(|basis| write(&repository, value, change(basis))))
                };
                PendingState::Assumed(etag, Box::new(resolve))
            }
        };
        Self { item_ref, is_write: true, state }
    }

    /// Makes the replace operation for a type that keeps the lease in the item. The commit first
    /// reads the item, to find the attributes that the replace must remove.
    fn overwrite<T: Versioned>(repository: &Repository<T>, stored: Stored<T>) -> Self {
        let item_ref = repository.item_ref(stored.key(), Some(stored.version()));
        let etag = stored.etag();
        let repository = repository.clone();
        let resolve = move |item: Item, etag: &Etag| {
            let Some(read) = basis_at::<T>(&repository.table, item.clone(), etag)? else { return Ok(None) };
            let (value, origin) = stored.into_parts();
            let basis = origin.unwrap_or(read);
            basis.check_key(&repository.table, &value)?;
            Ok(Some(write(&repository, value, ItemChange::Overwrite(basis, item))))
        };
        Self { item_ref, is_write: true, state: PendingState::Assumed(etag, Box::new(resolve)) }
    }
}

fn write<T: Versioned>(repository: &Repository<T>, value: T, change: ItemChange) -> OperationKind {
    OperationKind::Write(Box::new(repository.intent(value, change, repository.outside())))
}

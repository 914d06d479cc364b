//! What the calls of the public API ask for, before anything is read.

use std::sync::Arc;

use super::{
    change::{ChangeOf, Kind},
    operation::{Act, Operation, Subject},
};
use crate::{
    Condition, Repository,
    codec::{Basis, Etag, Item, Stored, decode, state_of},
    error::Error,
    expression::Placeholders,
    key::Key,
    model::Versioned,
    plan::Requirement,
};

/// One operation as it was called.
pub(super) struct Draft {
    pub(super) subject: Subject,
    /// Whether it is a write by its name, and no check.
    pub(super) writes: bool,
    pub(super) step: Step,
}

/// What is known of it.
pub(super) enum Step {
    Known(Act),
    /// The value came back from somewhere with an etag: the item has to be read, and to be in that state.
    Assumed(Etag, RestOn),
    /// It cannot be.
    Refused(Error),
}

/// What an assumed operation does on the item that was read; nothing if that is in another state.
pub(super) type RestOn = Box<dyn FnOnce(Item) -> Result<Option<Act>, Error> + Send + Sync>;

impl Draft {
    pub(super) fn create<T: Versioned>(repository: &Repository<T>, value: T) -> Self {
        let table = Arc::clone(&repository.table);
        let subject = subject(repository, value.key(), None);
        Self { subject, writes: true, step: Step::Known(change(table, value, Kind::Create)) }
    }

    pub(super) fn update<T: Versioned>(repository: &Repository<T>, stored: Stored<T>) -> Self {
        Self::of_stored(repository, stored, Kind::Update)
    }

    pub(super) fn replace<T: Versioned>(repository: &Repository<T>, stored: Stored<T>) -> Self {
        Self::of_stored(repository, stored, Kind::Replace)
    }

    pub(super) fn delete<T: Versioned>(repository: &Repository<T>, stored: Stored<T>) -> Self {
        Self::of_stored(repository, stored, Kind::Delete)
    }

    pub(super) fn check<T: Versioned>(repository: &Repository<T>, stored: &Stored<T>) -> Self {
        let subject = subject(repository, stored.key(), Some(stored.version()));
        let step = match stored.origin() {
            Ok(basis) => match basis.check_key::<T>(&repository.table, stored) {
                Ok(()) => Step::Known(Act::Check(Requirement::Unchanged(basis.state.clone()))),
                Err(error) => Step::Refused(error),
            },
            Err(etag) => {
                let (table, as_of) = (Arc::clone(&repository.table), etag.clone());
                let rest_on = move |item| {
                    let state = state_of(T::MODEL, &table, item)?;
                    Ok(state.is_at(&as_of).then_some(Act::Check(Requirement::Unchanged(state))))
                };
                Step::Assumed(etag.clone(), Box::new(rest_on))
            }
        };
        Self { subject, writes: false, step }
    }

    pub(super) fn require<T: Versioned>(repository: &Repository<T>, key: Key, requirement: Requirement) -> Self {
        Self { subject: subject(repository, key, None), writes: false, step: Step::Known(Act::Check(requirement)) }
    }

    pub(super) fn when<T: Versioned>(repository: &Repository<T>, key: Key, condition: Condition<T>) -> Self {
        let holds = move |table: &Arc<str>, to: &mut Placeholders| condition.render(table, to);
        Self::require(repository, key, Requirement::Holds(Box::new(holds)))
    }

    fn of_stored<T: Versioned>(
        repository: &Repository<T>,
        stored: Stored<T>,
        kind: impl FnOnce(Basis) -> Kind + Send + Sync + 'static,
    ) -> Self {
        let table = Arc::clone(&repository.table);
        let subject = subject(repository, stored.key(), Some(stored.version()));
        let step = match stored.into_parts() {
            (value, Ok(basis)) => Step::Known(change(table, value, kind(basis))),
            (value, Err(etag)) => {
                let as_of = etag.clone();
                let rest_on = move |item| {
                    let (current, mut basis) = decode::<T>(&table, item)?;
                    if !basis.state.is_at(&as_of) {
                        return Ok(None);
                    }
                    basis.remember(&current);
                    Ok(Some(change(table, value, kind(basis))))
                };
                Step::Assumed(etag, Box::new(rest_on))
            }
        };
        Self { subject, writes: true, step }
    }
}

impl Operation {
    /// The check that an item is still as it was read.
    pub(super) fn unchanged(subject: Subject, item: Option<Item>) -> Result<Self, Error> {
        let requirement = match item {
            Some(item) => Requirement::Unchanged(state_of(subject.model, &subject.table, item)?),
            None => Requirement::Absent,
        };
        Ok(Self { subject, act: Act::Check(requirement) })
    }
}

fn change<T: Versioned>(table: Arc<str>, value: T, kind: Kind) -> Act {
    Act::Change(Box::new(ChangeOf { table, value, kind }))
}

fn subject<T: Versioned>(repository: &Repository<T>, key: Key, expected: Option<u64>) -> Subject {
    Subject { table: Arc::clone(&repository.table), model: T::MODEL, key, expected }
}

//! The reasons of a refused transaction.

use std::fmt::Debug;

use dynalock::{
    Error, Stored, Versioned,
    error::{Cancelled, InvalidTransaction},
    transaction::{Op, Reason},
};

pub(crate) fn cancelled<T: Debug>(result: Result<T, Error>) -> Cancelled {
    match result {
        Err(Error::Cancelled(cancelled)) => cancelled,
        other => panic!("expected a cancellation, not {other:?}"),
    }
}

pub(crate) fn invalid<T: Debug>(result: Result<T, Error>) -> InvalidTransaction {
    match result {
        Err(Error::InvalidTransaction(why)) => why,
        other => panic!("expected a transaction that cannot be sent, not {other:?}"),
    }
}

/// Returns the item that made the condition of an operation false.
pub(crate) fn met<T: Versioned + Debug, Out>(cancelled: &Cancelled, operation: &Op<T, Out>) -> Option<Stored<T>> {
    match cancelled.reason(operation) {
        Reason::Conflict(now) => now,
        other => panic!("expected a conflict, not {other:?}"),
    }
}

/// Returns the code of each operation, in the order of the calls.
pub(crate) fn codes(cancelled: &Cancelled) -> Vec<&str> {
    cancelled.reasons().map(|reason| reason.code()).collect()
}

pub(crate) const NONE: &str = "None";
pub(crate) const FAILED: &str = "ConditionalCheckFailed";

/// The error of a closure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// The closure itself refuses.
    #[error("{0}")]
    Here(String),
    #[error(transparent)]
    There(#[from] Error),
}

impl Refused {
    /// A closure that returns its own refusal.
    pub(crate) fn here<T>(why: impl Into<String>) -> Result<T, Self> {
        Err(Self::Here(why.into()))
    }
}

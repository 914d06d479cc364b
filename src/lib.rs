#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub use dynalock_core::{
    Error, Etag, Expiry, Heartbeat, IntoKey, Key, KeyAttribute, LeaseGuard, LockGuard, LockToken, Lockable, Locks,
    Pace, Repository, Result, Stored, Transaction, Tx, Versioned, Wait, transact,
};

pub use dynalock_core::{condition, cost, lock, query, request, store, table};

#[cfg(feature = "metrics")]
pub use dynalock_core::metrics;

/// The types that the variants of `Error` contain.
pub mod error {
    pub use dynalock_core::error::{
        CancellationClass, Cancelled, CodecError, CodecReason, Conflict, InvalidPatch, InvalidSetting,
        InvalidTransaction, Locked, Lost, Misconfigured, OperationReason, ParseEtagError, ParseLockTokenError, Refusal,
        Spent, Unavailable,
    };
}

/// The builder types of transactions, the handles of their operations, and their results.
pub mod transaction {
    pub use dynalock_core::transaction::{Committed, Op, PatchOp, Reason, Snapshot, TransactionGet, UnitOfWork};
}

#[cfg(feature = "derive")]
pub use dynalock_derive::{Attributes, KeyAttribute, Versioned};

#[cfg(feature = "local")]
pub use dynalock_local as local;

#[doc(hidden)]
pub use dynalock_core::private;

#[cfg(doctest)]
mod guide;

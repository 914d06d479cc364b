#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub use dynalock_core::{
    Acquire, Aliases, AnyOne, AnyOrder, AsBound, AsKey, AsOperand, AsPart, AsPrefix, Attribute, CancellationClass,
    Cancelled, Checked, CodecError, CodecReason, Committed, Condition, Conflict, Create, CreateTable, Delete,
    DeleteUnchecked, Deleted, Error, Etag, Expiry, Fair, Get, Guard, Heartbeat, IntoKey, InvalidSetting,
    InvalidTransaction, Key, KeyAttribute, KeyModel, KeyType, KeyValue, LeaseGuard, LeaseRequest, LockGuard, LockInfo,
    LockList, LockModel, LockPlace, LockSetGuard, LockToken, Lockable, Locked, Locks, Lost, Misconfigured, Model, Op,
    Opaque, OperationReason, Pace, ParseEtagError, ParseLockTokenError, QueueStatus, QueueTicket, Reason, Refusal,
    Repository, Request, Result, Snapshot, Spent, Stored, TimeUnit, Transaction, TransactionGet, TryUpdateWith, Tx,
    Unavailable, UnitOfWork, Update, UpdateWith, UpsertWith, Versioned, Wait, Waiter, transact,
};

pub use dynalock_core::lock;

#[cfg(feature = "derive")]
pub use dynalock_derive::{KeyAttribute, Versioned};

#[cfg(feature = "local")]
pub use dynalock_local as local;

#[doc(hidden)]
pub use dynalock_core::private;

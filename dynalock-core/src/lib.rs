//! The runtime library of dynalock. Use it through the facade, the crate `dynalock`, which documents all public items.
//!
//! The modules stand in the order in which a write flows through them. `operation`, `retry`, `repository`, `transaction`, `lock` and
//! `clock` contain the code that awaits; the other modules contain none.

mod model;

mod number;

mod key;
mod version;

mod codec;
mod expression;
mod plan;

mod operation;
mod repository;
mod transaction;

pub mod lock;

mod retry;

mod clock;
mod error;
mod random;

#[doc(hidden)]
pub mod private;

pub use codec::{Etag, ParseEtagError, Stored};
pub use error::{
    CancellationClass, Cancelled, CodecError, CodecReason, Conflict, Error, InvalidSetting, InvalidTransaction, Locked,
    Lost, Misconfigured, OperationReason, Reason, Refusal, Result, Spent, Unavailable,
};
pub use expression::{AsBound, AsOperand, AsPart, AsPrefix, Attribute, Condition, Opaque};
pub use key::{AsKey, Key, KeyAttribute, KeyType, KeyValue};
pub use lock::{
    Acquire, AnyOne, AnyOrder, Expiry, Fair, Guard, Heartbeat, LeaseGuard, LeaseRequest, LockGuard, LockInfo, LockList,
    LockSetGuard, LockToken, Locks, ParseLockTokenError, QueueStatus, QueueTicket, Wait, Waiter,
};
pub use model::{Aliases, IntoKey, KeyModel, LockModel, LockPlace, Lockable, Model, TimeUnit, Versioned};
pub use repository::{
    Checked, Create, CreateTable, Delete, DeleteUnchecked, Deleted, Get, Repository, Request, TryUpdateWith, Update,
    UpdateWith, UpsertWith,
};
pub use retry::Pace;
pub use transaction::{Committed, Op, Snapshot, Transaction, TransactionGet, Tx, UnitOfWork, transact};

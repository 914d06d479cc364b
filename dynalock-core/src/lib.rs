//! The runtime library of dynalock. Programs use dynalock-core through the crate `dynalock`, which
//! re-exports all public items of dynalock-core.
//!
//! The file `lib.rs` declares the modules in the order of the layers. A module imports only from
//! the modules above it in `lib.rs`.

#[macro_use]
mod debug;
#[macro_use]
mod setter;

mod clock;
mod number;
mod random;

pub mod cost;

mod key;
mod model;
mod version;

pub mod error;

mod telemetry;

mod codec;
mod expression;

mod operation;

mod explain;

mod retry;
mod tables;

mod lease;

mod write;

mod named;

mod repository;

pub mod query;

pub mod store;

mod leased_item;

pub mod transaction;

#[doc(hidden)]
pub mod private;

pub use codec::{Etag, Stored};
pub use error::{Error, Result};
pub use key::{Key, KeyAttribute};
pub use lease::{Expiry, Heartbeat, LockToken, Wait};
pub use leased_item::LeaseGuard;
pub use model::{IntoKey, Lockable, Versioned};
pub use named::{LockGuard, Locks};
pub use repository::Repository;
pub use retry::Pace;
pub use transaction::{Transaction, Tx, transact};

/// The conditions that a caller adds to writes and queries, and the types of the operands in
/// conditions.
pub mod condition {
    pub use crate::expression::{
        AsBound, AsOperand, AsPart, AsPrefix, Attribute, AttributeType, BinarySet, Changeable, Condition, Defaulted,
        Fixed, HasSize, List, Map, Nested, Number, NumberSet, Opaque, Path, Place, Removable, Required, Role, Set,
        SetElement, Size, StringSet,
    };
}

/// The types of locks and leases: the requests for locks, their guards, and the fair queue.
///
/// The type [`Locks`] acquires locks by name. The method [`Repository::lock`] acquires a lease on
/// an item. The module [`protocol`](lock::protocol) specifies each request of a lock.
pub mod lock {
    /// The specification of the lock protocol: each request, its condition and its effect.
    ///
    #[doc = include_str!("lease/protocol.md")]
    #[doc = include_str!("lease/queue/protocol.md")]
    pub mod protocol {}

    pub use crate::{
        lease::{AnyOne, AnyOrder, Fair, LockOrder, QueueStatus, QueueTicket},
        leased_item::{GuardPatch, LeaseRequest},
        named::{Acquire, LockInfo, LockList, LockSetGuard, QueuePlace},
        write::Guard,
    };
}

/// The request builders that the methods of a [`Repository`] return. A caller changes the settings
/// of a builder, and sends the request by `.await`.
pub mod request {
    pub use crate::explain::{Explained, ExplainedAction, ExplainedExpression, ExplainedRequest};
    pub use crate::repository::{
        Checked, CombinedCall, Combining, Conditional, Create, Delete, DeleteUnchecked, Deleted, Explain, Get, GetMany,
        Import, InMany, ItemResult, Patch, Request, TryUpdateWith, Update, UpdateWith, UpsertWith, WriteMany,
        WriteStream,
    };
}

/// The function `describe`, which registers the units and the descriptions of dynalock's metrics.
#[cfg(feature = "metrics")]
pub mod metrics {
    pub use crate::telemetry::describe;
}

/// Types for the creation of tables, for the comparison of a table with a Rust struct, and for
/// keys.
pub mod table {
    pub use crate::{
        key::{KeyType, KeyValue},
        model::IndexScope,
        named::CreateLockTable,
        repository::{CreateTable, VerifyTable},
        tables::{TableDifference, TableReport},
    };
}

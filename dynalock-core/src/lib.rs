//! The runtime library of dynalock. Programs use this library through the crate `dynalock`, which
//! exports all public items again.
//!
//! The modules are in layers: each module imports only from the modules above it in this list.

#[macro_use]
mod debug;

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

/// The conditions that a caller adds to its writes and queries, and the types of their operands.
pub mod condition {
    pub use crate::expression::{
        AsBound, AsOperand, AsPart, AsPrefix, Attribute, AttributeType, BinarySet, Changeable, Condition, Defaulted,
        Fixed, HasSize, List, Map, Nested, Number, NumberSet, Opaque, Path, Place, Removable, Required, Role, Set,
        SetElement, Size, StringSet,
    };
}

#[doc = include_str!("lease/protocol.md")]
#[doc = include_str!("lease/queue/protocol.md")]
pub mod lock {
    pub use crate::{
        lease::{AnyOne, AnyOrder, Fair, QueueStatus, QueueTicket},
        leased_item::{GuardPatch, LeaseRequest},
        named::{Acquire, LockInfo, LockList, LockSetGuard, QueuePlace},
        write::Guard,
    };
}

/// The builders of the calls of a [`Repository`]. A caller changes the settings of a builder, and
/// sends the call by `.await`.
pub mod request {
    pub use crate::explain::{Explained, ExplainedAction, ExplainedExpression, ExplainedRequest};
    pub use crate::repository::{
        Checked, CombinedCall, Combining, Conditional, Create, Delete, DeleteUnchecked, Deleted, Get, GetMany, Import,
        InMany, ItemResult, Patch, Request, TryUpdateWith, Update, UpdateWith, UpsertWith, WriteMany, WriteStream,
    };
}

/// The metrics of the library.
#[cfg(feature = "metrics")]
pub mod metrics {
    pub use crate::telemetry::describe;
}

/// The creation of tables, the comparison of a table with its struct, and the types of keys.
pub mod table {
    pub use crate::{
        key::{KeyType, KeyValue},
        model::IndexScope,
        named::CreateLockTable,
        repository::{CreateTable, VerifyTable},
        tables::{TableDifference, TableReport},
    };
}

//! The runtime library of dynalock. Use this library through the facade, the crate `dynalock`. The
//! facade documents all public items.
//!
//! The modules are in layers. A module imports only from the modules above it in this list.

mod clock;
mod number;
mod random;

mod key;
mod model;
mod version;

pub mod error;

mod codec;
mod expression;

mod operation;
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

/// The types of the conditions that a caller adds to its writes, and of the operands of these
/// conditions.
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

/// The calls of a [`Repository`] before they are sent.
pub mod request {
    pub use crate::repository::{
        Checked, CombinedCall, Combining, Conditional, Create, Delete, DeleteUnchecked, Deleted, Get, GetMany, Import,
        InMany, ItemResult, Patch, Request, TryUpdateWith, Update, UpdateWith, UpsertWith, WriteMany, WriteStream,
    };
}

/// Tables and their keys: their creation, and their comparison with a type.
pub mod table {
    pub use crate::{
        key::{KeyType, KeyValue},
        model::IndexScope,
        named::CreateLockTable,
        repository::{CreateTable, VerifyTable},
        tables::{TableDifference, TableReport},
    };
}

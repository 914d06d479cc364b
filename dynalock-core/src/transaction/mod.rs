//! Writes of several items that are applied together or not at all.
//!
//! A [`Transaction`] collects operations and sends them once. [`transact`] runs a closure whose
//! reads and writes become one transaction. Both use the module `commit`. This module sends the
//! request that `write::assembly` makes, and interprets the answer.

mod handle;
mod link;
mod pending;
mod reason;

mod commit;

mod builder;
mod patch;
mod snapshot;
mod unit;

pub use builder::{Committed, Transaction};
pub use handle::Op;
pub use patch::PatchOp;
pub use reason::Reason;
pub use snapshot::{Snapshot, TransactionGet};
pub use unit::{Tx, UnitOfWork, transact};

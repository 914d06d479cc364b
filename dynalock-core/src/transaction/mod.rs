//! Writes of several items that happen together or not at all.
//!
//! A [`Transaction`] collects operations and sends them once. [`transact`] runs a closure whose reads and writes become one transaction. Both use
//! `assembly`, which makes the request from the operations, and `commit`, which sends it and interprets the answer.

mod handle;
mod link;
mod operation;
mod reason;

mod assembly;
mod change;
mod commit;
mod draft;

mod builder;
mod snapshot;
mod unit;

pub use builder::{Committed, Transaction};
pub use handle::Op;
pub use reason::Reason;
pub use snapshot::{Snapshot, TransactionGet};
pub use unit::{Tx, UnitOfWork, transact};

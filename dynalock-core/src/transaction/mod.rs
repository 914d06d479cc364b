//! Transactions: DynamoDB applies all writes of a transaction or none of them.
//!
//! A [`Transaction`] collects operations and sends them in one request. [`transact`] runs a closure
//! whose reads and writes become one transaction.

mod handle;
mod link;
mod pending;
mod reason;

mod commit;
mod explain;
mod resolve;
mod token;

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

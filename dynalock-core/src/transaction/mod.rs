//! Writes of several items that happen together or not at all.
//!
//! A [`Transaction`] is put together call by call and sent once; [`transact`] runs a closure whose reads and writes become one. Both end
//! in `assembly` (which request the operations make) and `commit` (what becomes of it).

mod handle;
mod link;
mod operation;

mod assembly;
mod change;
mod commit;
mod draft;

mod builder;
mod snapshot;
mod unit;

pub use builder::{Committed, Transaction};
pub use handle::Op;
pub(crate) use handle::TransactionId;
pub(crate) use operation::Subject;
pub use snapshot::{Snapshot, TransactionGet};
pub use unit::{Tx, UnitOfWork, transact};

//! Named locks, which are in a DynamoDB table that contains only locks.

mod guard;
mod guard_set;
mod info;
mod list;
mod locks;
mod operator;
mod request;
mod settings;
mod table;

pub use guard::LockGuard;
pub use guard_set::LockSetGuard;
pub use info::{LockInfo, QueuePlace};
pub use list::LockList;
pub use locks::Locks;
pub use request::Acquire;
pub use table::CreateLockTable;

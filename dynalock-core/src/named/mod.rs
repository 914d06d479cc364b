//! Locks by name, in a table of their own.

mod guard;
mod guard_set;
mod info;
mod list;
mod locks;
mod operator;
mod request;

pub use guard::LockGuard;
pub use guard_set::LockSetGuard;
pub use info::{LockInfo, Waiter};
pub use list::LockList;
pub use locks::Locks;
pub use request::Acquire;

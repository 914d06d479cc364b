//! Locks: leases that DynamoDB itself protects.

mod layout;
mod row;
mod terms;

mod acquire;
mod grip;

mod held;
mod locks;
mod token;

pub use held::Held;
pub use locks::{Acquire, LockInfo, Locks};
pub use terms::{Expiry, Wait};
pub use token::{LockToken, ParseLockTokenError};

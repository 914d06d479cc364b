//! Locks: leases that DynamoDB itself protects.

mod mark;
mod row;
mod stance;
mod terms;

mod acquire;
mod grip;

mod guard;
mod held;
mod item;
mod lease;
mod locks;
mod token;

pub use held::Held;
pub use item::Lock;
pub use lease::Lease;
pub use locks::{Acquire, LockInfo, Locks};
pub(crate) use stance::Stance;
pub(crate) use terms::Terms;
pub use terms::{Expiry, Wait};
pub use token::{LockToken, ParseLockTokenError};

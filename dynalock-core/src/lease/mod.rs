#![doc = include_str!("protocol.md")]

pub(crate) mod acquire;
pub(crate) mod clause;
pub(crate) mod grant;
mod heartbeat;
pub(crate) mod held_grant;
mod lease_methods;
pub(crate) mod name;
pub(crate) mod options;
pub(crate) mod order;
pub(crate) mod owner;
pub(crate) mod policy;
pub(crate) mod queue;
pub(crate) mod record;
pub(crate) mod row;
#[cfg(test)]
mod tests;
pub(crate) mod token;

pub(crate) use lease_methods::lease_methods;
pub(crate) use options::LeaseOptions;
pub use options::{Expiry, Heartbeat, Wait};
pub use order::{AnyOne, AnyOrder, Fair, LockOrder};
pub(crate) use policy::LeasePolicy;
pub use queue::{QueueStatus, QueueTicket};
pub use token::LockToken;

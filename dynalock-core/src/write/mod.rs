//! Represents writes as values, and sends them.
//!
//! An [`Intent`](intent::Intent) is a change of one item. For each attempt, an `Intent` makes a
//! [`Plan`](plan::Plan), which contains the request and the revision of the item after the request.
//! The module `send` sends plans until the outcome is known, and returns a
//! [`WriteResult`](send::WriteResult). The module `assembly` combines the plans of several
//! operations for a transaction.

pub(crate) mod assembly;
pub(crate) mod check;
pub(crate) mod guard;
pub(crate) mod intent;
pub(crate) mod key;
pub(crate) mod operation;
pub(crate) mod outcome;
pub(crate) mod patch;
pub(crate) mod plan;
pub(crate) mod send;
pub(crate) mod stamp;
mod update;

pub use guard::Guard;

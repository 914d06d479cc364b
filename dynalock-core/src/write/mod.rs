//! Writes as values.
//!
//! An [`Intent`](intent::Intent) is a change of one item. At each attempt it makes a [`Plan`](plan::Plan): the request, and the
//! revision that the request leaves. `send` sends plans until the outcome is one [`WriteResult`](send::WriteResult).
//! `assembly` makes the plans of several operations, for transactions.

pub(crate) mod assembly;
pub(crate) mod check;
pub(crate) mod guard;
pub(crate) mod intent;
pub(crate) mod key;
pub(crate) mod operation;
pub(crate) mod plan;
pub(crate) mod send;
pub(crate) mod stamp;
mod update;

pub use guard::Guard;

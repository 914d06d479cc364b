//! Writes of items. The library first makes a [`Plan`](plan::Plan) of a write, and then sends the
//! write.
//!
//! An [`Intent`](intent::Intent) is a change of one item. For each attempt, an `Intent` makes a
//! [`Plan`](plan::Plan): the request of the attempt, and the state of the item after the request.
//! The module `send` sends requests until the outcome of the write is known. The module `assembly`
//! combines several writes and checks into one transaction.

pub(crate) mod assembly;
pub(crate) mod check;
pub(crate) mod group;
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

//! Writes as values: what a change of an item sends, and what it leaves.

pub(crate) mod guard;
pub(crate) mod key;
pub(crate) mod plan;
mod update;

pub use guard::Guard;

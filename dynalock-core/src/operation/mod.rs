//! One request each: what is sent, and what its answer means.

mod classify;
mod get;
mod table;
mod write;

pub(crate) use classify::Failure;
pub(crate) use get::Get;
pub(crate) use table::{create_table, describe_table};
pub(crate) use write::{Action, Sending, Write};

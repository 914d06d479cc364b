#![doc = include_str!("protocol.md")]

pub(crate) mod abandon;
pub(crate) mod dequeue;
pub(crate) mod enter;
pub(crate) mod request;
pub(crate) mod status;
mod ticket;

pub use status::{QueueStatus, QueueTicket};

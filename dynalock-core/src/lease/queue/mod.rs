#![doc = include_str!("protocol.md")]

pub(crate) mod dequeue;
pub(crate) mod enter;
pub(crate) mod enter_all;
pub(crate) mod leave;
pub(crate) mod request;
pub(crate) mod status;

pub use status::{QueueStatus, QueueTicket};

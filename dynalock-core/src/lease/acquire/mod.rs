//! Acquires locks: one lock, the first free lock of several, all of several, or each lock through
//! its queue.
//!
//! An acquisition repeats two steps until it has its locks. First, the acquisition sends a request
//! for the locks. If DynamoDB refuses the request because of another holder, the acquisition
//! removes the holder if its lease has expired, and waits otherwise.

pub(crate) mod acquisition;
mod all;
mod any;
pub(crate) mod call;
mod holds;
mod observer;
mod polls;
pub(crate) mod rows;
pub(crate) mod spec;

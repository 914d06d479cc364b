//! Acquires locks: one lock, the first free lock of several, or all of several locks, with or
//! without queues.
//!
//! A call for locks repeats two steps until the call holds the locks. First, the call sends a
//! request for the locks. If DynamoDB refuses the request because of another holder, the call
//! removes this holder if the holder's lease has ended. If the holder's lease lasts, the call
//! waits.

pub(crate) mod acquisition;
mod all;
mod any;
pub(crate) mod call;
mod holds;
mod observer;
mod polls;
pub(crate) mod rows;
pub(crate) mod spec;

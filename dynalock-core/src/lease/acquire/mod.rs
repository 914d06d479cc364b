//! Acquires locks: one lock, the first free lock of several, or all of several locks, with or
//! without queues.
//!
//! A call for locks repeats two steps until the call holds the locks. The first step is a request
//! for the locks. If DynamoDB refuses the request because of another holder, the second step
//! depends on the lease of this holder. The call removes a holder whose lease has ended, and waits
//! for a holder whose lease lasts.

pub(crate) mod acquisition;
mod all;
mod any;
pub(crate) mod call;
mod holds;
mod observer;
mod polls;
pub(crate) mod rows;
pub(crate) mod spec;

//! Acquires locks: one lock, the first free lock of several, or all of several locks, with or
//! without queues.
//!
//! A call sends requests until the call holds its locks. After a refused request, the call removes
//! each holder whose lease has ended, and waits while the lease of another holder lasts.

pub(crate) mod acquisition;
mod all;
mod any;
pub(crate) mod call;
mod holds;
mod observer;
mod polls;
pub(crate) mod rows;
pub(crate) mod spec;

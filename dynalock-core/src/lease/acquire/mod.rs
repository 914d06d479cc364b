//! Acquires locks: one lock, the first free lock of several, all of several, or each lock through
//! its queue.
//!
//! All kinds of acquisitions repeat the same steps. First, an acquisition sends an attempt. After a
//! denial, the acquisition removes an expired holder or waits.

pub(crate) mod acquisition;
mod all;
mod any;
pub(crate) mod call;
mod holds;
mod observer;
mod polls;
pub(crate) mod rows;
pub(crate) mod spec;

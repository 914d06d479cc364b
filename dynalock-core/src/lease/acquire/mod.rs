//! Acquires locks: one lock, the first free lock of several, all of several, or each lock through
//! its queue.
//!
//! All kinds of acquisitions repeat the same steps. They send an attempt. After a denial they
//! remove an expired holder or wait.

pub(crate) mod acquisition;
mod all;
mod any;
pub(crate) mod call;
mod observer;
pub(crate) mod rows;
pub(crate) mod spec;

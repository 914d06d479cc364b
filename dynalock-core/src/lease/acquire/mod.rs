//! The engine that acquires locks: one lock or any of several, all of several, or a place in each queue.
//!
//! Each driver repeats the same steps: an attempt, and after a denial the removal of an expired holder or a wait.

pub(crate) mod acquisition;
mod all;
mod any;
pub(crate) mod call;
mod observer;
pub(crate) mod rows;
pub(crate) mod spec;

//! What the promises are held to, at the public boundary.

mod support;

mod conformance;

mod contention;
mod faults;
mod files;
mod futures;

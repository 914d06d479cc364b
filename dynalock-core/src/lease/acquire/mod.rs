//! Asking for locks, and waiting for them.

pub(crate) mod all;
pub(crate) mod any;
pub(crate) mod observer;
pub(crate) mod one;

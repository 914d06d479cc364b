pub(crate) mod acquisition;
mod all;
mod any;
pub(crate) mod call;
mod holds;
mod observer;
mod polls;
pub(crate) mod rows;
pub(crate) mod spec;

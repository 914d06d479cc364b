//! The command line against an in-process DynamoDB that is served on a loopback port.

#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

mod completions;
mod doctor;
#[cfg(unix)]
mod guide;
mod items;
mod locks;
mod output;
mod support;
mod tables;
#[cfg(unix)]
mod terminal;

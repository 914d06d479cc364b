//! The promises of the in-process DynamoDB.

#![allow(clippy::unwrap_used, reason = "a test that meets an error has failed")]
#![allow(clippy::doc_markdown, reason = "DynamoDB is a name, not an item")]

mod table;

mod clients;
mod engine;
mod faults;
mod file;
mod gaps;
mod stale_indexes;
mod tokens;
mod transaction_time;
mod ttl;

#[cfg(feature = "serve")]
mod serve;

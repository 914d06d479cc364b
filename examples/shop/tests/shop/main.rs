//! The tests of the shop. The tests run on the in-process DynamoDB, and use only loopback
//! addresses.

#![expect(clippy::unwrap_used, reason = "the cases call fixtures, and a test panics where it fails")]
#![expect(clippy::print_stderr, reason = "a test that is left out says so")]

mod curl;
mod health;
mod lambda;
mod leases;
mod orders;
mod page;
mod problems;
mod products;
mod programs;
mod server;
mod support;
mod worker;

//! The tests of the shop. They run on the in-process DynamoDB, and use only loopback addresses.

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

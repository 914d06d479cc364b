//! Leases on items, on paused time: the holder writes, and nobody else does.

mod any;
mod commits;
mod fence;
mod foreign;
mod ground;
mod holder;
mod others;
mod reserved;
mod resumed;
mod separate;
mod storm;
mod unusual;
mod wide;

use std::time::Duration;

use dynalock::{LeaseGuard, Versioned};
use serde::{Deserialize, Serialize};

use crate::support::secs;

/// How long a lease lasts in these tests without a heartbeat.
const TTL: Duration = secs(10);

/// How far clocks are taken to differ.
const SKEW: Duration = secs(2);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(deny_unknown_fields)]
#[dynalock(table = "crates")]
#[lockable(ttl = "10s")]
struct Crate {
    #[dynalock(partition_key)]
    id: String,
    items: u32,
    label: Option<String>,
}

impl Crate {
    fn new(id: &str, items: u32) -> Self {
        Self { id: id.to_owned(), items, label: None }
    }
}

/// A process that dies: it never beats again, and releases nothing.
fn kill(lease: LeaseGuard<Crate>) {
    drop(lease.detach());
}

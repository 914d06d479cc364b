//! Fences that grow over delete and recreate, whatever clocks show.

mod doubt;
mod lives;
mod storm;

use dynalock::{Lease, Versioned};
use serde::{Deserialize, Serialize};

/// An item whose fences are remembered after it was deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(deny_unknown_fields)]
#[dynalock(table = "drums")]
#[lockable(ttl = "10s", tombstone)]
pub(super) struct Drum {
    #[dynalock(partition_key)]
    id: String,
    litres: u32,
}

impl Drum {
    fn new(id: &str) -> Self {
        Self { id: id.to_owned(), litres: 0 }
    }
}

const HOUR: i64 = 3_600_000;

fn kill(lease: Lease<Drum>) {
    drop(lease.detach());
}

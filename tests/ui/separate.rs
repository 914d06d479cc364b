//! The last key attribute of an item that a row stands beside takes a suffix.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(separate)]
struct PartitionNumber {
    #[dynalock(partition_key)]
    id: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(ttl = "30s", separate)]
struct SortNumber {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(sort_key)]
    line: u32,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(separate)]
struct SortText {
    #[dynalock(partition_key)]
    id: u64,
    #[dynalock(sort_key)]
    line: String,
}

fn main() {}

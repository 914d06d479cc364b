//! With a separate lease row, the last key attribute must have a type that can take a suffix.

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

//! One partition key, at most one sort key and one version, each a field of its own.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct NoPartitionKey {
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct SortKeyAlone {
    #[dynalock(sort_key)]
    number: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct TwoOfEach {
    #[dynalock(partition_key)]
    first: String,
    #[dynalock(partition_key)]
    second: String,
    #[dynalock(sort_key)]
    third: String,
    #[dynalock(sort_key)]
    fourth: String,
    #[dynalock(version)]
    fifth: u64,
    #[dynalock(version)]
    sixth: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct PartitionKeyAndSortKey {
    #[dynalock(partition_key, sort_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct SortKeyAndVersion {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(sort_key)]
    #[dynalock(version)]
    number: u64,
}

fn main() {}

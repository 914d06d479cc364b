//! Values of the wrong shape, values that are missing, keys said twice, and what is no attribute at all.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = 3, version = rev, write_ids = "8", crate = 1)]
struct WrongType {
    #[dynalock(partition_key = "id")]
    id: String,
    #[dynalock(sort_key(number))]
    number: u64,
    #[dynalock(version = "rev")]
    version: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table, version, write_ids)]
struct NoValue {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", crate = "not a path")]
struct NotAPath {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", table = "orders", write_ids = 8)]
#[dynalock(write_ids = 8)]
struct Twice {
    #[dynalock(partition_key, partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", write_ids = 3)]
struct TooFewIds {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", write_ids = 17)]
struct TooManyIds {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", write_ids = -1)]
struct NegativeIds {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock]
struct Bare {
    #[dynalock = "partition_key"]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = )]
struct Unfinished {
    #[dynalock(partition_key sort_key)]
    id: String,
}

fn main() {}

//! An item is a serde struct.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Versioned)]
#[dynalock(table = "orders")]
struct Neither {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Versioned)]
#[dynalock(table = "orders")]
struct NotRead {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct NotWritten {
    #[dynalock(partition_key)]
    id: String,
}

fn main() {}

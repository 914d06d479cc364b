//! Indexes, which name fields of the struct.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(
    table = "orders",
    index(name = "by_status", partition_key = "state"),
    index(name = "by_time", partition_key = "status", sort_key = "placedAt"),
    index(name = "by_status", partition_key = "status"),
    index(name = "by-status", partition_key = "status"),
    index(name = "ab", partition_key = "status"),
    index(name = "2nd", partition_key = "status"),
    index(partition_key = "status"),
    index(name = "no_key"),
    index(name = "hashed", hash_key = "status"),
    index(name = "twice", partition_key = "status", sort_key = "status"),
    index(name = "both", partition_key = "status", all, keys_only),
    index(name = "held", partition_key = "status", include(customer, total, total, unknown)),
    index(name = "nothing", partition_key = "status", include()),
    index(name = "skipped", partition_key = "note"),
    index(name = "foreign", partition_key = "tags"),
    index(name = "sparse", partition_key = "courier"),
    index,
    index = "by_status"
)]
struct Order {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    status: String,
    #[serde(rename = "placedAt")]
    placed_at: String,
    total: u64,
    #[serde(skip)]
    note: String,
    #[serde(with = "serde_dynamo::string_set")]
    tags: Vec<String>,
    courier: Option<String>,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(
    table = "orders",
    index(name = "by_time", local),
    index(name = "by_place", local, partition_key = "place", sort_key = "place")
)]
struct Local {
    #[dynalock(partition_key)]
    customer: String,
    place: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(
    table = "orders",
    index(name = "local_1", local, sort_key = "a"),
    index(name = "local_2", local, sort_key = "a"),
    index(name = "local_3", local, sort_key = "a"),
    index(name = "local_4", local, sort_key = "a"),
    index(name = "local_5", local, sort_key = "a"),
    index(name = "local_6", local, sort_key = "a")
)]
struct TooMany {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    a: String,
}

macro_rules! order {
    ($courier:ty) => {
        #[derive(Serialize, Deserialize, Versioned)]
        #[dynalock(table = "orders", index(name = "sparse", partition_key = "courier"))]
        struct FromMacro {
            #[dynalock(partition_key)]
            customer: String,
            courier: $courier,
        }
    };
}

order!(Option<String>);

fn main() {}

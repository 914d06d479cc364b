//! An error suggests the nearest known key. Values have a form and a range. Each key is given once.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", partition_key = "customer", range_key = "number", billing = "on-demand")]
#[dynalock(lockable, lockable(ttl = "30s"), key_type = "Order Id")]
#[lockable(tll = "30s", tombstone, separate = "yes", separate)]
struct Unknown {
    #[dynalock(hash_key, table = "orders", write_ids = 8, table_name = "orders")]
    customer: String,
    #[dynalock(range_key, compressed)]
    number: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(tabel = "orders", versions = "rev", write_id = 8)]
struct Misspelled {
    #[dynalock(partiton_key)]
    customer: String,
    #[dynalock(sortkey)]
    number: u64,
    #[dynalock(verison)]
    rev: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock("orders")]
#[lockable("30s")]
struct ValuesAlone {
    #[dynalock(partition_key)]
    customer: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = 3, version = rev, write_ids = "8", crate = 1)]
#[lockable(ttl = 30)]
struct WrongType {
    #[dynalock(partition_key = "id")]
    id: String,
    #[dynalock(sort_key(number))]
    number: u64,
    #[dynalock(version = "rev")]
    version: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table, version, write_ids, crate = "not a path")]
struct NoValue {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", table = "orders", write_ids = 8)]
#[dynalock(write_ids = 8)]
#[lockable(until = "lockTime", until = "again")]
#[lockable]
struct Twice {
    #[dynalock(partition_key, partition_key)]
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

#[derive(Serialize, Deserialize, Versioned)]
struct NoTable {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(version = "rev")]
#[lockable(owner = "who", until = "who", unit = "minutes", fence = "_writes", beat = "")]
struct StillNoTable {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "", version = "", write_ids = 3)]
#[lockable(ttl = "0s")]
struct TooShort {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "ab", version = "_writes", write_ids = 17)]
#[lockable(ttl = "31622400001ms")]
struct OutOfRange {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "my orders", write_ids = -1)]
#[lockable(ttl = "99999999999999m")]
struct FarOutOfRange {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(ttl = "30")]
struct NoUnit {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "arn:aws:dynamodb:eu-central-1:123456789012:table/orders")]
#[lockable(ttl = "527040m")]
struct AnArnAndAYearAreFine {
    #[dynalock(partition_key)]
    id: String,
}

fn main() {}

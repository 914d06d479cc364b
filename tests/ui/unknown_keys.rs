//! The nearest known key is suggested, where it belongs.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct OtherWords {
    #[dynalock(hash_key)]
    customer: String,
    #[dynalock(range_key)]
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
#[dynalock(table = "orders", partition_key = "customer", range_key = "number")]
struct OfAFieldOnTheStruct {
    customer: String,
    number: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
struct OfTheStructOnAField {
    #[dynalock(partition_key, table = "orders", write_ids = 8, table_name = "orders")]
    customer: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", billing = "on-demand")]
struct Unlike {
    #[dynalock(partition_key, compressed)]
    customer: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock("orders")]
struct TextAlone {
    #[dynalock(partition_key)]
    customer: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", lockable)]
struct AnAttributeOfItsOwn {
    #[dynalock(partition_key)]
    customer: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", lockable(ttl = "30s"))]
struct WithArguments {
    #[dynalock(partition_key)]
    customer: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable("30s")]
struct TimeAlone {
    #[dynalock(partition_key)]
    customer: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", key_type = "Order Id")]
struct NoName {
    #[dynalock(partition_key)]
    customer: String,
}

fn main() {}

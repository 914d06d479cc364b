//! A key is a string, a whole number or bytes; the version is a `u64`. rustc says so, at the type.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Float {
    #[dynalock(partition_key)]
    id: f64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Bool {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(sort_key)]
    open: bool,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Optional {
    #[dynalock(partition_key)]
    id: Option<String>,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct List {
    #[dynalock(partition_key)]
    id: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Sku(String);

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Newtype {
    #[dynalock(partition_key)]
    id: Sku,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct SmallVersion {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(version)]
    rev: u32,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct OptionalVersion {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(version)]
    rev: Option<u64>,
}

fn main() {}

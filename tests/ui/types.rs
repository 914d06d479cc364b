//! Keys are strings, whole numbers or bytes, and the version is a `u64`. rustc reports other types.
//! The generated key accepts only the plain types of the key fields.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct FloatAndBool {
    #[dynalock(partition_key)]
    id: f64,
    #[dynalock(sort_key)]
    open: bool,
    #[dynalock(version)]
    rev: u32,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct OptionAndList {
    #[dynalock(partition_key)]
    id: Option<String>,
    #[dynalock(sort_key)]
    numbers: Vec<String>,
    #[dynalock(version)]
    rev: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct Sku(String);

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Newtype {
    #[dynalock(partition_key)]
    id: Sku,
}

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

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct Product {
    #[dynalock(partition_key)]
    sku: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Order {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
}

fn main() {
    let _ = ProductKey::from(85123);
    let _ = ProductKey::from(("85123A", 1));
    let _ = OrderKey::from("alice");
    let _ = OrderKey::from(("alice", "first"));
}

//! The generated key takes the key fields' plain types, and nothing else.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

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

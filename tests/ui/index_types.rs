//! The types of the keys of indexes.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Plain(String);

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(
    table = "orders",
    index(name = "by_price", partition_key = "price"),
    index(name = "by_plain", partition_key = "plain")
)]
struct Order {
    #[dynalock(partition_key)]
    customer: String,
    price: f64,
    plain: Plain,
}

fn main() {}

//! Tables: their creation, and their comparison with a type.

mod create;
mod verify;

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

/// An item whose table has a global and a local index, and time to live.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[expect(clippy::duplicated_attributes, reason = "two indexes may have equal parts")]
#[dynalock(
    table = "offers",
    index(name = "by_seller", partition_key = "seller", sort_key = "price", include(note, title)),
    index(name = "by_price", local, sort_key = "price")
)]
struct Offer {
    #[dynalock(partition_key)]
    shop: String,
    #[dynalock(sort_key)]
    number: u64,
    seller: String,
    price: u64,
    note: String,
    title: String,
    #[dynalock(expires)]
    until: u64,
}

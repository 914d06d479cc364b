//! An order.

mod place;

use std::{collections::BTreeMap, num::NonZeroU32};

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

pub use place::{Refused, place};

use crate::id::Id;

/// An order. The id of an order is the idempotency key of the request that placed the order, so
/// that a repeated request finds its own order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "shop-orders", show_key, index(name = "by_time", local, sort_key = "placed_at"))]
pub struct Order {
    /// The customer.
    #[dynalock(partition_key)]
    pub customer: Id,
    /// The idempotency key.
    #[dynalock(sort_key)]
    pub id: Id,
    /// The lines, by the ids of their products.
    pub lines: BTreeMap<Id, Line>,
    /// The sum of all lines in cents.
    pub total_cents: u64,
    /// `true` as soon as a worker has packed the order.
    pub packed: bool,
    /// The time of the order in seconds since the Unix epoch.
    pub placed_at: u64,
}

/// The part of an order that concerns one product.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The number of pieces.
    pub pieces: NonZeroU32,
    /// The price of one piece at the time of the order, in cents.
    pub cents: u32,
}

/// The request of a customer. A product appears only once, because `lines` is a map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewOrder {
    /// The customer.
    pub customer: Id,
    /// The numbers of pieces, by the ids of the products.
    pub lines: BTreeMap<Id, NonZeroU32>,
}

impl Order {
    /// Returns whether the order has the lines of this request.
    fn fulfils(&self, new: &NewOrder) -> bool {
        let lines = self.lines.iter().map(|(product, line)| (product, line.pieces));
        lines.eq(new.lines.iter().map(|(product, pieces)| (product, *pieces)))
    }
}

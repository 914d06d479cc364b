//! Items without a lease.

use std::collections::HashMap;

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

/// The item of tests that need no particular item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
pub(crate) struct Product {
    #[dynalock(partition_key)]
    pub(crate) sku: String,
    pub(crate) stock: i64,
    pub(crate) note: Option<String>,
}

impl Product {
    pub(crate) fn new(sku: &str, stock: i64) -> Self {
        Self { sku: sku.to_owned(), stock, note: None }
    }
}

/// An account, for tests that need several items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "accounts")]
pub(crate) struct Account {
    #[dynalock(partition_key)]
    pub(crate) owner: String,
    pub(crate) cents: i64,
    /// The transfers of the account.
    pub(crate) transfers: u64,
}

impl Account {
    pub(crate) fn new(owner: &str, cents: i64) -> Self {
        Self { owner: owner.to_owned(), cents, transfers: 0 }
    }
}

/// An item with a key of two parts. One part is a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "lines")]
pub(crate) struct Line {
    #[dynalock(partition_key)]
    pub(crate) order: String,
    #[dynalock(sort_key)]
    pub(crate) number: i64,
    pub(crate) quantity: i64,
}

impl Line {
    pub(crate) fn new(order: &str, number: i64, quantity: i64) -> Self {
        Self { order: order.to_owned(), number, quantity }
    }
}

/// An item with a flattened map.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "open")]
pub(crate) struct Open {
    #[dynalock(partition_key)]
    pub(crate) id: String,
    #[serde(flatten)]
    pub(crate) rest: HashMap<String, i64>,
}

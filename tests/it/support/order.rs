use dynalock::Versioned;
use serde::{Deserialize, Serialize};

/// An item with a sort key, for tests that read many items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
pub(crate) struct Order {
    #[dynalock(partition_key)]
    pub(crate) customer: String,
    #[dynalock(sort_key)]
    pub(crate) number: u64,
    pub(crate) cents: i64,
}

impl Order {
    pub(crate) fn new(customer: &str, number: u64, cents: i64) -> Self {
        Self { customer: customer.to_owned(), number, cents }
    }
}

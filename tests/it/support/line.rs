use dynalock::Versioned;
use serde::{Deserialize, Serialize};

/// An item whose key has two parts, one of them a number.
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

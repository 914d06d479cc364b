use dynalock::Versioned;
use serde::{Deserialize, Serialize};

/// The item of the tests that need no particular one.
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

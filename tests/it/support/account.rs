use dynalock::Versioned;
use serde::{Deserialize, Serialize};

/// Somebody's money, for the tests that need several items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "accounts")]
pub(crate) struct Account {
    #[dynalock(partition_key)]
    pub(crate) owner: String,
    pub(crate) cents: i64,
    /// The transfers that it took part in.
    pub(crate) transfers: u64,
}

impl Account {
    pub(crate) fn new(owner: &str, cents: i64) -> Self {
        Self { owner: owner.to_owned(), cents, transfers: 0 }
    }
}

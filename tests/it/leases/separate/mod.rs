//! Leases in a row beside the item: what holds of others holds of them, and the item is written by its writes alone.

mod doubt;
mod holder;
mod keys;
mod others;
mod transactions;

use dynalock::{LeaseGuard, Versioned};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::storm::Counted;
use crate::support::{Shop, Table};

/// An item that may be large.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "archives")]
#[lockable(ttl = "10s", separate)]
pub(super) struct Archive {
    #[dynalock(partition_key)]
    id: String,
    pages: u32,
    scan: Option<String>,
}

impl Archive {
    fn new(id: &str, pages: u32) -> Self {
        Self { id: id.to_owned(), pages, scan: None }
    }
}

impl Counted for Archive {
    const FENCES_GO_ON: bool = true;

    fn empty(id: &str) -> Self {
        Self::new(id, 0)
    }

    fn key(id: &str) -> ArchiveKey {
        id.into()
    }

    fn count(&mut self) -> &mut u32 {
        &mut self.pages
    }

    fn marks(&mut self) -> &mut Option<String> {
        &mut self.scan
    }
}

fn kill(lease: LeaseGuard<Archive>) {
    drop(lease.detach());
}

async fn archives(shop: &Shop) -> Table<Archive> {
    let table = shop.table::<Archive>().await;
    for id in ["a", "b"] {
        table.others.create(Archive::new(id, 5)).await.unwrap();
    }
    table
}

/// The actions of the last transaction: what each does, and the key.
fn actions(shop: &Shop) -> Vec<(String, String)> {
    let id = |action: &Value| {
        let key = if action["Key"].is_object() { &action["Key"] } else { &action["Item"] };
        key["id"]["S"].as_str().unwrap().to_owned()
    };
    shop.actions().iter().map(|(kind, action)| (kind.clone(), id(action))).collect()
}

fn action(kind: &str, id: &str) -> (String, String) {
    (kind.to_owned(), id.to_owned())
}

//! Leases in a row beside the item: what holds of others holds of them, and the item is written by its writes alone.

mod holder;
mod keys;
mod others;
mod transactions;

use serde_json::Value;

use crate::support::Shop;

/// The actions of the last transaction: what each does, and the key.
pub(super) fn actions(shop: &Shop) -> Vec<(String, String)> {
    let id = |action: &Value| {
        let key = if action["Key"].is_object() { &action["Key"] } else { &action["Item"] };
        key["id"]["S"].as_str().unwrap().to_owned()
    };
    shop.actions().iter().map(|(kind, action)| (kind.clone(), id(action))).collect()
}

pub(super) fn action(kind: &str, id: &str) -> (String, String) {
    (kind.to_owned(), id.to_owned())
}

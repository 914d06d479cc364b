//! Leases in separate rows. The rules of all other leases apply, and heartbeats do not write the
//! item.

mod holder;
mod keys;
mod others;
mod transactions;

use serde_json::Value;

use crate::support::Shop;

/// Returns the actions of the last transaction: the kind and the key of each action.
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

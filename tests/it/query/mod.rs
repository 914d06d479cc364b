//! Reads of many items, with faults and on scripted answers.

mod batches;
mod losses;
mod prefetch;
mod stale;

use serde_json::{Value, json};

/// Returns a page of the orders of "alice" with these numbers, with or without a next page.
fn page(numbers: impl IntoIterator<Item = u64>, more: bool) -> Value {
    let order = |number: u64| json!({ "customer": { "S": "alice" }, "number": { "N": number.to_string() }, "cents": { "N": "1" } });
    let numbers: Vec<_> = numbers.into_iter().collect();
    let items: Vec<_> = numbers.iter().copied().map(order).collect();
    let mut page = json!({ "Items": items, "Count": items.len(), "ScannedCount": 1_000 });
    if more {
        let last = numbers.last().copied().unwrap_or(1).to_string();
        page["LastEvaluatedKey"] = json!({ "customer": { "S": "alice" }, "number": { "N": last } });
    }
    page
}

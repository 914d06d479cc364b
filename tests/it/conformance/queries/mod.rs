//! Reads of many items.

mod batches;
mod indexes;
mod pages;
mod ranges;
mod rows;
mod scan;

use dynalock::{
    Error, Result,
    query::{Page, PageToken},
};

use crate::support::{Order, Shop, Table, item, n, s};

/// Creates the orders of "alice" with these numbers, and one order of "bob". The cents of an order
/// equal its number.
async fn orders(shop: &Shop, numbers: impl IntoIterator<Item = u64>) -> Table<Order> {
    let table = shop.table::<Order>().await;
    for number in numbers {
        let cents = i64::try_from(number).unwrap();
        table.others.create(Order::new("alice", number, cents)).await.unwrap();
    }
    table.others.create(Order::new("bob", 1, 1)).await.unwrap();
    table
}

/// Puts an order that does not fit its struct.
async fn malformed(table: &Table<Order>, number: u64) {
    table.raw.put(item([("customer", s("alice")), ("number", n(number)), ("cents", s("secret"))])).await;
}

fn numbers(orders: &[dynalock::Stored<Order>]) -> Vec<u64> {
    orders.iter().map(|order| order.number).collect()
}

/// Returns the errors, other than `PageToken`, of `page` for the tokens that differ from `token` in
/// one character.
async fn other_errors_of_edited_tokens<R>(
    token: &PageToken,
    page: impl AsyncFn(PageToken) -> Result<Page<R>>,
) -> Vec<String> {
    const CHARACTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let text = token.to_string();
    let mut errors = Vec::new();
    for place in 0..text.len() {
        for other in CHARACTERS.chars() {
            let edited = format!("{}{other}{}", &text[..place], &text[place + 1..]);
            match page(edited.into()).await {
                Ok(_) | Err(Error::PageToken { .. }) => {}
                Err(error) => errors.push(error.to_string()),
            }
        }
    }
    errors
}

//! Combined calls with faults, other writers and leases, on tokio's paused clock.

mod bounds;
mod ends;
mod leases;
mod load;
mod losses;
mod refusals;
mod repeats;

use dynalock::{Error, Stored, request::Combining};

use crate::support::{Product, Shop, Table, millis, travel};

/// The time from a request to its answer.
const ROUND_TRIP: u64 = 5;

/// Makes a shop far away, and the item `a`.
async fn far_away(stock: i64) -> (Shop, Table<Product>) {
    let (shop, table) = Shop::with_items([Product::new("a", stock)]).await;
    delay(&shop);
    (shop, table)
}

/// Lets each request take a round trip.
fn delay(shop: &Shop) {
    for operation in ["GetItem", "PutItem", "UpdateItem"] {
        shop.rival.before_each(operation, || travel(millis(ROUND_TRIP)));
    }
}

/// Adds to the stock of the item `a`.
fn add(
    products: &Combining<Product>,
    count: i64,
) -> impl IntoFuture<Output = Result<Stored<Product>, Error>, IntoFuture: Send> + use<> {
    products.update_with("a", move |product| product.stock += count)
}

async fn stock(table: &Table<Product>) -> i64 {
    table.others.get("a").await.unwrap().unwrap().stock
}

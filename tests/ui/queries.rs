//! Settings and arguments that a query does not accept.

use dynalock::{Repository, Versioned};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(
    table = "orders",
    index(name = "by_status", partition_key = "status", sort_key = "number"),
    index(name = "by_total", partition_key = "total", keys_only)
)]
struct Order {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    status: String,
    total: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "events")]
struct Event {
    #[dynalock(partition_key)]
    user: u64,
    #[dynalock(sort_key)]
    at: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct Product {
    #[dynalock(partition_key)]
    sku: String,
}

fn partitions(orders: &Repository<Order>, events: &Repository<Event>) {
    let _ = orders.query(("alice", 7));
    let _ = orders.query(7);
    let _ = events.query("alice");
}

fn ranges(orders: &Repository<Order>, events: &Repository<Event>, products: &Repository<Product>) {
    let _ = events.query(7).sort("a".."b");
    let _ = events.query(7).sort(7);
    let _ = orders.query("alice").sort("a"..);
    let _ = orders.query("alice").sort_prefix("7");
    let _ = products.query("a").sort(1..);
    let _ = orders.scan().sort(1..);
}

fn indexes(orders: &Repository<Order>, events: &Repository<Event>) {
    let _ = orders.query_index(Order::INDEX.by_status, "open").eventually_consistent();
    let _ = orders.query_index(Order::INDEX.by_status, 7);
    let _ = orders.query_index(Order::INDEX.by_status, "open").fetch();
    let _ = orders.query_index(Order::INDEX.by_total, 7).sort(1..);
    let _ = events.query_index(Order::INDEX.by_status, "open");
    let _ = Event::INDEX;
}

async fn segments(orders: &Repository<Order>) {
    let _ = orders.scan().segments(4).page(None).await;
    let _ = orders.scan().descending();
    let _ = orders.query("alice").segments(4);
}

fn main() {}

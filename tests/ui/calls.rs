//! A call or a condition that does not fit its type is an error where it stands, with the advice.

use dynalock::{Repository, Transaction, Versioned, condition::Condition};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Order {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    lines: Vec<String>,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "lines")]
struct Line {
    #[dynalock(partition_key)]
    number: u64,
}

#[derive(Serialize, Deserialize)]
struct Plain {
    id: String,
}

fn leases(orders: &Repository<Order>) {
    let _ = orders.lock(("alice", 7_u64));
    let _ = orders.try_lock(("alice", 7_u64));
}

fn keys(orders: &Repository<Order>, lines: &Repository<Line>, tx: &mut Transaction, index: usize) {
    let _ = orders.get("alice");
    let _ = orders.get(("alice", "seven"));
    let _ = lines.get(index);
    let _ = lines.get((7_u64, 8_u64));
    let _ = tx.check_exists(lines, "seven");
}

fn types_without_the_derive(client: &aws_sdk_dynamodb::Client, plain: &Repository<Plain>) {
    let _ = Repository::<Plain>::new(client);
    let _ = plain.create_table();
    let _ = plain.create(Plain { id: String::new() });
}

fn closures(lines: &Repository<Line>, orders: &Repository<Order>) {
    let _ = lines.update_with(7_u64, async |line| line.number += 1);
    let _ = lines.update_with(7_u64, |line| async move { line.number += 1 });
    let _ = orders.update_with(("alice", 7_u64), |order| order.lines.pop());
    let _ = lines.upsert_with(7_u64, || Line { number: 7 }, async |line| line.number += 1);
    let _ = lines.update_with(7_u64, |_| panic!("a closure that does not return is fine"));
}

#[derive(Serialize, Deserialize)]
struct Price(u64);

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct Product {
    #[dynalock(partition_key)]
    sku: String,
    stock: i64,
    limit: Option<u32>,
    price: Price,
    sold_out: bool,
    tags: Vec<String>,
    #[serde(with = "serde_dynamo::string_set")]
    colours: Vec<String>,
    #[serde(skip_serializing, default)]
    draft: String,
}

fn values() {
    let a = Product::ATTR;
    let _ = a.sku.eq(85123);
    let _ = a.stock.ge("3");
    let _ = a.stock.eq(None);
    let _ = a.limit.lt(None);
    let _ = a.tags.is_in(["new"]);
}

fn order() {
    let a = Product::ATTR;
    let _ = a.sold_out.lt(true);
    let _ = a.tags.ge(vec![String::new()]);
    let _ = a.price.gt(Price(1));
}

fn parts() {
    let a = Product::ATTR;
    let _ = a.stock.begins_with("1");
    let _ = a.sku.begins_with(8);
    let _ = a.sold_out.contains("t");
    let _ = a.tags.contains(1);
}

fn opaque() {
    let a = Product::ATTR;
    let _ = a.colours.contains("red");
    let _ = a.colours.eq(vec!["red".to_owned()]);
    let _ = a.draft;
}

fn one_type(condition: Condition<Order>) -> Condition<Product> {
    let _ = Product::ATTR.stock.ge(3).and(Order::ATTR.number.ge(3));
    condition
}

fn main() {}

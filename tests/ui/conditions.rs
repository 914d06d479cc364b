//! A condition compares an attribute with what it can hold, and is about the items of one type.

use dynalock::{Versioned, condition::Condition};
use serde::{Deserialize, Serialize};

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

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Order {
    #[dynalock(partition_key)]
    id: u64,
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
    let _ = Product::ATTR.stock.ge(3).and(Order::ATTR.id.ge(3));
    condition
}

fn main() {}

//! Changes that a patch does not accept.

use std::{collections::HashSet, num::NonZeroU32};

use dynalock::{Attributes, Repository, Versioned};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct Product {
    #[dynalock(partition_key)]
    sku: String,
    #[dynalock(version)]
    revision: u64,
    stock: i64,
    name: String,
    least: NonZeroU32,
    history: Vec<String>,
    colours: HashSet<String>,
    #[serde(with = "serde_dynamo::string_set")]
    tags: HashSet<String>,
    #[serde(with = "serde_bytes")]
    digest: Vec<u8>,
    #[serde(with = "serde_dynamo::number_set")]
    sizes: HashSet<u8>,
    #[serde(deserialize_with = "not_empty")]
    lines: Vec<String>,
    #[dynalock(updated_at)]
    changed: u64,
    address: Address,
}

fn not_empty<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let lines = Vec::<String>::deserialize(from)?;
    if lines.is_empty() { Err(serde::de::Error::custom("no line")) } else { Ok(lines) }
}

#[derive(Serialize, Deserialize, Attributes)]
struct Address {
    city: String,
}

#[derive(Serialize, Deserialize, Attributes)]
struct Person {
    name: String,
}

#[derive(Serialize, Deserialize, Attributes)]
#[serde(untagged)]
struct Untagged {
    #[dynalock(partition_key)]
    name: String,
}

#[derive(Serialize, Deserialize, Attributes)]
struct Pair(String, String);

fn additions(products: &Repository<Product>) {
    let a = Product::ATTR;
    let _ = products.patch("x").add(a.name, 1);
    let _ = products.patch("x").add(a.least, 1);
    let _ = products.patch("x").add(a.stock, 1.5);
    let _ = products.patch("x").add(a.revision, 1);
    let _ = products.patch("x").add(a.digest, 1);
}

fn values(products: &Repository<Product>) {
    let a = Product::ATTR;
    let _ = products.patch("x").set(a.sku, "y");
    let _ = products.patch("x").set(a.stock, "many");
    let _ = products.patch("x").set(a.digest, vec![1]);
    let _ = products.patch("x").remove(a.stock);
    let _ = products.patch("x").set(a.lines, vec!["one".to_owned()]);
    let _ = products.patch("x").remove(a.lines.index(0));
    let _ = products.patch("x").set(a.changed, 1);
}

fn collections(products: &Repository<Product>) {
    let a = Product::ATTR;
    let _ = products.patch("x").append(a.stock, [1]);
    let _ = products.patch("x").append(a.history, [1]);
    let _ = products.patch("x").insert(a.colours, ["red"]);
    let _ = products.patch("x").insert(a.tags, [1]);
    let _ = products.patch("x").insert(a.sizes, [-1_i32]);
    let _ = products.patch("x").append(a.digest, [1]);
    let _ = products.patch("x").delete(a.tags, ["new"]);
}

fn paths(products: &Repository<Product>) {
    let a = Product::ATTR;
    let _ = products.patch("x").set(a.address.at(Person::ATTR.name), "Ada");
    let _ = products.patch("x").set(a.name.index(0), "A");
    let _ = products.patch("x").set(a.address.key("city"), "Oslo");
    let _ = products.patch("x").set(Address::ATTR.city, "Oslo");
    let _ = a.stock.size();
}

fn conditions(products: &Repository<Product>, product: Product) {
    let _ = products.create(product).when(Product::ATTR.stock.ge(0));
    let _ = products.get("x").when(Product::ATTR.stock.ge(0));
}

fn main() {}

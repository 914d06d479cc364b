//! The values that convert into a key.

use std::borrow::Cow;

use aws_sdk_dynamodb::{
    Client,
    config::{BehaviorVersion, Config},
};
use dynalock::{
    Key, KeyAttribute, Versioned,
    table::{KeyType, KeyValue},
};
use serde::{Deserialize, Serialize};

use crate::key;

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct Product {
    #[dynalock(partition_key)]
    sku: String,
}

fn text(text: &str) -> KeyValue {
    KeyValue::S(text.to_owned())
}

fn number(number: i64) -> KeyValue {
    KeyValue::N(number.to_string())
}

#[test]
fn of_a_string() {
    let expected = Key::new(text("85123A"), None);
    let sku = String::from("85123A");
    let product = Product { sku: sku.clone() };

    assert_eq!(product.key(), expected);
    assert_eq!(key::<Product>("85123A"), expected);
    assert_eq!(key::<Product>(sku.as_str()), expected);
    assert_eq!(key::<Product>(&sku), expected);
    assert_eq!(key::<Product>(&product), expected);
    assert_eq!(key::<Product>(ProductKey::from(&sku)), expected);
    assert_eq!(key::<Product>(sku), expected);
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "invoices")]
struct Invoice {
    #[dynalock(partition_key)]
    number: u64,
}

#[test]
fn of_a_number() {
    let expected = Key::new(number(42), None);
    let invoice = Invoice { number: 42 };

    assert_eq!(invoice.key(), expected);
    assert_eq!(key::<Invoice>(42), expected);
    assert_eq!(key::<Invoice>(42_u64), expected);
    assert_eq!(key::<Invoice>(&invoice.number), expected);
    assert_eq!(key::<Invoice>(&invoice), expected);
    assert_eq!(key::<Invoice>(InvoiceKey::from(42)), expected);
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "readings")]
struct Reading {
    #[dynalock(sort_key)]
    celsius: i32,
    #[dynalock(partition_key)]
    place: String,
}

#[test]
fn of_a_partition_key_and_a_sort_key() {
    let expected = Key::new(text("attic"), Some(number(-7)));
    let place = String::from("attic");
    let reading = Reading { celsius: -7, place: place.clone() };

    assert_eq!(reading.key(), expected);
    assert_eq!(key::<Reading>(("attic", -7)), expected);
    assert_eq!(key::<Reading>((&place, &reading.celsius)), expected);
    assert_eq!(key::<Reading>((place.as_str(), reading.celsius)), expected);
    assert_eq!(key::<Reading>(&reading), expected);
    assert_eq!(key::<Reading>(ReadingKey::from(("attic", -7))), expected);
    assert_eq!(key::<Reading>((place, -7)), expected);
}

#[derive(Clone, Serialize, Deserialize)]
struct Sku(String);

impl KeyAttribute for Sku {
    const TYPE: KeyType = KeyType::S;

    fn to_key_value(&self) -> KeyValue {
        text(&self.0)
    }
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "shelves")]
struct Shelf {
    #[dynalock(partition_key)]
    hall: char,
    #[dynalock(sort_key)]
    sku: Sku,
}

#[test]
fn of_a_type_of_ones_own() {
    let expected = Key::new(text("C"), Some(text("85123A")));
    let sku = Sku("85123A".to_owned());
    let shelf = Shelf { hall: 'C', sku: sku.clone() };

    assert_eq!(Shelf::MODEL.sort_key.map(|key| key.key_type), Some(KeyType::S));
    assert_eq!(shelf.key(), expected);
    assert_eq!(key::<Shelf>(('C', &sku)), expected);
    assert_eq!(key::<Shelf>(('C', sku)), expected);
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "pages")]
struct Page {
    #[dynalock(partition_key)]
    site: Cow<'static, str>,
    #[dynalock(sort_key)]
    path: std::boxed::Box<str>,
}

#[test]
fn of_other_strings() {
    let page = Page { site: "dynalock".into(), path: "/docs".into() };
    let expected = Key::new(text("dynalock"), Some(text("/docs")));

    assert_eq!(page.key(), expected);
    assert_eq!(key::<Page>(&page), expected);
    assert_eq!(key::<Page>((page.site, page.path)), expected);
}

#[test]
fn a_repository_takes_them_all() {
    let config = Config::builder().behavior_version(BehaviorVersion::latest()).build();
    let client = Client::from_conf(config);
    let sku = String::from("85123A");
    let product = Product { sku: sku.clone() };

    // Nothing is sent, because these calls only have to compile.
    let products = Product::repository(&client);
    let _ = (products.get("85123A"), products.get(&sku), products.get(&product), products.get(sku));
    let _ = products.update_with("85123A", |_| {});
    let invoices = Invoice::repository(&client);
    let _ = (invoices.get(42), invoices.delete_unchecked(42));
    let readings = Reading::repository(&client);
    let _ = (readings.get(("attic", -7)), readings.get((&String::from("attic"), -7)));
}

#[test]
fn keys_are_compared_hashed_and_printed() {
    let keys = std::collections::HashSet::from([ProductKey::from("a"), ProductKey::from("a"), ProductKey::from("b")]);

    assert_eq!(keys.len(), 2);
    assert_eq!(ProductKey::from("a").clone(), ProductKey::from("a"));
    assert!(format!("{:?}", ProductKey::from("a")).starts_with("ProductKey("));
}

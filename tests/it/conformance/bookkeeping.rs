//! The stored versions and write ids.

use dynalock::{Error, Versioned};
use serde::{Deserialize, Serialize};

use crate::support::{Product, Shop, b, changed, expect_error, item, n, s};
use aws_sdk_dynamodb::types::AttributeValue;

cases![
    a_corrupt_version_is_refused_and_nothing_is_written,
    corrupt_write_ids_are_refused_and_nothing_is_written,
    the_last_version_can_be_deleted_but_not_counted_up,
    a_field_mirrors_the_stored_version,
    a_field_that_mirrors_the_version_is_not_the_callers_to_change,
    an_item_without_a_version_reads_as_0_into_the_field,
    a_version_attribute_of_another_name_is_kept_out_of_the_struct,
    an_item_keeps_sixteen_write_ids_unless_its_type_says_otherwise,
    an_item_keeps_as_many_write_ids_as_its_type_says,
    the_incarnation_stays_over_updates_and_replaces_and_is_new_after_a_delete,
];

async fn a_corrupt_version_is_refused_and_nothing_is_written(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let corrupt = [
        s("abc"),
        s("1"),
        n(-1),
        n("1.5"),
        n("18446744073709551616"),
        AttributeValue::Null(true),
        AttributeValue::Bool(true),
        b([1]),
    ];
    for version in corrupt {
        let stored = item([("sku", s("a")), ("stock", n(5)), ("_version", version)]);
        table.raw.put(stored.clone()).await;
        let requests = shop.requests();
        let get = table.items.get("a").await.map(drop);
        let update = table.items.update_with("a", |product| product.stock = 6).await.map(drop);
        let upsert = table.items.upsert_with("a", || Product::new("a", 0), |product| product.stock = 6);
        for result in [get, update, upsert.await.map(drop)] {
            let attribute = expect_error!(result, Error::Corrupt { attribute, .. } => attribute);
            assert_eq!(attribute, "_version");
        }
        assert_eq!(shop.requests() - requests, 3, "one read each");
        assert_eq!(table.raw.get("a").await, Some(stored));
    }
}

async fn corrupt_write_ids_are_refused_and_nothing_is_written(shop: &Shop) {
    let table = shop.table::<Product>().await;
    for writes in [b([]), b([1; 4]), b([1; 7]), b([1; 13]), s("abc"), n(5), AttributeValue::Null(true)] {
        let stored = item([("sku", s("a")), ("stock", n(5)), ("_version", n(3)), ("_writes", writes)]);
        table.raw.put(stored.clone()).await;
        let get = table.items.get("a").await.map(drop);
        let update = table.items.update_with("a", |product| product.stock = 6).await.map(drop);
        for result in [get, update] {
            let attribute = expect_error!(result, Error::Corrupt { attribute, .. } => attribute);
            assert_eq!(attribute, "_writes");
        }
        assert_eq!(table.raw.get("a").await, Some(stored));
    }
}

async fn the_last_version_can_be_deleted_but_not_counted_up(shop: &Shop) {
    let table =
        shop.table_of_raw::<Product>([item([("sku", s("a")), ("stock", n(5)), ("_version", n(u64::MAX - 1))])]).await;
    let last = table.items.update_with("a", |product| product.stock = 6).await.unwrap();
    assert_eq!(last.version(), u64::MAX);
    let requests = shop.requests();
    let changed = changed(last.clone(), |it| it.stock = 7);
    expect_error!(table.items.update(changed).await, Error::VersionExhausted { .. });
    expect_error!(table.items.replace(last.clone()).await, Error::VersionExhausted { .. });
    expect_error!(table.items.touch(last.clone()).await, Error::VersionExhausted { .. });
    assert_eq!(shop.requests(), requests);
    let update = table.items.update_with("a", |product| product.stock = 7);
    expect_error!(update.await, Error::VersionExhausted { .. });
    assert_eq!(shop.counts(["UpdateItem", "PutItem"]), [1, 0]);
    assert_eq!(table.raw.get("a").await.unwrap()["_version"], n(u64::MAX));
    assert!(table.items.delete(last).await.unwrap().certain);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "documents")]
struct Document {
    #[dynalock(partition_key)]
    id: String,
    text: String,
    #[dynalock(version)]
    rev: u64,
}

impl Document {
    fn new(text: &str) -> Self {
        Self { id: "a".to_owned(), text: text.to_owned(), rev: 77 }
    }
}

async fn a_field_mirrors_the_stored_version(shop: &Shop) {
    let (table, document) = shop.created(Document::new("x")).await;
    assert_eq!((document.rev, document.version()), (1, 1));
    let document = table.items.update(changed(document, |it| it.text = "y".to_owned())).await.unwrap();
    assert_eq!((document.rev, document.version()), (2, 2));
    let document = table.items.replace(document).await.unwrap();
    assert_eq!(document.rev, 3);
    let document = table.items.touch(document).await.unwrap();
    assert_eq!(document.rev, 4);
    let document = table.items.update_with("a", |document| document.text.push('!')).await.unwrap();
    assert_eq!((document.rev, document.text.as_str()), (5, "y!"));
    assert_eq!(table.items.get("a").await.unwrap(), Some(document));
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["rev"], stored.get("_version")), (&n(5), None));
}

async fn a_field_that_mirrors_the_version_is_not_the_callers_to_change(shop: &Shop) {
    let (table, document) = shop.created(Document::new("x")).await;
    let document = table.items.update(changed(document, |it| it.rev = 99)).await.unwrap();
    assert_eq!((document.rev, document.version()), (1, 1), "update");
    let document = table.items.update_with("a", |document| document.rev = 99).await.unwrap();
    assert_eq!((document.rev, document.version()), (1, 1), "update_with");
    let document = table.items.update_with("a", |document| *document = Document::new("y")).await.unwrap();
    assert_eq!((document.rev, document.version()), (2, 2));
    assert_eq!(table.raw.get("a").await.unwrap()["rev"], n(2));
}

async fn an_item_without_a_version_reads_as_0_into_the_field(shop: &Shop) {
    let table = shop.table_of_raw::<Document>([item([("id", s("a")), ("text", s("x"))])]).await;
    let document = table.items.get("a").await.unwrap().unwrap();
    assert_eq!((document.rev, document.version()), (0, 0));
    let document = table.items.update_with("a", |document| document.text.push('!')).await.unwrap();
    assert_eq!((document.rev, document.version()), (1, 1));
    assert_eq!(table.raw.get("a").await.unwrap()["rev"], n(1));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(deny_unknown_fields)]
#[dynalock(table = "counters", version = "lock-version", write_ids = 4)]
struct Counter {
    #[dynalock(partition_key)]
    id: String,
    count: u64,
}

impl Counter {
    fn new() -> Self {
        Self { id: "a".to_owned(), count: 0 }
    }
}

async fn a_version_attribute_of_another_name_is_kept_out_of_the_struct(shop: &Shop) {
    let table = shop.table_of_raw::<Counter>([item([("id", s("a")), ("count", n(5)), ("lock-version", n(3))])]).await;
    let counter = table.items.update_with("a", |counter| counter.count += 1).await.unwrap();
    assert_eq!((counter.version(), counter.count), (4, 6));
    assert_eq!(table.items.get("a").await.unwrap(), Some(counter));
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["lock-version"], stored.get("_version")), (&n(4), None));
}

async fn an_item_keeps_sixteen_write_ids_unless_its_type_says_otherwise(shop: &Shop) {
    let table = shop.table::<Product>().await;
    table.items.create(Product::new("a", 0)).await.unwrap();
    for written in 2..=20_usize {
        table.items.update_with("a", |product| product.stock += 1).await.unwrap();
        assert_eq!(writes(&table.raw.get("a").await.unwrap()).len(), 12 + 8 * written.min(16));
    }
}

async fn an_item_keeps_as_many_write_ids_as_its_type_says(shop: &Shop) {
    let table = shop.table::<Counter>().await;
    table.items.create(Counter::new()).await.unwrap();
    let mut before = writes(&table.raw.get("a").await.unwrap());
    for written in 2..=8_usize {
        table.items.update_with("a", |counter| counter.count += 1).await.unwrap();
        let after = writes(&table.raw.get("a").await.unwrap());
        assert_eq!(after.len(), 12 + 8 * written.min(4));
        assert_eq!(after[..8], before[..8], "the incarnation");
        assert_eq!(after[20..], before[12..after.len() - 8], "newest first, the oldest falls off");
        before = after;
    }
}

async fn the_incarnation_stays_over_updates_and_replaces_and_is_new_after_a_delete(shop: &Shop) {
    let (table, product) = shop.created(Product::new("a", 0)).await;
    let first = writes(&table.raw.get("a").await.unwrap());
    let product = table.items.replace(product).await.unwrap();
    assert_eq!(writes(&table.raw.get("a").await.unwrap())[..8], first[..8]);
    table.items.delete(product).await.unwrap();
    table.items.create(Product::new("a", 0)).await.unwrap();
    assert_ne!(writes(&table.raw.get("a").await.unwrap())[..8], first[..8]);
}

fn writes(item: &crate::support::Item) -> Vec<u8> {
    item["_writes"].as_b().unwrap().clone().into_inner()
}

//! One reply of a write is lost. The item shows that the write was applied, and the write is never
//! applied twice.

use dynalock::{Error, Repository, Versioned, local::Fault};
use serde::{Deserialize, Serialize};

use crate::support::{Product, Shop, Table, b, changed, expect_error, item, n, s};

cases![
    each_write_recognises_itself,
    an_update_recognises_itself_under_later_writes,
    a_create_recognises_itself_under_later_writes,
    an_update_under_more_writes_than_the_item_keeps_ids_is_indeterminate,
    an_update_that_was_not_applied_and_lost_is_a_conflict,
    an_update_that_lost_before_any_write_id_was_there_is_indeterminate,
    a_create_that_met_another_item_in_doubt_is_indeterminate,
    a_delete_in_doubt_whose_item_is_gone_says_so,
    a_delete_in_doubt_that_lost_is_a_conflict,
    a_write_id_stays_over_attempts_and_is_new_for_the_next_write,
    a_write_after_an_indeterminate_one_is_safe,
    a_write_id_stays_over_conflicts_of_one_call,
    writers_that_keep_fewer_ids_mislead_nobody,
    a_ring_that_was_read_empty_shows_nothing,
];

/// An item at version 1 with stock 5. The reply to its next write is lost.
async fn doubt(shop: &Shop, operation: &str) -> (Table<Product>, dynalock::Stored<Product>) {
    let (table, product) = shop.stored(Product::new("a", 5)).await;
    shop.faults.script_on(operation, 0, Fault::LoseReply);
    (table, product)
}

/// Writes the item this number of times between the first and the second attempt of an operation.
fn meanwhile(shop: &Shop, table: &Table<Product>, operation: &str, writes: usize) {
    shop.rival.before_through(&table.others, operation, 1, async move |others| {
        for _ in 0..writes {
            others.update_with("a", |product| product.stock += 100).await.unwrap();
        }
    });
}

async fn each_write_recognises_itself(shop: &Shop) {
    for (kind, operation, reads, left) in [
        ("create", "PutItem", 0, (1, 5)),
        ("update", "UpdateItem", 0, (2, 6)),
        ("replace", "PutItem", 0, (2, 5)),
        ("touch", "UpdateItem", 0, (2, 5)),
        ("increment", "UpdateItem", 1, (2, 6)),
        ("upsert", "PutItem", 1, (1, 1)),
        ("adoption", "UpdateItem", 1, (1, 6)),
    ] {
        let table = match kind {
            "create" | "upsert" => shop.table().await,
            "adoption" => shop.table_of_raw([item([("sku", s("a")), ("stock", n(5))])]).await,
            _ => shop.table_of([Product::new("a", 5)]).await,
        };
        let (items, read) = (&table.items, table.others.get("a").await.unwrap());
        let known = || read.clone().unwrap();
        let before = shop.counts([operation, "GetItem"]);
        shop.faults.script_on(operation, 0, Fault::LoseReply);
        let written = match kind {
            "create" => items.create(Product::new("a", 5)).await,
            "update" => items.update(changed(known(), |it| it.stock = 6)).await,
            "replace" => items.replace(known()).await,
            "touch" => items.touch(known()).await,
            "upsert" => items.upsert_with("a", || Product::new("a", 0), |product| product.stock += 1).await,
            _ => items.update_with("a", |product| product.stock += 1).await,
        };
        let product = written.unwrap();
        assert_eq!((product.version(), product.stock), left, "{kind}");
        assert_eq!(shop.counts([operation, "GetItem"]), [before[0] + 2, before[1] + reads], "{kind}");
        assert_eq!(table.others.get("a").await.unwrap().as_ref(), Some(&product), "{kind}");
        assert!(items.delete(product).await.unwrap().certain, "{kind}: its revision is the stored one");
    }
}

async fn an_update_recognises_itself_under_later_writes(shop: &Shop) {
    for writes in [1, 5, 15] {
        let (table, product) = doubt(shop, "UpdateItem").await;
        meanwhile(shop, &table, "UpdateItem", writes);
        let product = table.items.update(changed(product, |it| it.note = Some("mine".to_owned()))).await.unwrap();
        assert_eq!(product.version(), 2, "the version that it got");
        let stored = table.others.get("a").await.unwrap().unwrap();
        assert_eq!((stored.version(), stored.note.as_deref()), (2 + u64::try_from(writes).unwrap(), Some("mine")));
    }
}

async fn a_create_recognises_itself_under_later_writes(shop: &Shop) {
    let table = shop.table::<Product>().await;
    shop.faults.script_on("PutItem", 0, Fault::LoseReply);
    meanwhile(shop, &table, "PutItem", 15);
    let product = table.items.create(Product::new("a", 5)).await.unwrap();
    assert_eq!((product.version(), product.stock), (1, 5));
    assert_eq!(table.others.get("a").await.unwrap().unwrap().stock, 1505);
}

async fn an_update_under_more_writes_than_the_item_keeps_ids_is_indeterminate(shop: &Shop) {
    let (table, product) = doubt(shop, "UpdateItem").await;
    meanwhile(shop, &table, "UpdateItem", 16);
    let result = table.items.update(changed(product, |it| it.note = Some("mine".to_owned()))).await;
    let attempts = expect_error!(result, Error::Indeterminate { expected: Some(1), found: Some(18), spent, last: None, .. } => spent.attempts);
    assert_eq!(attempts, 2);
}

async fn an_update_that_was_not_applied_and_lost_is_a_conflict(shop: &Shop) {
    for writes in [1, 15] {
        let (table, mut product) = shop.stored(Product::new("a", 5)).await;
        shop.faults.script_on("UpdateItem", 0, Fault::LoseRequest);
        meanwhile(shop, &table, "UpdateItem", writes);
        product.stock = 6;
        let lost = expect_error!(table.items.update(product).await, Error::Conflict(lost) => lost);
        assert_eq!(lost.current::<Product>().unwrap(), table.others.get("a").await.unwrap());
        assert_eq!(lost.spent().attempts, 2);
    }
}

async fn an_update_that_lost_before_any_write_id_was_there_is_indeterminate(shop: &Shop) {
    let table = shop.table_of_raw::<Product>([item([("sku", s("a")), ("stock", n(5)), ("_version", n(3))])]).await;
    shop.faults.script_on("UpdateItem", 0, Fault::LoseRequest);
    meanwhile(shop, &table, "UpdateItem", 1);
    let update = table.items.update_with("a", |product| product.stock += 1);
    let told = expect_error!(update.await, Error::Indeterminate { expected, found, .. } => (expected, found));
    assert_eq!(told, (Some(3), Some(4)));
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(105));
}

async fn a_create_that_met_another_item_in_doubt_is_indeterminate(shop: &Shop) {
    let table = shop.table::<Product>().await;
    shop.faults.script_on("PutItem", 0, Fault::LoseRequest);
    shop.rival.before_through(&table.others, "PutItem", 1, async |others| {
        others.create(Product::new("a", 7)).await.unwrap();
    });
    let result = table.items.create(Product::new("a", 5)).await;
    let told = expect_error!(result, Error::Indeterminate { expected, found, .. } => (expected, found));
    assert_eq!(told, (None, Some(1)));
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(7));
}

async fn a_delete_in_doubt_whose_item_is_gone_says_so(shop: &Shop) {
    let (table, product) = doubt(shop, "DeleteItem").await;
    assert!(!table.items.delete(product).await.unwrap().certain);
    assert_eq!(table.raw.get("a").await, None);
}

async fn a_delete_in_doubt_that_lost_is_a_conflict(shop: &Shop) {
    let (table, product) = shop.stored(Product::new("a", 5)).await;
    shop.faults.script_on("DeleteItem", 0, Fault::LoseRequest);
    meanwhile(shop, &table, "DeleteItem", 20);
    let lost = expect_error!(table.items.delete(product).await, Error::Conflict(lost) => lost);
    assert_eq!(lost.current::<Product>().unwrap().unwrap().version(), 21);
}

/// Returns the newest write id in a request.
fn id(update: &serde_json::Value) -> Vec<u8> {
    let writes = &crate::support::written(update)["_writes"];
    let writes = writes.as_ref().unwrap()["B"].as_str().unwrap();
    aws_smithy_types::base64::decode(writes).unwrap()[12..20].to_vec()
}

async fn a_write_id_stays_over_attempts_and_is_new_for_the_next_write(shop: &Shop) {
    let (table, _) = doubt(shop, "UpdateItem").await;
    for _ in 0..2 {
        table.items.update_with("a", |product| product.stock += 1).await.unwrap();
    }
    let ids: Vec<_> = shop.sent("UpdateItem").iter().map(id).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(ids[0], ids[1]);
    assert_ne!(ids[1], ids[2]);
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!(stored["_writes"].as_b().unwrap().as_ref()[12..20], ids[2]);
}

async fn a_write_id_stays_over_conflicts_of_one_call(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    shop.faults.script_on("UpdateItem", 0, Fault::LoseRequest);
    meanwhile(shop, &table, "UpdateItem", 1);
    let product = table.items.update_with("a", |product| product.stock += 1).await.unwrap();
    assert_eq!((product.stock, product.version()), (106, 3));
    let ids: Vec<_> = shop.sent("UpdateItem").iter().map(id).collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|one| *one == ids[0]));
}

async fn a_write_after_an_indeterminate_one_is_safe(shop: &Shop) {
    let (table, product) = doubt(shop, "UpdateItem").await;
    shop.faults.script_on("UpdateItem", 1, Fault::AccessDenied);
    expect_error!(table.items.update(changed(product.clone(), |it| it.stock = 6)).await, Error::Indeterminate { .. });
    let again = changed(product, |it| it.stock = 7);
    let lost = expect_error!(table.items.update(again).await, Error::Conflict(lost) => lost);
    assert_eq!(lost.current::<Product>().unwrap().unwrap().stock, 6);
}

/// The items of the test, for a program that keeps four write ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products", write_ids = 4)]
struct Brief {
    #[dynalock(partition_key)]
    sku: String,
    stock: i64,
}

async fn writers_that_keep_fewer_ids_mislead_nobody(shop: &Shop) {
    for (fault, writes, applied) in [
        (Fault::LoseReply, 3, Some(true)),
        (Fault::LoseReply, 4, None),
        (Fault::LoseRequest, 3, Some(false)),
        (Fault::LoseRequest, 4, None),
    ] {
        let (table, product) = shop.stored(Product::new("a", 5)).await;
        shop.faults.script_on("UpdateItem", 0, fault.clone());
        let brief = Repository::<Brief>::new(&shop.plain).table(table.name());
        shop.rival.before("UpdateItem", 1, async move || {
            for _ in 0..writes {
                brief.update_with("a", |brief| brief.stock += 1).await.unwrap();
            }
        });
        match (table.items.update(changed(product, |it| it.note = Some("mine".to_owned()))).await, applied) {
            (Ok(_), Some(true)) | (Err(Error::Conflict(_)), Some(false)) | (Err(Error::Indeterminate { .. }), None) => {
            }
            (other, _) => panic!("{fault:?}, {writes} writes: {other:?}"),
        }
    }
}

async fn a_ring_that_was_read_empty_shows_nothing(shop: &Shop) {
    for writes in [1, 3, 4] {
        let table = shop.table::<Product>().await;
        let begun = item([("sku", s("a")), ("stock", n(5)), ("_version", n(1)), ("_writes", b([7; 8]))]);
        table.raw.put(begun).await;
        let product = table.others.get("a").await.unwrap().unwrap();
        shop.faults.script_on("UpdateItem", 0, Fault::LoseRequest);
        meanwhile(shop, &table, "UpdateItem", writes);
        match table.items.update(changed(product, |it| it.stock = 6)).await {
            Err(Error::Indeterminate { .. }) => {}
            other => panic!("{writes} writes: {other:?}"),
        }
    }
}

//! Items that another program wrote, without a version, in units of work.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use dynalock::{Error, transact};

use crate::support::{Product, Shop, Table, item, n, s};

cases![
    an_item_without_a_version_is_adopted,
    an_item_without_a_version_that_changes_is_decided_anew,
    an_item_without_a_version_that_is_only_read_is_checked_by_its_content,
];

async fn foreign(shop: &Shop) -> Table<Product> {
    let table = shop
        .table_of_raw::<Product>(
            ["a", "b"].map(|key| item([("sku", s(key)), ("stock", n(5)), ("note", s("none")), ("color", s("red"))])),
        )
        .await;
    table
}

async fn an_item_without_a_version_is_adopted(shop: &Shop) {
    let table = &foreign(shop).await;
    for keys in [&["a"][..], &["a", "b"]] {
        let unit = transact(&shop.client, |tx| async move {
            for key in keys {
                let mut product = tx.get(&table.items, *key).await?.unwrap();
                product.stock += 1;
                tx.update(&table.items, product);
            }
            Ok::<_, Error>(())
        });
        unit.await.unwrap();
    }
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["_version"], &stored["stock"], &stored["color"]), (&n(2), &n(7), &s("red")));
    let stored = table.raw.get("b").await.unwrap();
    assert_eq!((&stored["_version"], &stored["stock"], &stored["color"]), (&n(1), &n(6), &s("red")));
    assert_eq!(shop.counts(["UpdateItem", "TransactWriteItems"]), [1, 1]);
}

async fn an_item_without_a_version_that_changes_is_decided_anew(shop: &Shop) {
    for alone in [true, false] {
        let table = &foreign(shop).await;
        let raw = table.raw.clone();
        let operation = if alone { "UpdateItem" } else { "TransactWriteItems" };
        // Not what the unit writes, but what it may have decided on.
        shop.rival.before(operation, 0, async move || raw.set("a", "note", s("fragile")).await);
        let runs = &AtomicU32::new(0);
        let unit = transact(&shop.client, |tx| async move {
            runs.fetch_add(1, SeqCst);
            let mut product = tx.get(&table.items, "a").await?.unwrap();
            product.stock = if product.note.as_deref() == Some("fragile") { 1 } else { 9 };
            tx.update(&table.items, product);
            if !alone {
                tx.create(&table.items, Product::new("c", 5));
            }
            Ok::<_, Error>(())
        });
        unit.await.unwrap();
        let stored = table.raw.get("a").await.unwrap();
        assert_eq!((&stored["stock"], &stored["note"], &stored["_version"]), (&n(1), &s("fragile"), &n(1)));
        assert_eq!(runs.load(SeqCst), 2, "alone: {alone}");
    }
}

async fn an_item_without_a_version_that_is_only_read_is_checked_by_its_content(shop: &Shop) {
    let table = &foreign(shop).await;
    let raw = table.raw.clone();
    shop.rival.before("TransactWriteItems", 0, async move || raw.set("a", "stock", n(50)).await);
    let unit = transact(&shop.client, |tx| async move {
        let stock = tx.get(&table.items, "a").await?.unwrap().stock;
        tx.create(&table.items, Product::new("c", stock));
        Ok::<_, Error>(())
    });
    unit.await.unwrap();
    assert_eq!(table.raw.get("c").await.unwrap()["stock"], n(50));
    assert_eq!(table.raw.get("a").await.unwrap().get("_version"), None);
    assert_eq!(shop.counts(["GetItem", "TransactWriteItems"]), [1, 2]);
}

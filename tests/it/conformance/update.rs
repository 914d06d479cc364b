//! Writes of a value that was read.

use std::collections::BTreeMap;

use dynalock::Error;
use serde_json::json;

use crate::support::{Product, Shop, changed, expect_error, item, n, s, written, written_by_the_user};

cases![
    update_sends_only_what_changed,
    update_keeps_attributes_that_the_struct_does_not_know,
    update_of_an_unchanged_value_sends_nothing,
    update_of_a_value_that_was_changed_and_changed_back_sends_nothing,
    update_of_an_option_set_to_none_stores_what_serde_writes,
    a_stale_value_is_a_conflict_with_the_current_item_or_with_nothing,
    update_goes_on_from_what_a_conflict_carries,
    a_changed_key_is_refused_and_nothing_is_sent,
    replace_drops_attributes_that_the_struct_does_not_know,
    replace_writes_an_unchanged_value_too,
    touch_counts_the_version_and_changes_nothing_else,
    touch_makes_a_concurrent_update_fail,
    touch_writes_what_changed_as_well,
    delete_of_a_changed_value_needs_its_key,
    delete_unchecked_deletes_whatever_is_there,
    a_value_is_new_only_when_its_write_was_acknowledged,
];

async fn update_sends_only_what_changed(shop: &Shop) {
    let (table, product) = shop.created(Product { note: Some("x".to_owned()), ..Product::new("a", 5) }).await;
    let product = table.items.update(changed(product, |it| it.stock -= 3)).await.unwrap();
    assert_eq!((product.version(), product.stock), (2, 2));
    let updates = shop.sent("UpdateItem");
    assert_eq!(updates.len(), 1);
    let attributes = written_by_the_user(&updates[0], "_version");
    assert_eq!(attributes, BTreeMap::from([("stock".to_owned(), Some(json!({ "N": "2" })))]));
    assert_eq!(updates[0]["Key"], json!({ "sku": { "S": "a" } }));
    assert_eq!(updates[0]["ReturnValuesOnConditionCheckFailure"], "ALL_OLD");
    assert_eq!(shop.counts(["GetItem", "PutItem"]), [0, 1]);
}

async fn update_keeps_attributes_that_the_struct_does_not_know(shop: &Shop) {
    let table = shop.table::<Product>().await;
    table.items.create(Product::new("a", 5)).await.unwrap();
    table.raw.set("a", "color", s("red")).await;
    let product = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.stock = 6);
    table.items.update(product).await.unwrap();
    table.items.update_with("a", |product| product.stock += 1).await.unwrap();
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["color"], &stored["stock"], &stored["_version"]), (&s("red"), &n(7), &n(3)));
}

async fn update_of_an_unchanged_value_sends_nothing(shop: &Shop) {
    let (table, product) = shop.created(Product::new("a", 5)).await;
    let same = table.items.update(product.clone()).await.unwrap();
    assert_eq!(same, product);
    assert_eq!(shop.requests(), 1);
}

async fn update_of_a_value_that_was_changed_and_changed_back_sends_nothing(shop: &Shop) {
    let (table, mut product) = shop.created(Product::new("a", 5)).await;
    product.stock += 1;
    product.stock -= 1;
    assert_eq!(table.items.update(product).await.unwrap().version(), 1);
    assert_eq!(shop.requests(), 1);
}

async fn update_of_an_option_set_to_none_stores_what_serde_writes(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let noted = Product { note: Some("x".to_owned()), ..Product::new("a", 5) };
    table.items.create(noted).await.unwrap();
    let product = table.items.update_with("a", |product| product.note = None).await.unwrap();
    let written = written_by_the_user(&shop.sent("UpdateItem")[0], "_version");
    assert_eq!(written, BTreeMap::from([("note".to_owned(), Some(json!({ "NULL": true })))]));
    assert_eq!(table.items.get("a").await.unwrap(), Some(product));
}

async fn a_stale_value_is_a_conflict_with_the_current_item_or_with_nothing(shop: &Shop) {
    for write in ["update", "replace", "touch", "delete"] {
        for is_gone in [false, true] {
            let (table, stale) = shop.created(Product::new("a", 5)).await;
            table.others.update_with("a", |product| product.stock = 9).await.unwrap();
            if is_gone {
                table.raw.delete("a").await;
            }
            let current = table.others.get("a").await.unwrap();
            let (items, stale, before) = (&table.items, changed(stale, |it| it.stock = 4), shop.requests());
            let result = match write {
                "update" => items.update(stale).await.map(drop),
                "replace" => items.replace(stale).await.map(drop),
                "touch" => items.touch(stale).await.map(drop),
                _ => items.delete(stale).await.map(drop),
            };
            let lost = expect_error!(result, Error::Conflict(lost) => lost);
            let found = current.as_ref().map(dynalock::Stored::version);
            assert_eq!(lost.current::<Product>().unwrap(), current, "{write}");
            assert_eq!((lost.expected(), lost.found(), lost.table()), (Some(1), found, table.name()), "{write}");
            assert_eq!(lost.spent().attempts, 1, "{write}");
            assert!(is_gone || shop.requests() == before + 1, "{write}: the refusal has the item");
            assert_eq!(table.others.get("a").await.unwrap(), current, "{write}");
            if let Some(current) = current {
                assert!(items.delete(current).await.unwrap().certain, "{write}");
                assert_eq!(table.raw.get("a").await, None, "{write}");
            }
        }
    }
}

async fn update_goes_on_from_what_a_conflict_carries(shop: &Shop) {
    let (table, mut stale) = shop.created(Product::new("a", 5)).await;
    table.others.update_with("a", |product| product.stock = 9).await.unwrap();
    stale.stock = 4;
    let lost = expect_error!(table.items.update(stale).await, Error::Conflict(lost) => lost);
    let current = changed(lost.current::<Product>().unwrap().unwrap(), |it| it.stock -= 1);
    let product = table.items.update(current).await.unwrap();
    assert_eq!((product.stock, product.version()), (8, 3));
    assert_eq!(shop.counts(["UpdateItem", "GetItem"]), [2, 0]);
}

async fn a_changed_key_is_refused_and_nothing_is_sent(shop: &Shop) {
    let (table, created) = shop.created(Product::new("a", 5)).await;
    let moved = changed(created.clone(), |it| it.sku = "b".to_owned());
    expect_error!(table.items.update(moved.clone()).await, Error::KeyChanged { .. });
    expect_error!(table.items.replace(moved.clone()).await, Error::KeyChanged { .. });
    expect_error!(table.items.touch(moved.clone()).await, Error::KeyChanged { .. });
    expect_error!(table.items.delete(moved).await, Error::KeyChanged { .. });
    assert_eq!(shop.requests(), 1);
    let rename = |product: &mut Product| product.sku = "b".to_owned();
    expect_error!(table.items.update_with("a", rename).await, Error::KeyChanged { .. });
    assert_eq!(shop.counts(["PutItem", "UpdateItem", "DeleteItem"]), [1, 0, 0]);
    assert_eq!(table.items.get("a").await.unwrap(), Some(created));
    assert_eq!(table.raw.get("b").await, None);
}

async fn replace_drops_attributes_that_the_struct_does_not_know(shop: &Shop) {
    let table = shop.table::<Product>().await;
    table.items.create(Product::new("a", 5)).await.unwrap();
    table.raw.set("a", "color", s("red")).await;
    let product = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.stock = 6);
    let product = table.items.replace(product).await.unwrap();
    assert_eq!((product.version(), product.stock), (2, 6));
    let mut names: Vec<_> = table.raw.get("a").await.unwrap().into_keys().collect();
    names.sort();
    assert_eq!(names, ["_version", "_writes", "note", "sku", "stock"]);
}

async fn replace_writes_an_unchanged_value_too(shop: &Shop) {
    let (table, product) = shop.created(Product::new("a", 5)).await;
    assert_eq!(table.items.replace(product).await.unwrap().version(), 2);
    assert_eq!(table.raw.get("a").await.unwrap()["_version"], n(2));
}

async fn touch_counts_the_version_and_changes_nothing_else(shop: &Shop) {
    let (table, product) = shop.created(Product::new("a", 5)).await;
    table.raw.set("a", "color", s("red")).await;
    let touched = table.items.touch(product.clone()).await.unwrap();
    assert_eq!((touched.version(), &*touched), (2, &*product));
    let names: Vec<_> = written(&shop.sent("UpdateItem")[0]).into_keys().collect();
    assert_eq!(names, ["_version", "_writes"]);
    assert_eq!(table.raw.get("a").await.unwrap()["color"], s("red"));
}

async fn touch_makes_a_concurrent_update_fail(shop: &Shop) {
    let (table, product) = shop.created(Product::new("a", 5)).await;
    let concurrent = product.clone();
    table.items.touch(product).await.unwrap();
    expect_error!(table.items.update(changed(concurrent, |it| it.stock = 4)).await, Error::Conflict(_));
}

async fn touch_writes_what_changed_as_well(shop: &Shop) {
    let (table, product) = shop.created(Product::new("a", 5)).await;
    let touched = table.items.touch(changed(product, |it| it.stock = 6)).await.unwrap();
    assert_eq!(table.items.get("a").await.unwrap(), Some(touched.clone()));
    assert_eq!((touched.version(), touched.stock), (2, 6));
}

async fn delete_of_a_changed_value_needs_its_key(shop: &Shop) {
    let (table, mut product) = shop.created(Product::new("a", 5)).await;
    product.stock = 6;
    assert!(table.items.delete(product).await.unwrap().certain);
    assert_eq!(table.raw.get("a").await, None);
}

async fn delete_unchecked_deletes_whatever_is_there(shop: &Shop) {
    let table = shop.table::<Product>().await;
    table.items.create(Product::new("a", 5)).await.unwrap();
    table.others.update_with("a", |product| product.stock = 9).await.unwrap();
    table.raw.put(item([("sku", s("b")), ("_version", s("abc"))])).await;
    for key in ["a", "b", "nothing"] {
        table.items.delete_unchecked(key).await.unwrap();
        assert_eq!(table.raw.get(key).await, None);
    }
}

async fn a_value_is_new_only_when_its_write_was_acknowledged(shop: &Shop) {
    let (table, mut product) = shop.created(Product::new("a", 5)).await;
    product.stock = 4;
    let kept = product.clone();
    shop.faults.script_on("UpdateItem", 0, dynalock::local::Fault::AccessDenied);
    expect_error!(table.items.update(product).await, Error::Rejected(_));
    assert_eq!(kept.version(), 1);
    let product = table.items.update(kept).await.unwrap();
    assert_eq!((product.stock, product.version()), (4, 2));
}

//! The condition of a create is that the key has no item. An item that is deleted and created again
//! between a read and a write is another item, even if its version is the same.

use crate::support::{Product, Shop, Table, expect_error, item, n, s};
use dynalock::{Error, Stored, table::KeyValue};

cases![
    a_created_item_is_what_serde_writes_and_its_bookkeeping,
    create_over_a_versioned_item_returns_it,
    create_over_an_unversioned_item_returns_it_and_leaves_it_as_it_is,
    create_over_an_item_that_does_not_fit_returns_its_attributes,
    a_write_of_an_earlier_life_is_refused_though_the_version_fits,
    update_with_goes_on_from_the_new_life,
    a_write_in_doubt_of_an_earlier_life_is_indeterminate,
];

async fn a_created_item_is_what_serde_writes_and_its_bookkeeping(shop: &Shop) {
    let (table, created) = shop.created(Product::new("a", 5)).await;
    assert_eq!((created.version(), &*created), (1, &Product::new("a", 5)));
    let mut stored = table.raw.get("a").await.unwrap();
    let writes = stored.remove("_writes").unwrap();
    assert_eq!(writes.as_b().unwrap().as_ref().len(), 20, "an incarnation, a time and one id");
    let written: crate::support::Item = serde_dynamo::to_item(Product::new("a", 5)).unwrap();
    assert_eq!(stored.remove("_version"), Some(n(1)));
    assert_eq!(stored, written);
    assert_eq!(shop.requests(), 1);
}

async fn create_over_a_versioned_item_returns_it(shop: &Shop) {
    let (table, first) = shop.created(Product::new("a", 5)).await;
    let met = expect_error!(table.items.create(Product::new("a", 9)).await, Error::AlreadyExists(met) => met);
    assert_eq!(met.current::<Product>().unwrap(), Some(first));
    assert_eq!((met.spent().attempts, met.expected(), met.found()), (1, None, Some(1)));
    assert_eq!(table.items.get("a").await.unwrap().unwrap().stock, 5);
}

async fn create_over_an_unversioned_item_returns_it_and_leaves_it_as_it_is(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let foreign = item([("sku", s("a")), ("stock", n(5)), ("color", s("red"))]);
    table.raw.put(foreign.clone()).await;
    let met = expect_error!(table.items.create(Product::new("a", 9)).await, Error::AlreadyExists(met) => met);
    let current = met.current::<Product>().unwrap().unwrap();
    assert_eq!((current.version(), current.stock), (0, 5));
    assert_eq!((met.key().partition(), met.key().sort()), (&KeyValue::S("a".to_owned()), None));
    assert_eq!((met.expected(), met.found(), met.table()), (None, None, table.name()));
    assert_eq!(table.raw.get("a").await, Some(foreign));
}

async fn create_over_an_item_that_does_not_fit_returns_its_attributes(shop: &Shop) {
    let table = shop.table::<Product>().await;
    for foreign in [
        item([("sku", s("a"))]),
        item([("sku", s("a")), ("stock", n(1)), ("_version", s("abc"))]),
        item([("sku", s("a")), ("stock", n(1)), ("_version", n(1)), ("_writes", n(7))]),
    ] {
        table.raw.put(foreign.clone()).await;
        let met = expect_error!(table.items.create(Product::new("a", 9)).await, Error::AlreadyExists(met) => met);
        assert_eq!(met.current_item(), Some(&foreign));
        expect_error!(met.current::<Product>(), Error::Decode(_) | Error::Corrupt { .. });
        assert_eq!(table.raw.get("a").await, Some(foreign));
    }
}

/// Returns a value at version 3. Since its read, the item was deleted and created again, and is at
/// version 3 again.
async fn earlier_life(table: &Table<Product>) -> (Stored<Product>, Stored<Product>) {
    let old = live(table).await;
    table.raw.delete("a").await;
    (old, live(table).await)
}

async fn live(table: &Table<Product>) -> Stored<Product> {
    table.others.create(Product::new("a", 0)).await.unwrap();
    table.others.update_with("a", |product| product.stock = 1).await.unwrap();
    table.others.update_with("a", |product| product.stock = 2).await.unwrap()
}

async fn a_write_of_an_earlier_life_is_refused_though_the_version_fits(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let (mut old, new) = earlier_life(&table).await;
    assert_eq!((old.version(), &*old), (new.version(), &*new));
    old.stock = 9;
    for write in [table.items.update(old.clone()), table.items.replace(old.clone()), table.items.touch(old.clone())] {
        let lost = expect_error!(write.await, Error::Conflict(lost) => lost);
        assert_eq!(lost.current::<Product>().unwrap(), Some(new.clone()));
    }
    expect_error!(table.items.delete(old).await, Error::Conflict(_));
    assert_eq!(table.items.get("a").await.unwrap(), Some(new));
}

async fn update_with_goes_on_from_the_new_life(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let (raw, others) = (table.raw.clone(), table.others.clone());
    shop.rival.before("UpdateItem", 0, async move || {
        raw.delete("a").await;
        others.create(Product::new("a", 50)).await.unwrap();
    });
    let product = table.items.update_with("a", |product| product.stock += 1).await.unwrap();
    assert_eq!((product.stock, product.version()), (51, 2));
}

async fn a_write_in_doubt_of_an_earlier_life_is_indeterminate(shop: &Shop) {
    let (table, mut product) = shop.stored(Product::new("a", 5)).await;
    let (raw, others) = (table.raw.clone(), table.others.clone());
    shop.faults.script_on("UpdateItem", 0, dynalock::local::Fault::LoseReply);
    shop.rival.before("UpdateItem", 1, async move || {
        raw.delete("a").await;
        others.create(Product::new("a", 50)).await.unwrap();
    });
    product.stock = 4;
    let result = table.items.update(product).await;
    let (expected, found) = expect_error!(result, Error::Indeterminate { expected, found, .. } => (expected, found));
    assert_eq!((expected, found), (Some(1), Some(1)));
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(50));
}

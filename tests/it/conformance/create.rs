//! A create is guarded by the absence of its key.

use dynalock::{Error, table::KeyValue};

use crate::support::{Product, Shop, expect_error, item, n, s};

cases![
    a_created_item_is_what_serde_writes_and_its_bookkeeping,
    create_over_a_versioned_item_returns_it,
    create_over_an_unversioned_item_returns_it_and_leaves_it_as_it_is,
    create_over_an_item_that_does_not_fit_returns_its_attributes,
];

async fn a_created_item_is_what_serde_writes_and_its_bookkeeping(shop: &Shop) {
    let (table, created) = shop.created(Product::new("a", 5)).await;
    assert_eq!((created.version(), &*created), (1, &Product::new("a", 5)));
    let mut stored = table.raw.get("a").await.unwrap();
    let writes = stored.remove("_writes").unwrap();
    assert_eq!(writes.as_b().unwrap().as_ref().len(), 16, "an incarnation and one id");
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

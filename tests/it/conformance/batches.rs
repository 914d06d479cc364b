//! Writes of many items.

use dynalock::Error;

use crate::support::{Product, Shop, changed, expect_error};

cases![
    each_value_has_its_own_result_in_the_order_given,
    a_second_value_with_the_same_key_exists_already,
    many_items_are_updated_and_deleted,
    a_stale_value_is_a_conflict_of_its_item_alone,
    an_import_writes_25_items_in_a_request,
    an_import_overwrites_items_that_other_callers_have_read,
    the_last_imported_value_of_a_key_stays,
    an_item_that_is_too_large_is_an_error_of_its_own,
];

fn products(count: i64) -> impl Iterator<Item = Product> {
    (0..count).map(|number| Product::new(&number.to_string(), number))
}

async fn each_value_has_its_own_result_in_the_order_given(shop: &Shop) {
    let table = shop.table::<Product>().await;
    table.others.create(Product::new("3", 100)).await.unwrap();
    let results = table.items.create_many(products(6)).concurrency(2).await;
    for (number, result) in (0..).zip(results) {
        if number == 3 {
            let exists = expect_error!(result, Error::AlreadyExists(conflict) => conflict);
            assert_eq!(exists.current::<Product>().unwrap().unwrap().stock, 100);
        } else {
            let product = result.unwrap();
            assert_eq!((product.stock, product.version()), (number, 1));
        }
    }
    assert_eq!(table.items.scan().count().await.unwrap(), 6);
}

async fn a_second_value_with_the_same_key_exists_already(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let mut results = table.items.create_many([Product::new("a", 1), Product::new("a", 2)]).await.into_iter();
    assert_eq!(results.next().unwrap().unwrap().stock, 1);
    expect_error!(results.next().unwrap(), Error::AlreadyExists(_));
    assert_eq!(table.items.get("a").await.unwrap().unwrap().stock, 1);
}

async fn many_items_are_updated_and_deleted(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let created = table.items.create_many(products(20)).await.into_iter();
    let more = created.map(|product| changed(product.unwrap(), |product| product.stock += 100));
    let updated: Vec<_> = table.items.update_many(more).await.into_iter().map(Result::unwrap).collect();
    for (number, product) in (0..).zip(&updated) {
        assert_eq!((product.stock, product.version()), (number + 100, 2));
    }
    let deleted = table.items.delete_many(updated).await;
    assert!(deleted.into_iter().all(|deleted| deleted.unwrap().certain));
    assert_eq!(table.items.scan().count().await.unwrap(), 0);
}

async fn a_stale_value_is_a_conflict_of_its_item_alone(shop: &Shop) {
    let table = shop.table_of(products(3)).await;
    let read = table.items.get_many(["0", "1", "2"]).await.unwrap().into_iter().flatten();
    let read: Vec<_> = read.map(|product| changed(product, |product| product.stock += 100)).collect();
    table.others.update_with("1", |product| product.stock = 7).await.unwrap();
    let mut results = table.items.update_many(read.clone()).await.into_iter();
    assert_eq!(results.next().unwrap().unwrap().stock, 100);
    expect_error!(results.next().unwrap(), Error::Conflict(_));
    assert_eq!(results.next().unwrap().unwrap().stock, 102);
    for deleted in table.items.delete_many(read).await {
        expect_error!(deleted, Error::Conflict(_));
    }
}

async fn an_import_writes_25_items_in_a_request(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let imported = table.items.import_unchecked(products(60)).await;
    for (number, product) in (0..).zip(imported) {
        let product = changed(product.unwrap(), |product| product.stock += 100);
        assert_eq!(product.version(), 1);
        if number % 20 == 0 {
            let product = table.items.update(product).await.unwrap();
            assert_eq!((product.stock, product.version()), (number + 100, 2));
        }
    }
    assert_eq!(shop.counts(["BatchWriteItem", "PutItem"]), [3, 0]);
    assert_eq!(table.items.scan().count().await.unwrap(), 60);
}

async fn an_import_overwrites_items_that_other_callers_have_read(shop: &Shop) {
    let (table, read) = shop.stored(Product::new("a", 1)).await;
    table.items.import_unchecked([Product::new("a", 2)]).await.remove(0).unwrap();
    let stale = table.others.update(changed(read, |product| product.stock = 3)).await;
    let conflict = expect_error!(stale, Error::Conflict(conflict) => conflict);
    assert_eq!(conflict.current::<Product>().unwrap().unwrap().stock, 2);
}

async fn the_last_imported_value_of_a_key_stays(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let values = [("a", 1), ("b", 2), ("a", 3)].map(|(sku, stock)| Product::new(sku, stock));
    let results = table.items.import_unchecked(values).await;
    assert_eq!(results.into_iter().map(|product| product.unwrap().stock).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(table.items.get("a").await.unwrap().unwrap().stock, 3);
}

async fn an_item_that_is_too_large_is_an_error_of_its_own(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let large = Product { note: Some("x".repeat(410_000)), ..Product::new("large", 1) };
    let mut results = table.items.import_unchecked([Product::new("a", 1), large, Product::new("b", 2)]).await;
    assert_eq!(results.remove(2).unwrap().stock, 2);
    let bytes = expect_error!(results.remove(1), Error::ItemTooLarge { bytes, .. } => bytes);
    assert!(bytes > 410_000, "{bytes}");
    assert_eq!(results.remove(0).unwrap().stock, 1);
}

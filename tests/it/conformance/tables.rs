//! Tables.

use dynalock::{Error, Locks, Repository, Transaction, Versioned};
use serde::{Deserialize, Serialize};

use crate::support::{Product, Shop, changed, expect_error};

cases![
    create_table_again_is_fine,
    create_table_over_a_table_with_another_key_is_a_mismatch,
    every_call_says_that_the_key_of_the_table_differs,
    a_missing_table_is_named,
    the_table_is_named_at_run_time,
];

async fn create_table_again_is_fine(shop: &Shop) {
    let table = shop.absent_table::<Product>();
    for _ in 0..2 {
        table.items.create_table().await.unwrap();
        table.items.upsert_with("a", || Product::new("a", 0), |product| product.stock += 1).await.unwrap();
    }
    assert_eq!(table.items.get("a").await.unwrap().unwrap().stock, 2);
}

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct OtherName {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct OtherType {
    #[dynalock(partition_key)]
    sku: u64,
}

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct WithSortKey {
    #[dynalock(partition_key)]
    sku: String,
    #[dynalock(sort_key)]
    batch: u64,
}

async fn create_table_over_a_table_with_another_key_is_a_mismatch(shop: &Shop) {
    let products = shop.table::<Product>().await;
    let name = products.name();
    for result in [
        shop.named::<OtherName>(name).create_table().await,
        shop.named::<OtherType>(name).create_table().await,
        shop.named::<WithSortKey>(name).create_table().await,
    ] {
        let table = expect_error!(result, Error::TableMismatch { table, .. } => table);
        assert_eq!(&*table, name);
    }
    let sorted = shop.table::<WithSortKey>().await;
    expect_error!(shop.named::<Product>(sorted.name()).create_table().await, Error::TableMismatch { .. });
}

/// All calls of a repository that send a key.
async fn calls_by_key<T: Versioned>(items: &Repository<T>, key: fn() -> T::Key, value: fn() -> T) -> Vec<Error> {
    vec![
        items.get(key()).await.map(drop).unwrap_err(),
        items.create(value()).await.map(drop).unwrap_err(),
        items.create(value()).exactly_once().await.map(drop).unwrap_err(),
        items.update_with(key(), |_| {}).await.map(drop).unwrap_err(),
        items.delete_unchecked(key()).await.unwrap_err(),
    ]
}

async fn every_call_says_that_the_key_of_the_table_differs(shop: &Shop) {
    let products = shop.table::<Product>().await;
    let name = products.name();
    let (other_name, other_type) = (shop.named::<OtherName>(name), shop.named::<OtherType>(name));
    let mut errors = calls_by_key(&other_name, || "a".into(), || OtherName { id: "a".to_owned() }).await;
    errors.extend(calls_by_key(&other_type, || 7.into(), || OtherType { sku: 7 }).await);
    // For DynamoDB, a put of an item with one more attribute is no mismatch.
    let sorted = shop.named::<WithSortKey>(name);
    errors.push(sorted.get(("a", 7)).await.map(drop).unwrap_err());
    errors.push(sorted.update_with(("a", 7), |_| {}).await.map(drop).unwrap_err());
    errors.push(sorted.delete_unchecked(("a", 7)).await.unwrap_err());

    let mut tx = Transaction::new(&shop.client);
    tx.create(&shop.table::<Product>().await.items, Product::new("a", 5));
    tx.create(&other_name, OtherName { id: "a".to_owned() });
    errors.push(tx.commit().await.map(drop).unwrap_err());
    let mut get = Transaction::get(&shop.client);
    get.item(&other_name, "a");
    errors.push(get.fetch().await.map(drop).unwrap_err());
    let locks = Locks::new(&shop.client, name.to_owned());
    errors.push(locks.acquire("a").await.map(drop).unwrap_err());
    errors.push(locks.acquire_all(["a", "b"]).await.map(drop).unwrap_err());

    for error in errors {
        let text = error.to_string();
        // DynamoDB Local does not name the action of a transaction, so the error names all tables.
        let said = format!("{name}` differs from the key of its type: ");
        assert!(text.starts_with("the key of table `") && text.contains(&said), "{text}");
        assert!(text.contains("`create_table` compares both keys"), "{text}");
        expect_error!(Err::<(), _>(error), Error::TableMismatch { .. });
    }
}

async fn a_missing_table_is_named(shop: &Shop) {
    let table = shop.absent_table::<Product>();
    let known = shop.table::<Product>().await.others.create(Product::new("a", 5)).await.unwrap();
    let changed = changed(known.clone(), |it| it.stock = 6);
    let results = [
        table.items.get("a").await.map(drop),
        table.items.create(Product::new("a", 5)).await.map(drop),
        table.items.update(changed).await.map(drop),
        table.items.replace(known.clone()).await.map(drop),
        table.items.touch(known.clone()).await.map(drop),
        table.items.delete(known).await.map(drop),
        table.items.delete_unchecked("a").await,
        table.items.update_with("a", |product| product.stock = 6).await.map(drop),
        table.items.create(Product::new("a", 5)).exactly_once().await.map(drop),
    ];
    assert_eq!(shop.requests(), results.len(), "one request each");
    for result in results {
        let named = expect_error!(result, Error::TableNotFound { table, .. } => table);
        assert_eq!(&*named, table.name());
    }
}

async fn the_table_is_named_at_run_time(shop: &Shop) {
    let (one, other) = (shop.table::<Product>().await, shop.table::<Product>().await);
    one.items.create(Product::new("a", 1)).await.unwrap();
    other.items.create(Product::new("a", 2)).await.unwrap();
    assert_eq!(one.items.get("a").await.unwrap().unwrap().stock, 1);
    assert_eq!(shop.named::<Product>(other.name()).get("a").await.unwrap().unwrap().stock, 2);
}

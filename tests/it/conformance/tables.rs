//! Tables.

use dynalock::{Error, Versioned};
use serde::{Deserialize, Serialize};

use crate::support::{Product, Shop, expect_error};

cases![
    create_table_again_is_fine,
    create_table_over_a_table_with_another_key_is_a_mismatch,
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

async fn a_missing_table_is_named(shop: &Shop) {
    let table = shop.absent_table::<Product>();
    let known = shop.table::<Product>().await.others.create(Product::new("a", 5)).await.unwrap();
    let mut changed = known.clone();
    changed.stock = 6;
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

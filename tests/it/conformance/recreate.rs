//! An item that is deleted and made again between a read and a write is another item, also when its version fits.

use dynalock::{Error, Stored};

use crate::support::{Product, Shop, Table, expect_error, n};

cases![
    a_write_of_an_earlier_life_is_refused_though_the_version_fits,
    update_with_goes_on_from_the_new_life,
    a_write_in_doubt_of_an_earlier_life_is_indeterminate,
];

/// A value at version 3 of an item that has begun anew since, and is at version 3 again.
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
    let (expected, found) = expect_error!(
        table.items.update(product).await,
        Error::Indeterminate { expected, found, .. } => (expected, found)
    );
    assert_eq!((expected, found), (Some(1), Some(1)));
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(50));
}

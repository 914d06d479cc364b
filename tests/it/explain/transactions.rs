//! Explained transactions.

use dynalock::{Stored, Transaction};

use super::wire::{SECRET, sends_explained};
use crate::support::{Account, Archive, Product, Shop, Table, changed, kill};

async fn products() -> (Shop, Table<Product>) {
    let skus = ["a", "b", "c", "d", "e"].map(|name| format!("{SECRET}-{name}"));
    Shop::with_items(skus.map(|sku| Product::new(&sku, 5))).await
}

/// Asserts that the transaction sends what it explains.
async fn commits(shop: &Shop, mut tx: Transaction) {
    let (before, operations) = (shop.requests(), tx.len());
    let explained = tx.explain().unwrap();
    assert_eq!((shop.requests(), tx.len()), (before, operations), "an explanation sends and changes nothing");
    sends_explained(shop, &explained, tx.commit()).await;
}

#[tokio::test]
async fn all_kinds_of_operations_are_explained() {
    let (shop, Table { items, .. }) = products().await;
    let read = |name: &'static str| {
        let items = items.clone();
        async move { items.get(format!("{SECRET}-{name}")).await.unwrap().unwrap() }
    };
    for token in [None, Some("s3cret-payment")] {
        let mut tx = Transaction::new(&shop.client);
        if let Some(token) = token {
            tx = tx.token(token);
        }
        let new = format!("{SECRET}-new-{}", token.unwrap_or_default());
        tx.create(&items, Product::new(&new, 1));
        tx.update(&items, changed(read("a").await, |product| product.stock += 1));
        tx.update(&items, read("b").await);
        tx.replace(&items, changed(read("c").await, |product| product.note = Some(SECRET.to_owned())));
        tx.check(&items, &read("d").await);
        tx.when(&items, "s3cret-d", Product::ATTR.sku.ne("s3cret"));
        tx.check_absent(&items, "s3cret-nobody");
        tx.patch(&items, "s3cret-e").add(Product::ATTR.stock, 1).when(Product::ATTR.stock.ge(1));
        commits(&shop, tx).await;
    }
    let mut tx = Transaction::new(&shop.client);
    tx.delete(&items, read("a").await);
    tx.check_exists(&items, "s3cret-b");
    commits(&shop, tx).await;
}

#[tokio::test(start_paused = true)]
async fn the_condition_of_a_guard_and_the_row_of_a_lease_are_explained() {
    let (shop, Table { items, .. }) = products().await;
    let archives = shop.table_of([Archive::new(SECRET, 1), Archive::new("s3cret-2", 1)]).await.items;
    let (locks, _) = shop.locks().await;
    let (lock, lease) = (locks.acquire("nightly").await.unwrap(), archives.lock(SECRET).await.unwrap());
    let mut tx = Transaction::new(&shop.client);
    tx.guard(&lock);
    tx.guard(&lease);
    tx.patch(&items, "s3cret-a").add(Product::ATTR.stock, 1);
    let other = archives.get("s3cret-2").await.unwrap().unwrap();
    tx.update(&archives, changed(other, |archive| archive.items += 1));
    commits(&shop, tx).await;
    kill(lease);
    kill(lock);
}

#[tokio::test]
async fn a_value_with_an_etag_is_explained_by_its_read() {
    let (shop, Table { items, .. }) = products().await;
    let stored = items.get("s3cret-a").await.unwrap().unwrap();
    let mut tx = Transaction::new(&shop.client);
    tx.update(&items, Stored::assume(Product::new("s3cret-a", 9), stored.etag()));
    tx.check_exists(&items, "s3cret-b");
    commits(&shop, tx).await;
}

#[tokio::test]
async fn an_explained_transaction_can_be_changed() {
    let (shop, Table { items, .. }) = products().await;
    let mut tx = Transaction::new(&shop.client);
    let stored = items.get("s3cret-a").await.unwrap().unwrap();
    let first = tx.update(&items, changed(stored, |product| product.stock = 6));
    assert_eq!(tx.explain().unwrap().requests()[0].actions().len(), 1);
    let stored = items.get("s3cret-b").await.unwrap().unwrap();
    let second = tx.update(&items, changed(stored, |product| product.stock = 7));
    assert_eq!(tx.explain().unwrap().requests()[0].actions().len(), 2);
    let done = tx.commit().await.unwrap();
    assert_eq!([first, second].map(|op| done.get(op).unwrap().stock), [6, 7]);
}

#[tokio::test]
async fn reads_in_a_transaction_are_explained() {
    let (shop, Table { items, .. }) = products().await;
    let accounts = shop.table_of([Account::new("s3cret-owner", 1)]).await.items;
    let mut get = Transaction::get(&shop.client);
    let _a = get.item(&items, "s3cret-a");
    let _same = get.item(&items, "s3cret-a");
    let _owner = get.item(&accounts, "s3cret-owner");
    let before = shop.requests();
    let explained = get.explain().unwrap();
    assert_eq!((shop.requests(), explained.requests()[0].actions().len()), (before, 2));
    sends_explained(&shop, &explained, get.fetch()).await;
}

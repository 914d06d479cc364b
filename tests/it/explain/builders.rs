//! Each builder sends what it has explained.

use std::future::IntoFuture;

use dynalock::{Error, Repository, Stored, Transaction, request::Explained};

use super::wire::{SECRET, is_sent, sends, sends_explained};
use crate::support::{Basket, Order, Product, Shop, Table, changed};

/// Makes a product whose key and note are secret.
async fn products() -> (Shop, Table<Product>, Stored<Product>) {
    let shop = Shop::without_faults();
    let (table, stored) = shop.created(Product { note: Some(SECRET.to_owned()), ..Product::new(SECRET, 5) }).await;
    (shop, table, stored)
}

#[tokio::test]
async fn reads_of_items_send_what_they_explain() {
    let (shop, Table { items, .. }, _) = products().await;
    sends(&shop, items.get(SECRET), |call| call.explain()).await;
    sends(&shop, items.get(SECRET).eventually_consistent(), |call| call.explain()).await;
    // A key that is given twice is read once.
    sends(&shop, items.get_many([SECRET, "b", SECRET]), |call| call.explain()).await;
    let many = (0..250).map(|number| format!("{SECRET}-{number}"));
    sends(&shop, items.get_many(many), |call| call.explain()).await;
}

#[tokio::test]
async fn writes_of_a_value_send_what_they_explain() {
    let in_stock = Product::ATTR.stock.ge(1);
    let new = Product { note: Some(SECRET.to_owned()), ..Product::new("s3cret-2", 1) };
    let edit = |stored: Stored<Product>| {
        changed(stored, |product| {
            product.stock += 1;
            product.note = None;
        })
    };
    let (shop, Table { items, .. }, stored) = products().await;
    sends(&shop, items.create(new.clone()), |call| call.explain()).await;
    sends(&shop, items.create(Product { sku: "s3cret-3".to_owned(), ..new }).exactly_once(), |call| call.explain())
        .await;
    sends(&shop, items.update(edit(stored)), |call| call.explain()).await;
    let stored = items.get(SECRET).await.unwrap().unwrap();
    sends(&shop, items.update(edit(stored)).when(in_stock.clone()).exactly_once(), |call| call.explain()).await;
    let stored = items.get(SECRET).await.unwrap().unwrap();
    sends(&shop, items.update(stored.clone()).when(in_stock.clone()), |call| call.explain()).await;
    sends(&shop, items.touch(stored), |call| call.explain()).await;
    let stored = items.get(SECRET).await.unwrap().unwrap();
    sends(&shop, items.replace(edit(stored)), |call| call.explain()).await;
    let stored = items.get(SECRET).await.unwrap().unwrap();
    sends(&shop, items.delete(stored).when(in_stock.clone()), |call| call.explain()).await;
    sends(&shop, items.delete_unchecked("s3cret-2").when(in_stock), |call| call.explain()).await;
    sends(&shop, items.delete_unchecked("s3cret-2"), |call| call.explain()).await;
}

#[tokio::test]
async fn writes_of_many_values_send_what_they_explain() {
    let (shop, Table { items, .. }, stored) = products().await;
    let together = |each: Vec<dynalock::Result<Explained>>| each.into_iter().map(Result::unwrap).collect::<Vec<_>>();
    let new = ["s3cret-2", "s3cret-3"].map(|sku| Product::new(sku, 1));
    let create = items.create_many(new).exactly_once().concurrency(1);
    sends_each(&shop, &together(create.explain()), create).await;
    let update = items.update_many([changed(stored, |product| product.stock += 1)]);
    sends_each(&shop, &together(update.explain()), update).await;
    let delete = items.delete_many(items.scan().collect().await.unwrap()).concurrency(1);
    sends_each(&shop, &together(delete.explain()), delete).await;
}

/// Asserts that a call for many items sends the explained requests of each item.
async fn sends_each<O>(shop: &Shop, each: &[Explained], call: impl IntoFuture<Output = Vec<dynalock::Result<O>>>) {
    let before = shop.requests();
    assert!(call.await.iter().all(Result::is_ok));
    let sent = shop.faults.requests().split_off(before);
    assert_eq!(sent.len(), each.len());
    for (explained, request) in each.iter().zip(&sent) {
        is_sent(explained, std::slice::from_ref(request));
    }
}

#[test]
fn an_explanation_needs_no_runtime() {
    let client = Shop::without_faults().client;
    let items = Repository::<Product>::new(&client);
    let mut tx = Transaction::new(&client);
    tx.create(&items, Product::new("a", 1));
    let patch = items.patch("a").add(Product::ATTR.stock, 1);
    let all = [items.get("a").explain(), patch.explain(), items.query("a").explain(), tx.explain()];
    let operations = all.map(|explained| explained.unwrap().requests()[0].operation());
    assert_eq!(operations, ["GetItem", "UpdateItem", "Query", "TransactWriteItems"]);
}

#[tokio::test]
async fn an_update_without_a_change_explains_that_it_sends_nothing() {
    let (shop, Table { items, .. }, stored) = products().await;
    let explained = items.update(stored.clone()).explain().unwrap();
    assert_eq!((explained.to_string(), explained.requests().len()), ("no request".to_owned(), 0));
    let before = shop.requests();
    items.update(stored).await.unwrap();
    assert_eq!(shop.requests(), before);
}

#[tokio::test]
async fn a_write_of_an_assumed_value_explains_its_read() {
    let (shop, Table { items, .. }, stored) = products().await;
    let assumed =
        |stored: &Stored<Product>| Stored::assume(Product { stock: 9, ..stored.clone().into_inner() }, stored.etag());
    sends(&shop, items.update(assumed(&stored)), |call| call.explain()).await;
    let stored = items.get(SECRET).await.unwrap().unwrap();
    sends(&shop, items.delete(assumed(&stored)), |call| call.explain()).await;
}

#[tokio::test]
async fn an_update_that_must_put_the_whole_item_explains_its_read() {
    #[derive(Debug, Clone, serde::Serialize, serde::Deserialize, dynalock::Versioned)]
    #[dynalock(table = "wide")]
    struct Wide {
        #[dynalock(partition_key)]
        id: String,
        #[serde(flatten)]
        rest: std::collections::BTreeMap<String, u32>,
    }
    let rest = (0..600).map(|number| (format!("attribute_{number}"), number)).collect();
    let shop = Shop::without_faults();
    let (table, stored) = shop.created(Wide { id: SECRET.to_owned(), rest }).await;
    let edited = changed(stored, |wide| wide.rest.values_mut().for_each(|number| *number += 1));
    sends(&shop, table.items.update(edited), |call| call.explain()).await;
}

#[tokio::test]
async fn patches_send_what_they_explain() {
    let shop = Shop::without_faults();
    let (Table { items, .. }, _) =
        shop.created(Basket { prices: [(SECRET.to_owned(), 3)].into(), ..Basket::new(SECRET) }).await;
    let a = Basket::ATTR;
    let patch = || items.patch(SECRET).add(a.count, 2).set(a.title, "s3cret").append(a.history, ["s3cret".to_owned()]);
    sends(&shop, patch().when(a.count.ge(1)), |call| call.explain()).await;
    sends(&shop, patch().set(a.prices.key(SECRET), 7).remove(a.note), |call| call.explain()).await;
    sends(&shop, patch().exactly_once(), |call| call.explain()).await;
}

#[tokio::test]
async fn closures_on_a_stored_value_send_what_they_explain() {
    let (shop, Table { items, .. }, stored) = products().await;
    let add = |product: &mut Product| product.stock += 1;
    let try_add = |product: &mut Product| {
        product.stock += 1;
        Ok::<_, Error>(())
    };
    let init = || Product { note: Some(SECRET.to_owned()), ..Product::new("s3cret-2", 0) };
    sends(&shop, items.update_with(SECRET, add), |call| call.explain_on(&stored)).await;
    let stored = items.get(SECRET).await.unwrap().unwrap();
    sends(&shop, items.try_update_with(SECRET, try_add), |call| call.explain_on(&stored)).await;
    let stored = items.get(SECRET).await.unwrap().unwrap();
    sends(&shop, items.upsert_with(SECRET, init, add), |call| call.explain_on(Some(&stored))).await;
    let stored = items.get(SECRET).await.unwrap().unwrap();
    sends(&shop, items.update_with(SECRET, |_| ()), |call| call.explain_on(&stored)).await;
    sends(&shop, items.update_with(SECRET, add).exactly_once(), |call| call.explain_on(&stored)).await;
    sends(&shop, items.upsert_with("s3cret-2", init, add), |call| call.explain_on(None)).await;
    let new = items.get("s3cret-2").await.unwrap().unwrap();
    let assumed = Stored::assume(new.clone().into_inner(), new.etag());
    sends(&shop, items.update_with("s3cret-2", add), |call| call.explain_on(&assumed)).await;
}

#[tokio::test]
async fn explain_on_changes_neither_the_value_nor_the_item() {
    let (_, Table { items, .. }, stored) = products().await;
    let before = stored.clone();
    items.update_with(SECRET, |product| product.stock += 1).explain_on(&stored).unwrap();
    assert_eq!((stored.stock, items.get(SECRET).await.unwrap().unwrap().stock), (before.stock, before.stock));
}

#[tokio::test]
async fn queries_and_scans_send_what_they_explain() {
    let shop = Shop::without_faults();
    let orders = (1..=5).map(|number| Order::new(SECRET, number, 100));
    let Table { items, .. } = shop.table_of(orders).await;
    let dear = Order::ATTR.cents.ge(50);
    for query in [
        items.query(SECRET),
        items.query(SECRET).sort(2..).descending().eventually_consistent(),
        items.query(SECRET).sort(2..=4).filter(dear.clone()),
    ] {
        assert_eq!(query.explain().unwrap().requests()[0].operation(), "Query");
        sends_explained(&shop, &query.explain().unwrap(), query.clone().collect()).await;
        sends_explained(&shop, &query.explain_count().unwrap(), query.clone().count()).await;
        sends_explained(&shop, &query.explain().unwrap(), query.clone().page(None)).await;
        let first = query.limit(1);
        sends_explained(&shop, &first.explain().unwrap(), first.first()).await;
    }
    let scan = items.scan().filter(dear);
    sends_explained(&shop, &scan.explain().unwrap(), scan.clone().collect()).await;
    sends_explained(&shop, &scan.explain_count().unwrap(), scan.clone().count()).await;
    let segments = scan.segments(3).eventually_consistent();
    sends_explained(&shop, &segments.explain().unwrap(), segments.collect()).await;
}

#[tokio::test]
async fn a_query_without_a_possible_item_explains_that_it_sends_nothing() {
    let (_, Table { items, .. }) = Shop::with_items([Order::new("alice", 1, 5)]).await;
    let (from, to) = (9, 7);
    let empty = [items.query("alice").sort(from..=to), items.query("alice").limit(0)];
    assert_eq!(empty.map(|query| query.explain().unwrap().to_string()), ["no request", "no request"]);
}

//! A create over an expired item respects and keeps its lease.

use std::collections::BTreeMap;

use dynalock::{Error, Lockable, Repository, Versioned, private::ClockAhead as _};
use serde::{Deserialize, Serialize};

use super::{now, table_of};
use crate::support::{Shop, Table, changed, expect_error};

cases![
    a_held_lease_in_the_item_refuses_the_create,
    a_held_lease_in_a_row_refuses_the_create,
    the_fence_of_an_ended_lease_stays,
    the_fence_of_a_lease_in_a_row_stays,
    a_create_takes_an_expired_lease_along,
    a_large_item_with_a_lease_is_written_over,
    a_lease_on_an_expired_item_is_granted,
    a_holder_patches_its_expired_item,
    a_transaction_does_not_repeat_a_create_that_a_lease_refuses,
];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "carts")]
#[lockable(ttl = "30s")]
struct Cart {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(expires)]
    until: i64,
    #[dynalock(created_at)]
    created: u64,
    #[serde(flatten)]
    lines: BTreeMap<String, i64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "baskets")]
#[lockable(ttl = "30s", separate)]
struct Basket {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(expires)]
    until: u64,
}

impl Cart {
    fn of(until: u64, lines: i64) -> Self {
        let lines = (0..lines).map(|number| (format!("line{number:04}"), number)).collect();
        Self { id: "a".to_owned(), until: until.try_into().unwrap(), created: 0, lines }
    }
}

impl Basket {
    fn of(until: u64) -> Self {
        Self { id: "a".to_owned(), until }
    }
}

/// A table with an item that has expired while a caller holds its lease.
async fn leased<T: Lockable>(shop: &Shop, alive: T, expire: fn(&mut T)) -> (Table<T>, dynalock::LeaseGuard<T>)
where
    for<'a> T::Key: From<&'a str>,
{
    let table = table_of(shop, [alive]).await;
    let mut held = table.others.lock(T::Key::from("a")).owner("ann").await.unwrap();
    held.update(expire).await.unwrap();
    (table, held)
}

fn over_cart(cart: &mut Cart) {
    cart.until = i64::try_from(now() - 100).unwrap();
}

fn over_basket(basket: &mut Basket) {
    basket.until = now() - 100;
}

async fn refused<T: Versioned + std::fmt::Debug>(items: &Repository<T>, value: T) {
    let held = expect_error!(items.create(value).await, Error::Locked(held) => held);
    assert_eq!(&*held.owner, "ann");
}

async fn a_held_lease_in_the_item_refuses_the_create(shop: &Shop) {
    let (table, held) = leased(shop, Cart::of(now() + 60, 2), over_cart).await;
    refused(&table.items, Cart::of(now() + 60, 1)).await;
    held.release().await.unwrap();
    assert_eq!(table.items.create(Cart::of(now() + 60, 1)).await.unwrap().version(), 1);
}

async fn a_held_lease_in_a_row_refuses_the_create(shop: &Shop) {
    let (table, held) = leased(shop, Basket::of(now() + 60), over_basket).await;
    refused(&table.items, Basket::of(now() + 60)).await;
    held.release().await.unwrap();
    assert_eq!(table.items.create(Basket::of(now() + 60)).await.unwrap().version(), 1);
}

async fn the_fence_of_an_ended_lease_stays(shop: &Shop) {
    let (table, held) = leased(shop, Cart::of(now() + 60, 3), over_cart).await;
    let fence = held.fence();
    held.release().await.unwrap();
    let stored = table.raw.get("a").await.unwrap();
    let created = table.items.create(Cart::of(now() + 60, 1)).await.unwrap();
    let after = table.raw.get("a").await.unwrap();
    assert_eq!((after["_fence"].clone(), after.get("line0001")), (stored["_fence"].clone(), None));
    assert_eq!(table.items.get("a").await.unwrap(), Some(created.clone()));
    assert!(created.created > 0 && created.lines.len() == 1, "{created:?}");
    let again = table.items.lock("a").await.unwrap();
    assert_eq!(again.fence(), fence + 1);
}

async fn the_fence_of_a_lease_in_a_row_stays(shop: &Shop) {
    let (table, held) = leased(shop, Basket::of(now() + 60), over_basket).await;
    let fence = held.fence();
    held.release().await.unwrap();
    table.items.create(Basket::of(now() + 60)).await.unwrap();
    assert_eq!(table.items.lock("a").await.unwrap().fence(), fence + 1);
}

async fn a_create_takes_an_expired_lease_along(shop: &Shop) {
    let (table, held) = leased(shop, Cart::of(now() + 60, 2), over_cart).await;
    let fence = held.fence();
    let _token = held.detach();
    let later = table.items.clone().clock_ahead_by_millis(60_000);
    let created = later.create(Cart::of(now() + 600, 1)).await.unwrap();
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((created.version(), stored.get("_owner")), (1, None));
    assert_eq!(stored["_fence"].as_n().unwrap(), &fence.to_string());
}

async fn a_lease_on_an_expired_item_is_granted(shop: &Shop) {
    let (table, held) = leased(shop, Cart::of(now() + 60, 2), over_cart).await;
    held.release().await.unwrap();
    assert_eq!(table.items.get("a").await.unwrap(), None);
    let held = table.items.lock("a").await.unwrap();
    let revived = held.commit(|cart| cart.until = i64::try_from(now() + 60).unwrap()).await.unwrap();
    assert_eq!(table.items.get("a").await.unwrap(), Some(revived));
}

async fn a_large_item_with_a_lease_is_written_over(shop: &Shop) {
    let (table, held) = leased(shop, Cart::of(now() + 60, 2), over_cart).await;
    let fence = held.fence();
    held.release().await.unwrap();
    let created = table.items.create(Cart::of(now() + 60, 900)).await.unwrap();
    assert_eq!((created.version(), created.lines.len()), (1, 900));
    assert_eq!(table.items.get("a").await.unwrap(), Some(created.clone()));
    assert_eq!(table.raw.get("a").await.unwrap()["_fence"].as_n().unwrap(), &fence.to_string());
    let next = table.items.update(changed(created, |it| it.lines.insert("new".to_owned(), 1))).await.unwrap();
    assert_eq!(next.version(), 2);
}

async fn a_holder_patches_its_expired_item(shop: &Shop) {
    let (table, mut held) = leased(shop, Cart::of(now() + 60, 2), over_cart).await;
    expect_error!(table.items.patch("a").set(Cart::ATTR.until, 0).await, Error::Locked(_));
    let until = i64::try_from(now() + 60).unwrap();
    held.patch().set(Cart::ATTR.until, until).await.unwrap();
    assert_eq!(held.until, until);
    held.release().await.unwrap();
    let (_, mut held) = leased(shop, Basket::of(now() + 60), over_basket).await;
    held.patch().set(Basket::ATTR.until, now() + 60).await.unwrap();
    held.release().await.unwrap();
}

async fn a_transaction_does_not_repeat_a_create_that_a_lease_refuses(shop: &Shop) {
    let (table, held) = leased(shop, Cart::of(now() + 60, 2), over_cart).await;
    let mut tx = dynalock::Transaction::new(&shop.client);
    tx.create(&table.items, Cart::of(now() + 60, 1));
    expect_error!(tx.commit().await, Error::Locked(_));
    assert!(shop.counts(["TransactWriteItems"])[0] <= 2, "{:?}", shop.counts(["TransactWriteItems"]));
    held.release().await.unwrap();
}

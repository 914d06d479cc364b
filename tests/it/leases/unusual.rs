//! Rare cases of leases.

use std::time::Duration;

use dynalock::{Error, Transaction, Versioned, local::Fault};
use serde::{Deserialize, Serialize};

use crate::support::{Crate, Refused, Shop, changed, commit, commit_under, expect_error, millis, n, s, secs, travel};

#[tokio::test(start_paused = true)]
async fn a_commit_that_finds_its_change_made_releases() {
    let (shop, table) = Shop::with_items([Crate::new("a", 5)]).await;
    let lease = table.items.lock("a").await.unwrap();
    let read = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.items = 4);
    commit_under(&lease, &shop.client, |tx| tx.update(&table.items, read)).await.unwrap();
    let stored = lease.commit(|it| it.items = 4).await.unwrap();
    assert_eq!((stored.items, stored.version()), (4, 2));
    table.others.update_with("a", |it| it.items += 1).await.unwrap();
}

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "customers")]
#[lockable]
struct Customer {
    #[dynalock(partition_key)]
    id: String,
    limit: i64,
    /// Another program writes this item.
    #[serde(skip_serializing, default)]
    credit: i64,
}

#[tokio::test(start_paused = true)]
async fn a_change_starts_from_what_is_stored_and_not_from_what_serde_writes() {
    let (_, table) = Shop::with_items([Customer { id: "a".to_owned(), limit: 0, credit: 0 }]).await;
    table.raw.set("a", "credit", n(700)).await;
    let mut lease = table.items.lock("a").await.unwrap();
    lease.update(|it| it.limit = it.credit * 2).await.unwrap();
    lease.update(|it| it.limit += it.credit).await.unwrap();
    assert_eq!(lease.commit(|it| it.limit += it.credit).await.unwrap().limit, 2_800);
    assert_eq!(table.raw.get("a").await.unwrap()["credit"], n(700));
}

#[tokio::test(start_paused = true)]
async fn a_transaction_of_leased_types_can_be_made_again_under_its_token() {
    let (shop, table) = Shop::with_table::<Crate>().await;
    let stored = table.others.create(Crate::new("a", 5)).await.unwrap();
    for _ in 0..3 {
        let stored = changed(stored.clone(), |it| it.items = 4);
        let mut tx = Transaction::new(&shop.client).token("once");
        tx.update(&table.items, stored);
        tx.create(&table.items, Crate::new("b", 1));
        tx.commit().await.unwrap();
        travel(secs(60)).await;
    }
    assert_eq!(table.others.get("a").await.unwrap().unwrap().version(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_create_over_a_leased_item_says_that_it_exists() {
    let (shop, table) = Shop::with_items([Crate::new("a", 5)]).await;
    let _lease = table.items.lock("a").await.unwrap();
    let conflict = expect_error!(table.others.create(Crate::new("a", 6)).await, Error::AlreadyExists(it) => it);
    assert_eq!(conflict.current::<Crate>().unwrap().unwrap().items, 5);
    expect_error!(commit(&shop.plain, |tx| tx.create(&table.others, Crate::new("a", 6))).await, Error::Cancelled(_));
}

#[tokio::test(start_paused = true)]
async fn owners_and_ends_of_other_shapes_are_taken_as_the_conditions_take_them() {
    let (_, table) = Shop::with_items([Crate::new("a", 5)]).await;
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
    table.raw.set("a", "_owner", n(7)).await;
    expect_error!(table.items.update_with("a", |it| it.items += 1).await, Error::Locked(_));
    assert!(table.items.try_lock("a").await.unwrap().is_none());
    table.raw.set("a", "_until", n(format!("{now}.25"))).await;
    travel(secs(3)).await;
    let lease = table.items.lock("a").wait(secs(5)).await.unwrap();
    lease.release().await.unwrap();
    table.raw.set("a", "_owner", s("somebody")).await;
    table.raw.set("a", "_until", s("no number")).await;
    expect_error!(table.items.lock("a").wait(secs(30)).await, Error::Locked(_));
}

#[tokio::test(start_paused = true)]
async fn a_lease_without_an_end_is_a_long_one() {
    let (_, table) = Shop::with_items([Crate::new("a", 5)]).await;
    let lease = table.items.lock("a").ttl(Duration::from_hours(366 * 24)).await.unwrap();
    assert!(lease.remaining() > secs(1_000_000), "{lease:?}");
    lease.commit(|it| it.items = 1).await.unwrap();
    let lease = table.items.lock("a").ttl(millis(200)).await.unwrap();
    lease.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_guard_decides_on_the_stored_value_after_a_write_that_was_dropped() {
    let (shop, table) = Shop::with_items([Crate::new("a", 1)]).await;
    let mut lease = table.items.lock("a").heartbeat(false).await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    shop.rival.before("UpdateItem", 1, std::future::pending);
    tokio::select! {
        ended = lease.update(|it| it.items = 2) => panic!("{ended:?}"),
        () = travel(millis(500)) => {}
    }
    let seen = lease.try_update(|it| Refused::here::<()>(it.items.to_string())).await;
    assert_eq!(seen.unwrap_err().to_string(), "2");
    let stored = lease.commit(|_| ()).await.unwrap();
    assert_eq!((stored.items, stored.version()), (2, 2));
}

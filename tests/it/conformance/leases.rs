//! Leases on items, plain and fair: what the engine makes of their expressions. Time is not waited for: a clock is set forward.

use dynalock::{Error, Versioned, Wait, error::Lost, private::ClockAhead as _};
use serde::{Deserialize, Serialize};

use crate::support::{Shop, Table, expect_error, s};

cases![
    the_holder_writes_and_nobody_else,
    a_dead_lease_is_passed_and_learns_it,
    the_head_of_a_queue_writes_and_nobody_else,
    a_dead_head_is_in_nobodys_way,
];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "crates")]
#[lockable]
struct Crate {
    #[dynalock(partition_key)]
    id: String,
    items: u32,
}

async fn one_crate(shop: &Shop) -> Table<Crate> {
    let table = shop.table::<Crate>().await;
    table.items.create(Crate { id: "a".to_owned(), items: 0 }).await.unwrap();
    table.raw.set("a", "color", s("red")).await;
    table
}

async fn the_holder_writes_and_nobody_else(shop: &Shop) {
    let table = one_crate(shop).await;
    let mut lease = table.items.lock("a").await.unwrap();
    lease.update(|it| it.items += 1).await.unwrap();
    let locked = table.items.update_with("a", |it| it.items += 10).await;
    assert_eq!(&*expect_error!(locked, Error::Locked(locked) => locked).owner, lease.owner());
    table.items.update_with("a", |it| it.items += 100).ignoring_lease().await.unwrap();
    let stored = lease.commit(|it| it.items += 1).await.unwrap();
    assert_eq!((stored.items, stored.version()), (102, 4));
    table.items.update_with("a", |it| it.items += 10).await.unwrap();
    let item = table.raw.get("a").await.unwrap();
    assert_eq!(item["color"], s("red"));
    assert!(!item.contains_key("_owner") && !item.contains_key("_until"), "{item:?}");
}

async fn a_dead_lease_is_passed_and_learns_it(shop: &Shop) {
    let table = one_crate(shop).await;
    let later = table.items.clone().clock_ahead_by_millis(60_000);
    let mut lease = table.items.lock("a").heartbeat(false).await.unwrap();
    later.update_with("a", |it| it.items += 10).await.unwrap();
    expect_error!(lease.update(|it| it.items += 1).await, Error::Lost(Lost::Expired));
    assert_eq!(table.items.get("a").await.unwrap().unwrap().items, 10);
}

async fn the_head_of_a_queue_writes_and_nobody_else(shop: &Shop) {
    let table = one_crate(shop).await;
    let mut lease = table.items.lock("a").fair().await.unwrap();
    lease.update(|it| it.items += 1).await.unwrap();
    lease.update(|it| it.items += 1).await.unwrap();
    expect_error!(table.items.update_with("a", |it| it.items += 10).await, Error::Locked(_));
    assert!(table.items.try_lock("a").await.unwrap().is_none());
    let queued = table.items.lock("a").wait(Wait::Forever).fair().enter().await.unwrap();
    assert_eq!(queued.position(), 1);
    let mut transaction = dynalock::Transaction::new(&shop.client);
    let stored = table.items.get("a").await.unwrap().unwrap();
    transaction.delete(&table.items, stored);
    expect_error!(transaction.commit().await, Error::Locked(_));
    let stored = lease.commit(|it| it.items += 1).await.unwrap();
    assert_eq!((stored.items, stored.version()), (3, 4));
    expect_error!(table.items.update_with("a", |it| it.items += 10).await, Error::Locked(_));
    let next = queued.await.unwrap();
    assert_eq!(*next, Crate { id: "a".to_owned(), items: 3 });
    next.release().await.unwrap();
    table.items.update_with("a", |it| it.items += 10).await.unwrap();
    assert_eq!(table.raw.get("a").await.unwrap()["color"], s("red"));
}

async fn a_dead_head_is_in_nobodys_way(shop: &Shop) {
    let table = one_crate(shop).await;
    let later = table.items.clone().clock_ahead_by_millis(60_000);
    let mut lease = table.items.lock("a").heartbeat(false).fair().await.unwrap();
    later.update_with("a", |it| it.items += 10).await.unwrap();
    expect_error!(lease.update(|it| it.items += 1).await, Error::Lost(Lost::Expired));
    let _dead = table.items.lock("a").heartbeat(false).fair().await.unwrap();
    let mut transaction = dynalock::Transaction::new(&shop.client);
    let stored = later.get("a").await.unwrap().unwrap();
    // Whoever has taken the first one out has noted the time.
    transaction.delete(&later.clone().clock_ahead_by_millis(120_000), stored);
    transaction.commit().await.unwrap();
    assert_eq!(table.items.get("a").await.unwrap(), None);
}

//! Leases on items, plain and fair: what the engine makes of their expressions. Time is not waited for: a clock is set forward.

use crate::support::{Parcel, Shop, Table, expect_error, s};
use dynalock::{Error, Wait, error::Lost, private::ClockAhead as _};

cases![
    only_the_holder_writes,
    an_expired_lease_refuses_no_write_and_its_holder_learns_of_the_loss,
    only_the_head_of_a_queue_writes,
    an_expired_head_refuses_no_write,
];

async fn one_crate(shop: &Shop) -> Table<Parcel> {
    let (table, _) = shop.created(Parcel::new("a", 0)).await;
    table.raw.set("a", "color", s("red")).await;
    table
}

async fn only_the_holder_writes(shop: &Shop) {
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

async fn an_expired_lease_refuses_no_write_and_its_holder_learns_of_the_loss(shop: &Shop) {
    let table = one_crate(shop).await;
    let later = table.items.clone().clock_ahead_by_millis(60_000);
    let mut lease = table.items.lock("a").heartbeat(false).await.unwrap();
    later.update_with("a", |it| it.items += 10).await.unwrap();
    expect_error!(lease.update(|it| it.items += 1).await, Error::Lost(Lost::Expired));
    assert_eq!(table.items.get("a").await.unwrap().unwrap().items, 10);
}

async fn only_the_head_of_a_queue_writes(shop: &Shop) {
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
    assert_eq!(*next, Parcel::new("a", 3));
    next.release().await.unwrap();
    table.items.update_with("a", |it| it.items += 10).await.unwrap();
    assert_eq!(table.raw.get("a").await.unwrap()["color"], s("red"));
}

async fn an_expired_head_refuses_no_write(shop: &Shop) {
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

//! Leases on items, plain and fair, in the item and in a separate row: the effect of their
//! expressions on the engine. The tests do not wait for the end of a lease, but set a clock
//! forward.

use serde::{Deserialize, Serialize};

use crate::support::{Digest, Parcel, Shop, Table, b, commit, commit_under, expect_error, s, stolen_by};
use dynalock::{Error, Expiry, Transaction, Versioned, Wait, error::Lost, private::ClockAhead as _};

cases![
    only_the_holder_writes,
    an_expired_lease_refuses_no_write_and_its_holder_learns_of_the_loss,
    only_the_head_of_a_queue_writes,
    an_expired_head_refuses_no_write,
    a_separate_lease_refuses_every_other_writer,
    a_write_removes_an_expired_separate_lease,
    a_guard_and_a_write_of_its_item_check_the_lease_row_once,
    a_delete_asks_for_a_lease_without_its_end,
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
    // The caller that removed the first entry has stored the time.
    transaction.delete(&later.clone().clock_ahead_by_millis(120_000), stored);
    transaction.commit().await.unwrap();
    assert_eq!(table.items.get("a").await.unwrap(), None);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "scans")]
#[lockable(separate)]
struct Scan {
    #[dynalock(partition_key)]
    digest: Digest,
    pages: u32,
}

impl Scan {
    fn new(name: &[u8], pages: u32) -> Self {
        Self { digest: Digest(name.to_vec()), pages }
    }
}

fn key(name: &[u8]) -> ScanKey {
    Digest(name.to_vec()).into()
}

async fn a_separate_lease_refuses_every_other_writer(shop: &Shop) {
    let table = shop.table::<Scan>().await;
    let (items, others) = (&table.items, &table.others);
    let stored = items.create(Scan::new(b"a", 5)).await.unwrap();
    let mut lease = items.lock(key(b"a")).heartbeat(false).await.unwrap();
    lease.extend().await.unwrap();
    expect_error!(others.update_with(key(b"a"), |it| it.pages = 0).await, Error::Locked(_));
    expect_error!(others.replace(stored.clone()).await, Error::Locked(_));
    expect_error!(others.delete(stored.clone()).await, Error::Locked(_));
    expect_error!(others.create(stored.clone().into_inner()).await, Error::Locked(_));
    assert!(others.try_lock(key(b"a")).await.unwrap().is_none());
    lease.update(|it| it.pages -= 1).await.unwrap();
    let stored = lease.commit(|it| it.pages -= 1).await.unwrap();
    let row = table.raw.get_by([("digest", b(*b"a#lock"))]).await.unwrap();
    assert!(!row.contains_key("_owner") && row.contains_key("_released"), "{row:?}");
    let stored = others.replace(stored).await.unwrap();
    assert_eq!((stored.pages, stored.version()), (3, 4));
    others.delete(stored).await.unwrap();
    others.create(Scan::new(b"a", 1)).await.unwrap();
}

async fn a_write_removes_an_expired_separate_lease(shop: &Shop) {
    let table = shop.table::<Scan>().await;
    table.items.create(Scan::new(b"a", 5)).await.unwrap();
    let dead = table.items.lock(key(b"a")).heartbeat(false).await.unwrap();
    let late = table.others.clone().clock_ahead_by_millis(60_000);
    late.update_with(key(b"a"), |it| it.pages += 1).await.unwrap();
    expect_error!(dead.extend().await, Error::Lost(Lost::Expired));
    let dead = table.items.lock(key(b"a")).heartbeat(false).await.unwrap();
    let stored = late.get(key(b"a")).await.unwrap().unwrap();
    commit(&shop.plain, |tx| tx.delete(&late, stored)).await.unwrap();
    expect_error!(dead.commit(|it| it.pages = 0).await, Error::Lost(Lost::Expired));
}

async fn a_guard_and_a_write_of_its_item_check_the_lease_row_once(shop: &Shop) {
    let (table, mut stored) = shop.created(Scan::new(b"a", 5)).await;
    let lease = table.items.lock(key(b"a")).heartbeat(false).await.unwrap();
    stored.pages = 6;
    let mut tx = Transaction::new(&shop.client);
    tx.guard(&lease);
    let update = tx.update(&table.items, stored);
    tx.create(&table.items, Scan::new(b"b", 1));
    let stored = tx.commit().await.unwrap().get(update).unwrap();
    assert_eq!((stored.pages, shop.actions().len()), (6, 4));
    let next = table.others.clone().clock_ahead_by_millis(60_000).lock(key(b"a")).await.unwrap();
    let lost = expect_error!(commit_under(&lease, &shop.client, |tx| tx.replace(&table.items, stored)).await, Error::Lost(lost) => lost);
    assert_eq!(stolen_by(&lost), (next.owner(), next.fence()));
    next.release().await.unwrap();
}

async fn a_delete_asks_for_a_lease_without_its_end(shop: &Shop) {
    let table = shop.table::<Parcel>().await;
    let observing = table.items.clone().expiry(Expiry::Observed);
    let stored = observing.create(Parcel::new("a", 1)).await.unwrap();
    let lease = table.others.lock("a").await.unwrap();
    expect_error!(observing.delete(stored.clone()).await, Error::Locked(_));
    lease.release().await.unwrap();
    observing.delete(stored).await.unwrap();
    assert_eq!(table.raw.get("a").await, None);
}

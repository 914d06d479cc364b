//! Queues of items: while a queue has an entry, DynamoDB refuses the writes of all other callers.

use dynalock::{Error, Versioned, Wait, error::Lost};
use serde::{Deserialize, Serialize};

use crate::support::{
    Parcel, SKEW, Shop, TTL, commit_under, expect_error, item, kept::WRITES, kept::nobody_writes, kept::write_by, kill,
    millis, n, s, secs, stolen_by, travel,
};

/// An item with its own attribute names, and with seconds as the unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "jobs")]
#[lockable(ttl = "10s", queue = "line", turn = "since", until = "lockTime", unit = "seconds")]
struct Job {
    #[dynalock(partition_key)]
    id: String,
    runs: u32,
}

#[tokio::test(start_paused = true)]
async fn other_callers_write_nothing_while_the_queue_has_an_entry() {
    let (shop, table) = Shop::with_two::<Parcel>().await;
    let lease = table.items.lock("a").fair().await.unwrap();
    nobody_writes(&shop, &table.others).await;
    let queued = table.items.lock("a").fair().enter().await.unwrap();
    travel(secs(1)).await;
    // The next caller does not know yet that it is the head.
    lease.release().await.unwrap();
    nobody_writes(&shop, &table.others).await;
    let lease = queued.await.unwrap();
    nobody_writes(&shop, &table.others).await;
    lease.release().await.unwrap();
    assert_eq!(table.others.update_with("a", |it| it.items += 1).await.unwrap().version(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_commit_of_the_head_grants_the_lease_to_the_next_waiter() {
    let (shop, table) = Shop::with_two::<Parcel>().await;
    table.raw.set("a", "foreign", s("keep")).await;
    let mut lease = table.items.lock("a").fair().owner("packer").heartbeat(false).await.unwrap();
    let queued = table.others.lock("a").fair().wait(Wait::Forever).enter().await.unwrap();
    lease.update(|it| it.items -= 1).await.unwrap();
    let refused = lease.try_update(|_| Err::<(), _>(Error::ForeignHandle)).await;
    expect_error!(refused, Error::ForeignHandle);
    for _ in 0..3 {
        travel(secs(8)).await;
        lease.update(|it| it.items += 1).await.unwrap();
        assert!(lease.remaining() > secs(9), "{lease:?}");
    }
    let (fence, before) = (lease.fence(), shop.requests());
    let stored = lease.commit(|it| it.items = 70).await.unwrap();
    assert_eq!((shop.requests() - before, stored.items, stored.version()), (1, 70, 6));
    let next = queued.await.unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash(), next.items), (fence + 1, None, 70));
    assert_eq!(next.commit(|it| it.items = 71).await.unwrap().version(), 7);
    let row = table.raw.get("a").await.unwrap();
    assert_eq!((&row["foreign"], &row["_fence"], &row["items"]), (&s("keep"), &n(fence + 1), &n(71)));
    assert!(!row.contains_key("_until"), "{row:?}");
}

#[tokio::test(start_paused = true)]
async fn an_evicted_head_writes_nothing() {
    let (shop, table) = Shop::with_two::<Parcel>().await;
    let mut paused = table.items.lock("a").fair().heartbeat(false).await.unwrap();
    travel(TTL + SKEW + millis(10)).await;
    let next = table.others.lock("a").fair().await.unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (paused.fence() + 1, Some(paused.fence())));
    expect_error!(paused.update(|it| it.items = 0).await, Error::Lost(_));
    let b = table.items.get("b").await.unwrap().unwrap();
    let lost = expect_error!(commit_under(&paused, &shop.client, |tx| tx.delete(&table.items, b)).await, Error::Lost(lost) => lost);
    assert_eq!(stolen_by(&lost), (next.owner(), next.fence()));
    let b = table.items.get("b").await.unwrap().unwrap();
    commit_under(&next, &shop.plain, |tx| tx.delete(&table.others, b)).await.unwrap();
    assert_eq!(table.raw.get("a").await.unwrap()["items"], n(5));
}

#[tokio::test(start_paused = true)]
async fn every_write_passes_an_expired_head_after_the_ttl_and_the_skew() {
    for beats in [0, 1] {
        for kind in WRITES {
            let (shop, table) = Shop::with_two::<Parcel>().await;
            let dead = table.items.lock("a").fair().heartbeat(false).await.unwrap();
            for _ in 0..beats {
                dead.extend().await.unwrap();
            }
            kill(dead);
            travel((TTL + SKEW).saturating_sub(millis(100))).await;
            nobody_writes(&shop, &table.others).await;
            travel(millis(200)).await;
            let items = &table.others;
            write_by(&shop, items, kind).await.unwrap();
            match items.get("a").await.unwrap() {
                Some(stored) => assert_eq!((stored.items, stored.version()), (6, 2), "{kind}"),
                None => assert_eq!(kind, "delete"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn waiters_learn_of_the_delete_and_create_no_item() {
    let (_, table) = Shop::with_two::<Parcel>().await;
    let mut lease = table.items.lock("a").fair().await.unwrap();
    let fence = lease.fence();
    let queued = table.items.lock("a").fair().enter().await.unwrap();
    let behind = tokio::spawn(table.items.lock("a").fair().into_future());
    travel(secs(1)).await;
    let stored = table.others.get("a").await.unwrap().unwrap();
    table.others.delete(stored).ignoring_lease().await.unwrap();
    expect_error!(queued.await, Error::NotFound { .. });
    expect_error!(behind.await.unwrap(), Error::NotFound { .. });
    expect_error!(lease.update(|it| it.items = 0).await, Error::Lost(Lost::Deleted));
    lease.release().await.unwrap();
    expect_error!(table.items.lock("a").fair().await, Error::NotFound { .. });
    travel(secs(60)).await;
    assert_eq!(table.raw.get("a").await, None);
    table.others.create(Parcel::new("a", 1)).await.unwrap();
    let again = table.items.lock("a").fair().await.unwrap();
    assert!(again.fence() > fence, "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn other_names_and_seconds_are_a_queue_like_any_other() {
    let (_, table) = Shop::with_items([Job { id: "a".to_owned(), runs: 0 }]).await;
    let mut lease = table.items.lock("a").fair().heartbeat(false).await.unwrap();
    lease.update(|job| job.runs += 1).await.unwrap();
    let row = table.raw.get("a").await.unwrap();
    let [entry] = &row["line"].as_l().unwrap()[..] else { panic!("{row:?}") };
    assert!(entry.as_s().unwrap().starts_with(&format!("{}/", lease.nonce())), "{row:?}");
    assert_eq!(row["lockTime"].as_n().unwrap().len(), 10, "{row:?}");
    assert!(!row.contains_key("_queue") && !row.contains_key("_turn") && !row.contains_key("_until"), "{row:?}");
    let waiting = tokio::spawn(table.others.lock("a").fair().heartbeat(false).into_future());
    while !lease.remaining().is_zero() {
        assert!(!waiting.is_finished(), "{lease:?}");
        expect_error!(table.others.update_with("a", |job| job.runs += 1).await, Error::Locked(_));
        travel(millis(97)).await;
    }
    let next = waiting.await.unwrap().unwrap();
    assert_eq!((next.runs, next.acquired_after_crash()), (1, Some(lease.fence())));
    let row = table.raw.get("a").await.unwrap();
    assert!(row["since"].as_n().unwrap().len() == 13 && !row.contains_key("_turn"), "{row:?}");
    next.commit(|job| job.runs += 1).await.unwrap();
    table.others.update_with("a", |job| job.runs += 1).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_item_without_a_version_has_a_queue_all_the_same() {
    let (_, table) = Shop::with_two::<Parcel>().await;
    table.raw.put(item([("id", s("c")), ("items", n(3))])).await;
    let first = table.items.lock("c").fair().await.unwrap();
    let queued = table.others.lock("c").fair().enter().await.unwrap();
    expect_error!(table.others.update_with("c", |it| it.items = 0).await, Error::Locked(_));
    let stored = first.commit(|it| it.items += 1).await.unwrap();
    assert_eq!(stored.items, 4);
    let next = queued.await.unwrap();
    assert_eq!(next.items, 4);
    next.release().await.unwrap();
    assert_eq!(table.others.update_with("c", |it| it.items += 1).await.unwrap().items, 5);
}

#[tokio::test(start_paused = true)]
async fn plain_any_and_fair_leases_exclude_each_other() {
    let (_, table) = Shop::with_two::<Parcel>().await;
    let fair = table.items.lock("a").fair().await.unwrap();
    assert_eq!(table.others.lock_any(["a", "b"]).await.unwrap().release().await.unwrap().id, "b");
    expect_error!(table.others.lock_any(["a"]).wait(secs(1)).await, Error::Locked(_));
    expect_error!(table.others.lock("a").wait(secs(1)).await, Error::Locked(_));
    fair.release().await.unwrap();
    for any in [false, true] {
        let plain = match any {
            true => table.others.lock_any(["a"]).await.unwrap(),
            false => table.others.lock("a").await.unwrap(),
        };
        assert!(table.items.try_lock("a").fair().await.unwrap().is_none());
        let waiting = tokio::spawn(table.items.lock("a").fair().into_future());
        travel(secs(1)).await;
        let fence = plain.fence();
        plain.release().await.unwrap();
        let fair = waiting.await.unwrap().unwrap();
        assert_eq!(fair.fence(), fence + 1);
        fair.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_takes_a_fair_lease_to_another_process() {
    let (shop, table) = Shop::with_two::<Parcel>().await;
    let lease = table.items.lock("a").fair().await.unwrap();
    let (fence, owner) = (lease.fence(), lease.owner().to_owned());
    let text = lease.detach().to_string();
    travel(secs(5)).await;
    let mut resumed = table.others.resume(text.parse().unwrap()).await.unwrap();
    assert_eq!((resumed.fence(), resumed.owner()), (fence, &*owner));
    resumed.update(|it| it.items = 6).await.unwrap();
    nobody_writes(&shop, &table.items).await;
    resumed.release().await.unwrap();
    expect_error!(table.items.resume(text.parse().unwrap()).await, Error::Lost(Lost::Expired));
}

use std::time::UNIX_EPOCH;

use aws_sdk_dynamodb::types::AttributeValue;
use dynalock::{Error, Expiry, Versioned};
use serde::{Deserialize, Serialize};

use crate::support::{Shop, Table, expect_error, kill, millis, n, now, s, secs, travel};

/// A table in which another program also locks items, with other attribute names and another unit
/// of time.
#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "jobs")]
#[lockable(ttl = "10s", owner = "lockedBy", until = "lockTime", unit = "seconds")]
struct Job {
    #[dynalock(partition_key)]
    id: String,
    runs: u32,
}

/// Returns a job with these attributes of another program.
async fn job<const N: usize>(attributes: [(&str, AttributeValue); N]) -> (Shop, Table<Job>) {
    let (shop, table) = Shop::with_items([Job { id: "a".to_owned(), runs: 0 }]).await;
    for (name, value) in attributes {
        table.raw.set("a", name, value).await;
    }
    (shop, table)
}

#[tokio::test(start_paused = true)]
async fn a_lock_of_another_program_is_respected_until_it_has_ended() {
    let now = epoch();
    let (_, table) = job([("lockedBy", s("cron-7")), ("lockTime", n(now + 30))]).await;
    let locked =
        expect_error!(table.items.update_with("a", |job| job.runs += 1).await, Error::Locked(locked) => locked);
    assert_eq!(&*locked.owner, "cron-7");
    assert!(locked.remaining > secs(27) && locked.remaining <= secs(33), "{locked:?}");
    assert!(table.items.try_lock("a").await.unwrap().is_none());
    travel(secs(34)).await;
    let lease = table.items.lock("a").await.unwrap();
    assert!(lease.fence() > now, "{lease:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_written_is_in_the_unit_that_the_other_program_reads_and_never_ends_early() {
    let (_, table) = job([("comment", s("keep"))]).await;
    let lease = table.items.lock("a").owner("me").await.unwrap();
    let row = table.raw.get("a").await.unwrap();
    assert_eq!(row["lockedBy"], s(&format!("{}:{}", lease.owner(), lease.nonce())));
    let until: u64 = row["lockTime"].as_n().unwrap().parse().unwrap();
    let now = epoch();
    assert!((now + 9..=now + 12).contains(&until), "{until} {now}");
    lease.extend().await.unwrap();
    lease.commit(|job| job.runs += 1).await.unwrap();
    let row = table.raw.get("a").await.unwrap();
    assert!(!row.contains_key("lockedBy") && !row.contains_key("lockTime"), "{row:?}");
    assert_eq!(row["comment"], s("keep"));
}

/// Returns the current time in whole seconds.
fn epoch() -> u64 {
    UNIX_EPOCH.elapsed().unwrap().as_secs()
}

#[tokio::test(start_paused = true)]
async fn at_every_moment_a_write_is_refused_for_the_lease_or_passes() {
    let (_, table) = job([("lockedBy", s("cron-7")), ("lockTime", n(epoch() + 3))]).await;
    let stored = table.others.get("a").await.unwrap().unwrap();
    let mut refused = 0;
    while let Err(error) = table.items.touch(stored.clone()).await {
        expect_error!(Err::<(), _>(error), Error::Locked(_));
        refused += 1;
        travel(millis(97)).await;
    }
    assert!((50..70).contains(&refused), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_lock_of_another_program_without_beats_is_watched_by_its_end() {
    // An earlier holder may have left a beat.
    for beat in [None, Some(3)] {
        let (_, table) = job([("lockedBy", s("cron-7")), ("lockTime", n(epoch() + 30))]).await;
        if let Some(beat) = beat {
            table.raw.set("a", "_beat", n(beat)).await;
        }
        let start = now();
        let items = table.items.clone().expiry(Expiry::Observed);
        let waiting = tokio::spawn(async move { items.lock("a").heartbeat(false).await.map(|lease| (lease, now())) });
        travel(secs(6)).await;
        table.raw.set("a", "lockTime", n(epoch() + 60)).await;
        let (lease, granted) = waiting.await.unwrap().unwrap();
        let waited = granted.duration_since(start);
        assert!((secs(16)..secs(18)).contains(&waited), "{beat:?}: {waited:?}");
        lease.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_fair_holder_is_alone_where_another_program_has_left_its_end() {
    // One lease ended an hour ago, and the other lease ended a moment ago.
    for ago in [3_600, 3] {
        // The other program has released the lease by the removal of only its owner.
        let (_shop, Table { items, others, .. }) = job([("lockTime", n(epoch() - ago))]).await;
        let mut lease = items.lock("a").fair().heartbeat(false).await.unwrap();
        let locked = expect_error!(others.lock("a").fair().wait(millis(500)).await, Error::Locked(it) => it);
        assert_eq!((&*locked.owner, locked.fence), (lease.owner(), lease.fence()));
        assert!(locked.remaining > secs(8), "{locked:?}");
        assert!(others.try_lock("a").await.unwrap().is_none());
        expect_error!(others.update_with("a", |job| job.runs += 100).await, Error::Locked(_));
        lease.update(|job| job.runs += 1).await.unwrap();
        assert_eq!(lease.commit(|job| job.runs += 1).await.unwrap().runs, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_fair_holder_that_dies_is_taken_out_where_another_program_has_left_its_end() {
    let (_shop, Table { items, others, .. }) = job([("lockTime", n(epoch() - 3_600))]).await;
    let fence = kill(items.lock("a").fair().await.unwrap());
    travel(secs(13)).await;
    let next = others.try_lock("a").await.unwrap().unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 1, Some(fence)));
}

#[tokio::test(start_paused = true)]
async fn an_expired_lock_of_a_program_with_numeric_owners_is_taken_over() {
    for expiry in [Expiry::default(), Expiry::Observed] {
        for is_fair in [false, true] {
            let (shop, table) = job([("lockedBy", n(4711)), ("lockTime", n(epoch() + 5))]).await;
            let items = table.items.clone().expiry(expiry);
            let lease = match is_fair {
                false => items.lock("a").wait(secs(40)).await,
                true => items.lock("a").fair().wait(secs(40)).await,
            };
            let lease = lease.unwrap_or_else(|error| panic!("{expiry:?} {is_fair}: {error}"));
            let [writes] = shop.counts(["UpdateItem"]);
            assert!(writes <= 4, "{expiry:?} {is_fair}: {writes} conditional writes");
            lease.commit(|job| job.runs += 1).await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn any_of_several_expired_locks_of_such_a_program_is_taken_over() {
    let (shop, table) = Shop::with_table::<Job>().await;
    for id in ["a", "b"] {
        table.others.create(Job { id: id.to_owned(), runs: 0 }).await.unwrap();
        table.raw.set(id, "lockedBy", n(4711)).await;
    }
    let lease = table.items.clone().expiry(Expiry::Observed).lock_any(["a", "b"]).wait(secs(40)).await.unwrap();
    let [writes] = shop.counts(["UpdateItem"]);
    assert!(writes <= 5, "{writes} conditional writes");
    lease.release().await.unwrap();
}

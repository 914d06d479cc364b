//! The number of requests of waiters until they take over a lock.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use dynalock::{Error, Expiry, local::Fault};

use crate::support::{Crate, SKEW, Shop, TTL, expect_error, kill, millis, now, secs, travel};

const EXPIRIES: [Expiry; 2] = [Expiry::Clock { max_skew: SKEW }, Expiry::Observed];

/// The end of a lease without heartbeats, for callers that observe it from its beginning.
fn end(ttl: Duration, expiry: Expiry) -> Duration {
    if expiry == Expiry::Observed { ttl } else { ttl + SKEW }
}

#[tokio::test(start_paused = true)]
async fn a_takeover_costs_two_writes_and_twenty_reads_in_a_ttl_and_comes_at_the_end_of_the_lease() {
    for expiry in EXPIRIES {
        for ttl in [TTL, secs(2), secs(60)] {
            let (shop, locks, others) = Shop::with_locks().await;
            let (locks, others) = (locks.ttl(ttl).expiry(expiry), others.ttl(ttl).expiry(expiry));
            kill(others.acquire("report").await.unwrap());
            let started = now();
            let held = locks.acquire("report").heartbeat(false).await.unwrap();
            let took = started.elapsed();
            let lease = end(ttl, expiry);
            assert!(took >= lease && took < lease + millis(20), "{expiry:?} {ttl:?}: {took:?}");
            let [writes, reads] = shop.counts(["UpdateItem", "GetItem"]);
            assert_eq!(writes, 2, "{expiry:?} {ttl:?}");
            let pause = (ttl / 20).min(secs(1));
            let expected = usize::try_from(lease.as_millis() / pause.as_millis()).unwrap();
            let range = expected * 2 / 3..=expected * 3 / 2;
            assert!(range.contains(&reads), "{expiry:?} {ttl:?}: {reads}, about {expected} expected");
            drop(held);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_takeover_of_several_locks_takes_the_expired_owner_away_first() {
    for expiry in EXPIRIES {
        let (shop, locks, others) = Shop::with_locks().await;
        let (locks, others) = (locks.expiry(expiry), others.expiry(expiry));
        kill(others.acquire("b").await.unwrap());
        let started = now();
        let all = locks.acquire_all(["a", "b"]).heartbeat(false).await.unwrap();
        let (took, lease) = (started.elapsed(), end(TTL, expiry));
        assert!(took >= lease && took < lease + millis(20), "{expiry:?}: {took:?}");
        let [transactions, writes, reads] = shop.counts(["TransactWriteItems", "UpdateItem", "GetItem"]);
        // The requests are: refused, refused when the lease has ended, and granted.
        assert_eq!((transactions, writes), (3, 1), "{expiry:?}");
        assert!((13..=36).contains(&reads), "{expiry:?}: {reads}");
        drop(all);
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_several_items_is_taken_over_as_soon_as_one_lease_has_ended() {
    for expiry in EXPIRIES {
        let (shop, table) = Shop::with_items(["a", "b", "c"].map(|id| Crate::new(id, 1))).await;
        let (items, others) = (table.items.clone().expiry(expiry), table.others.clone().expiry(expiry));
        for id in ["a", "b", "c"] {
            kill(others.lock(id).await.unwrap());
        }
        let started = now();
        let lease = items.lock_any(["a", "b", "c"]).heartbeat(false).await.unwrap();
        let (took, end) = (started.elapsed(), end(TTL, expiry));
        assert!(took >= end && took < end + millis(20), "{expiry:?}: {took:?}");
        let [writes, reads] = shop.counts(["UpdateItem", "GetItem"]);
        // The call attempts each lock once, and then starts again with the first lock.
        assert!((4..=6).contains(&writes), "{expiry:?}: {writes}");
        assert!((3 * 13..=3 * 50).contains(&reads), "{expiry:?}: {reads}");
        drop(lease);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_is_released_is_taken_within_a_pause_by_one_read_and_one_write() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = others.acquire("report").await.unwrap();
    let waiting = tokio::spawn(locks.acquire("report").heartbeat(false).into_future());
    travel(secs(25)).await;
    let before = shop.counts(["UpdateItem", "GetItem"]);
    let started = now();
    held.release().await.unwrap();
    let held = waiting.await.unwrap().unwrap();
    assert!(started.elapsed() <= millis(750), "{:?}", started.elapsed());
    assert_eq!(shop.counts(["UpdateItem", "GetItem"]), [before[0] + 1, before[1] + 1]);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_lock_whose_holder_lives_is_read_twenty_times_in_a_ttl_and_not_written() {
    for ttl in [TTL, secs(2)] {
        let (shop, locks, others) = Shop::with_locks().await;
        let (locks, others) = (locks.ttl(ttl), others.ttl(ttl));
        let _held = others.acquire("report").await.unwrap();
        expect_error!(locks.acquire("report").wait(20 * ttl).await, Error::Locked(_));
        let [writes, reads] = shop.counts(["UpdateItem", "GetItem"]);
        assert_eq!(writes, 1, "{ttl:?}");
        assert!((360..=440).contains(&reads), "{ttl:?}: {reads}");
    }
}

#[tokio::test(start_paused = true)]
async fn refused_heartbeats_are_repeated_after_pauses_with_jitter() {
    let (shop, locks, _) = Shop::with_locks().await;
    let held = locks.acquire("report").heartbeat(false).await.unwrap();
    shop.faults.always(Fault::Throttle);
    let times = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&times);
    shop.rival.before_each("UpdateItem", move || {
        log.lock().unwrap().push(now());
        async {}
    });
    expect_error!(held.extend().await, Error::Exhausted { .. });
    let times = times.lock().unwrap();
    let mut pauses: Vec<_> = times.windows(2).map(|two| two[1] - two[0]).collect();
    let longest = (TTL / 40).min(millis(250));
    // A sleep of tokio ends at a whole millisecond.
    assert!(pauses.iter().all(|pause| (longest / 2..=longest + millis(1)).contains(pause)), "{pauses:?}");
    pauses.sort_unstable();
    pauses.dedup();
    assert!(pauses.len() > 10, "{pauses:?}");
}

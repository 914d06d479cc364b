//! The number of requests of waiters in a queue, for each position, until they become the head.

use std::time::Duration;

use dynalock::{Expiry, LockGuard, lock::QueueTicket};

use crate::support::{Shop, TTL, kill, millis, now, secs, travel};

/// A separate connection for each waiter, so that its requests can be counted.
async fn waiters(shop: &Shop, count: usize, ttl: Duration) -> Vec<(Shop, QueueTicket<LockGuard>)> {
    let mut all = Vec::new();
    for _ in 0..count {
        let (line, locks) = shop.another_process();
        all.push((line, locks.ttl(ttl).acquire("printer").fair().enter().await.unwrap()));
    }
    all
}

/// Returns the mean pause between the reads of a waiter, over ten minutes.
fn mean(reads: usize) -> Duration {
    secs(600) / u32::try_from(reads).unwrap()
}

#[tokio::test(start_paused = true)]
async fn each_place_in_the_queue_is_read_less_often_than_the_one_before_down_to_six_times_a_ttl() {
    for ttl in [TTL, secs(2)] {
        let (shop, _, others) = Shop::with_locks().await;
        let held = others.acquire("printer").fair().ttl(ttl).await.unwrap();
        let queued = waiters(&shop, 12, ttl).await;
        travel(secs(600)).await;
        for (place, (line, _)) in (1..).zip(&queued) {
            let pause = (ttl / 40 * place).min(ttl / 6);
            let [reads, writes] = line.counts(["GetItem", "UpdateItem"]);
            let mean = mean(reads);
            assert!(mean > pause.mul_f64(0.9) && mean < pause.mul_f64(1.1), "{ttl:?}, place {place}: {mean:?}");
            assert_eq!(writes, 1, "{ttl:?}, place {place}");
            let consistent = line.sent("GetItem").iter().filter(|read| read["ConsistentRead"] == true).count();
            assert_eq!(consistent, if place == 1 { reads } else { 0 }, "{ttl:?}, place {place}");
        }
        drop(held);
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_taken_within_the_pause_of_the_next_place_by_one_read() {
    let (shop, _, others) = Shop::with_locks().await;
    let held = others.acquire("printer").fair().await.unwrap();
    let mut queued = waiters(&shop, 1, TTL).await;
    let (line, next) = queued.pop().unwrap();
    travel(secs(5)).await;
    let before = line.counts(["GetItem", "UpdateItem"]);
    held.release().await.unwrap();
    let started = now();
    let held = next.await.unwrap();
    assert!(started.elapsed() <= millis(375), "{:?}", started.elapsed());
    assert_eq!(line.counts(["GetItem", "UpdateItem"]), [before[0] + 1, before[1]]);
    held.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_expired_head_is_taken_out_by_one_write_as_soon_as_its_lease_has_ended() {
    for expiry in [Expiry::default(), Expiry::Observed] {
        let (shop, locks, others) = Shop::with_locks().await;
        let (locks, others) = (locks.expiry(expiry), others.expiry(expiry));
        let fence = kill(others.acquire("printer").fair().await.unwrap());
        let started = now();
        let held = locks.acquire("printer").fair().heartbeat(false).await.unwrap();
        // The caller has observed the head for a ttl, which is sufficient for both expiry rules.
        let took = started.elapsed();
        // With the clock rule, it does not wait for that moment, but for its next read.
        let late = if expiry == Expiry::Observed { millis(30) } else { millis(400) };
        assert!(took >= TTL && took < TTL + late, "{expiry:?}: {took:?}");
        let [reads, writes] = shop.counts(["GetItem", "UpdateItem"]);
        // These are the enqueue and the dequeue. Between two reads is a quarter of a second.
        assert_eq!(writes, 2, "{expiry:?}");
        assert!((32..=96).contains(&reads), "{expiry:?}: {reads}");
        assert_eq!((held.fence(), held.acquired_after_crash()), (fence + 1, Some(fence)));
    }
}

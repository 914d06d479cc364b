//! All faults, for each request of the queue.

use std::time::Duration;

use dynalock::{
    Locks,
    local::{Fault, Faults},
};

use super::attributes;
use crate::support::{FAULTS, SKEW, Shop, TTL, kill, millis, row_of, secs, travel};

/// All faults after which a caller may repeat its request.
fn everything() -> Vec<Fault> {
    let more = [Fault::ProvisionedThroughputExceeded, Fault::Delay(millis(700)), Fault::DeliverLate(millis(3))];
    FAULTS.into_iter().chain(more).collect()
}

/// Checks the end of a test: at most an orphaned entry is left, which costs one ttl, and the fence
/// has grown.
async fn nothing_is_left(shop: &Shop, others: &Locks, last: u64, of: &str) {
    let ghosts = others.queue("printer").await.unwrap();
    assert!(ghosts.len() <= 1, "{of}: {ghosts:?}");
    if ghosts.is_empty() {
        // The row may contain the owner of a request that was sent again.
        let left = attributes(shop, "printer").await;
        let known = ["_fence", "_released"];
        assert!(left.iter().all(|attribute| known.contains(&&**attribute)), "{of}: {left:?}");
    }
    let next = others.acquire("printer").fair().wait(TTL + SKEW + secs(1)).await;
    let next = next.unwrap_or_else(|error| panic!("{of}: {error}"));
    assert!(next.fence() > last, "{of}");
    next.release().await.unwrap();
    assert_eq!(attributes(shop, "printer").await, ["_fence"], "{of}");
}

#[tokio::test(start_paused = true)]
async fn each_request_of_a_free_lock_may_meet_anything() {
    for fault in everything() {
        for nth in 0..4 {
            let of = format!("{fault:?} of update {nth}");
            let (shop, locks, others) = Shop::with_locks().await;
            shop.faults.script_on("UpdateItem", nth, fault.clone());
            let mut last = 0;
            for _ in 0..2 {
                let held = locks.acquire("printer").fair().wait(secs(30)).await;
                let held = held.unwrap_or_else(|error| panic!("{of}: {error}"));
                assert!(held.fence() > last, "{of}");
                let row = others.inspect("printer").await.unwrap().unwrap();
                assert_eq!((row.owner.as_deref(), row.fence), (Some(held.owner()), held.fence()), "{of}");
                // The remaining time of the holder is at most the remaining time in the row.
                assert!(held.remaining() <= row.remaining + millis(2), "{of}: {held:?} {row:?}");
                last = held.fence();
                held.release().await.unwrap_or_else(|error| panic!("{of}: {error}"));
            }
            travel(secs(3)).await;
            nothing_is_left(&shop, &others, last, &of).await;
        }
    }
}

/// Two callers wait, and one of them meets a fault at the nth request of an operation. Both callers
/// are served in the order of their arrival.
async fn served_in_order(operation: &str, nth: usize, fault: Fault) {
    let of = format!("{fault:?} of {operation} {nth}");
    let (shop, locks, others) = Shop::with_locks().await;
    let first = others.acquire("printer").fair().await.unwrap();
    let before = first.fence();
    shop.faults.script_on(operation, nth, fault);
    let second = tokio::spawn(locks.acquire("printer").fair().into_future());
    travel(secs(4)).await;
    let third = tokio::spawn(others.acquire("printer").fair().into_future());
    travel(secs(1)).await;
    first.release().await.unwrap();
    let held = second.await.unwrap().unwrap_or_else(|error| panic!("{of}: {error}"));
    travel(secs(5)).await;
    assert!(!third.is_finished() && !held.remaining().is_zero(), "{of}");
    let fence = held.fence();
    assert_eq!(fence, before + 1, "{of}");
    held.release().await.unwrap_or_else(|error| panic!("{of}: {error}"));
    let held = third.await.unwrap().unwrap();
    assert_eq!((held.fence(), held.acquired_after_crash()), (fence + 1, None), "{of}");
    held.release().await.unwrap();
    travel(secs(3)).await;
    nothing_is_left(&shop, &others, fence + 1, &of).await;
}

#[tokio::test(start_paused = true)]
async fn each_write_of_a_waiter_may_meet_anything() {
    for fault in everything() {
        // The requests are the enqueue, the heartbeats and the dequeue.
        for nth in 0..5 {
            served_in_order("UpdateItem", nth, fault.clone()).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_read_of_a_waiter_may_meet_anything() {
    for fault in everything() {
        for nth in [0, 3, 17, 18, 19, 20, 21, 22] {
            served_in_order("GetItem", nth, fault.clone()).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn giving_a_place_up_may_meet_anything() {
    for fault in everything() {
        for (operation, is_head) in [("UpdateItem", false), ("UpdateItem", true), ("GetItem", false)] {
            let of = format!("{fault:?} of {operation}, {is_head}");
            let (shop, locks, others) = Shop::with_locks().await;
            let first = others.acquire("printer").fair().await.unwrap();
            let fence = first.fence();
            let queued = locks.acquire("printer").fair().enter().await.unwrap();
            travel(secs(1)).await;
            if is_head {
                first.release().await.unwrap();
                shop.faults.script_on(operation, 0, fault.clone());
                drop(queued);
                travel(secs(8)).await;
            } else {
                shop.faults.script_on(operation, 0, fault.clone());
                drop(queued);
                travel(secs(8)).await;
                assert_eq!(others.queue("printer").await.unwrap().len(), 1, "{of}");
                first.release().await.unwrap();
            }
            assert_eq!(others.queue("printer").await.unwrap(), [], "{of}");
            nothing_is_left(&shop, &others, fence, &of).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn taking_an_expired_head_out_may_meet_anything() {
    for fault in everything() {
        let (shop, locks, others) = Shop::with_locks().await;
        let fence = kill(others.acquire("printer").fair().await.unwrap());
        // The first request is the enqueue, and the second one removes the head.
        shop.faults.script_on("UpdateItem", 1, fault.clone());
        let held = locks.acquire("printer").fair().wait(TTL + SKEW + secs(4)).await;
        let held = held.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!((held.fence(), held.acquired_after_crash()), (fence + 1, Some(fence)), "{fault:?}");
        travel(secs(3)).await;
        let row = others.inspect("printer").await.unwrap().unwrap();
        assert_eq!((row.owner.as_deref(), row.fence), (Some(held.owner()), held.fence()), "{fault:?}");
        held.release().await.unwrap();
        nothing_is_left(&shop, &others, fence + 1, &format!("{fault:?}")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn six_seconds_of_trouble_cost_no_place_and_no_lease_of_ten() {
    for fault in [Fault::Throttle, Fault::ServerError, Fault::LoseRequest, Fault::NeverAnswer, Fault::LoseReply] {
        let (shop, locks, others) = Shop::with_locks().await;
        let locks = locks.deadline(secs(20));
        let first = others.acquire("printer").fair().await.unwrap();
        let waiting = tokio::spawn(locks.acquire("printer").fair().into_future());
        travel(secs(1)).await;
        trouble(&shop, &fault, secs(6)).await;
        first.release().await.unwrap();
        let held = waiting.await.unwrap().unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        travel(secs(8)).await;
        trouble(&shop, &fault, secs(6)).await;
        travel(secs(20)).await;
        assert!(others.try_acquire("printer").fair().await.unwrap().is_none(), "{fault:?}");
        held.extend().await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
    }
}

async fn trouble(shop: &Shop, fault: &Fault, time: Duration) {
    shop.faults.always(fault.clone());
    travel(time).await;
    shop.faults.clear();
}

#[tokio::test(start_paused = true)]
async fn a_free_lock_is_never_refused_for_a_place_of_its_own() {
    for rate in [0.05, 0.2] {
        let shop = Shop::in_process(Faults::seeded(7));
        let (locks, others) = shop.locks().await;
        shop.faults.clone().rate(Fault::LoseReply, rate);
        for number in 0..1_000 {
            let held = locks.try_acquire(format!("lock-{number}")).fair().heartbeat(false).await;
            let held = held.unwrap_or_else(|error| panic!("{number}: {error}"));
            let held = held.unwrap_or_else(|| panic!("{number}: refused at {rate}"));
            row_of(&others, &held).await;
            drop(held.detach());
        }
    }
}

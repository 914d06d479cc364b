//! A caller enters or leaves between a read of the queue and the request that removes its head.

use dynalock::local::Fault;

use super::{fair, fence_alone_is_left};
use crate::support::{SKEW, Shop, TTL, kill, millis, secs, travel};

/// The read shows no waiter, but a waiter has entered when the dequeue arrives.
#[tokio::test(start_paused = true)]
async fn a_release_leaves_the_queue_to_a_waiter_that_enters_meanwhile() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = fair(&locks).await;
    let fence = held.fence();
    shop.faults.script_on("UpdateItem", 0, Fault::Delay(millis(500)));
    let leaving = tokio::spawn(held.release());
    travel(millis(100)).await;
    let next = others.acquire("printer").fair().enter().await.unwrap();
    assert_eq!(next.position(), 1);
    leaving.await.unwrap().unwrap();
    let next = next.await.unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 1, None));
    next.release().await.unwrap();
    fence_alone_is_left(&shop).await;
}

/// The reply to the dequeue of the last entry is lost. The next attempt finds no entry.
#[tokio::test(start_paused = true)]
async fn a_release_with_a_lost_reply_leaves_only_the_fence() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = fair(&locks).await;
    let waiting = others.acquire("printer").fair().enter().await.unwrap();
    held.extend().await.unwrap();
    drop(waiting);
    travel(secs(1)).await;
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    held.release().await.unwrap();
    fence_alone_is_left(&shop).await;
}

/// Both callers have read the queue before either has left.
#[tokio::test(start_paused = true)]
async fn two_waiters_that_give_up_at_once_leave_only_the_fence() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = fair(&others).await;
    let first = locks.acquire("printer").fair().enter().await.unwrap();
    let second = others.acquire("printer").fair().enter().await.unwrap();
    held.release().await.unwrap();
    // This is the dequeue of the first caller, which is the head.
    shop.faults.script_on("UpdateItem", 0, Fault::Delay(millis(500)));
    drop(first);
    travel(millis(100)).await;
    drop(second);
    travel(secs(2)).await;
    fence_alone_is_left(&shop).await;
}

/// A caller enters between the read and the request of a head that gives up, or of a caller that
/// removes the head.
#[tokio::test(start_paused = true)]
async fn an_eviction_leaves_the_queue_to_a_waiter_that_enters_meanwhile() {
    for is_dead in [false, true] {
        let (shop, locks, others) = Shop::with_locks().await;
        let held = fair(&others).await;
        let fence = held.fence();
        let going = match is_dead {
            false => {
                let queued = locks.acquire("printer").fair().enter().await.unwrap();
                held.release().await.unwrap();
                shop.faults.script_on("UpdateItem", 0, Fault::Delay(millis(500)));
                drop(queued);
                tokio::spawn(async {})
            }
            true => {
                kill(held);
                travel(TTL + SKEW + secs(1)).await;
                // The first request is its enqueue.
                shop.faults.script_on("UpdateItem", 1, Fault::Delay(millis(500)));
                let locks = locks.clone();
                tokio::spawn(async move { drop(locks.acquire("printer").await.unwrap().release().await) })
            }
        };
        travel(millis(100)).await;
        let next = others.acquire("printer").fair().enter().await.unwrap();
        assert_eq!(next.position(), 1, "{is_dead}");
        let next = next.await.unwrap();
        let (expected, crashed) = if is_dead { (fence + 1, Some(fence)) } else { (fence + 2, None) };
        assert_eq!((next.fence(), next.acquired_after_crash()), (expected, crashed));
        travel(secs(1)).await;
        next.release().await.unwrap();
        going.await.unwrap();
        let last = fair(&others).await;
        assert_eq!(last.acquired_after_crash(), None);
        last.release().await.unwrap();
        fence_alone_is_left(&shop).await;
    }
}

/// A caller that removes a crashed head has read a waiter, and this waiter has left since.
#[tokio::test(start_paused = true)]
async fn a_broken_lock_whose_last_waiter_leaves_keeps_only_the_fence() {
    let (shop, locks, others) = Shop::with_locks().await;
    let dead = fair(&others).await;
    let fence = dead.fence();
    let waiting = others.acquire("printer").fair().enter().await.unwrap();
    shop.faults.script_on("UpdateItem", 1, Fault::Delay(millis(500)));
    let breaking = tokio::spawn({
        let locks = locks.clone();
        async move { locks.break_lock("printer", fence).await }
    });
    travel(millis(100)).await;
    drop(waiting);
    assert!(breaking.await.unwrap().unwrap());
    drop(dead);
    travel(secs(1)).await;
    fence_alone_is_left(&shop).await;
}

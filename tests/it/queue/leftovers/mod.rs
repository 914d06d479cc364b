//! An empty queue leaves only the fence in the row.

mod items;
mod moments;

use dynalock::{LockGuard, Locks, local::Fault};

use super::attributes;
use crate::support::{SKEW, Shop, TTL, acquire, kill, n, secs, travel};

async fn fence_alone_is_left(shop: &Shop) {
    assert_eq!(attributes(shop, "printer").await, ["_fence"]);
}

async fn fair(locks: &Locks) -> LockGuard {
    locks.acquire("printer").fair().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn holders_alone_and_in_turn_leave_only_the_fence() {
    let (shop, locks, others) = Shop::with_locks().await;
    let first = fair(&locks).await;
    let fence = first.fence();
    first.release().await.unwrap();
    fence_alone_is_left(&shop).await;
    let row = shop.raw("locks", "name").get("printer").await.unwrap();
    assert_eq!(row["_fence"], n(fence));

    let second = fair(&locks).await;
    let third = others.acquire("printer").fair().enter().await.unwrap();
    second.release().await.unwrap();
    let third = third.await.unwrap();
    assert_eq!((third.fence(), third.acquired_after_crash()), (fence + 2, None));
    third.release().await.unwrap();
    fence_alone_is_left(&shop).await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_holder_and_its_heartbeats_leave_only_the_fence() {
    let (shop, locks, _) = Shop::with_locks().await;
    let held = fair(&locks).await;
    travel(TTL * 2).await;
    assert!(attributes(&shop, "printer").await.contains(&"_beat".to_owned()));
    drop(held);
    travel(secs(1)).await;
    fence_alone_is_left(&shop).await;
}

/// The holder knows each waiter behind it when it leaves.
#[tokio::test(start_paused = true)]
async fn waiters_that_give_up_behind_a_holder_leave_only_the_fence() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = fair(&locks).await;
    let waiting = others.acquire("printer").fair().enter().await.unwrap();
    held.extend().await.unwrap();
    drop(waiting);
    travel(secs(1)).await;
    assert_eq!(others.queue("printer").await.unwrap().len(), 1);
    held.release().await.unwrap();
    fence_alone_is_left(&shop).await;
}

#[tokio::test(start_paused = true)]
async fn a_head_that_gives_up_leaves_only_the_fence() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = fair(&locks).await;
    let queued = others.acquire("printer").fair().enter().await.unwrap();
    held.release().await.unwrap();
    drop(queued);
    travel(secs(1)).await;
    fence_alone_is_left(&shop).await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_ends_leaves_only_the_fence() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = fair(&locks).await;
    assert!(others.acquire("printer").fair().wait(secs(3)).await.is_err());
    assert!(others.try_acquire("printer").fair().await.unwrap().is_none());
    held.release().await.unwrap();
    fence_alone_is_left(&shop).await;
}

/// The caller that removes a crashed holder learns its fence, and the row keeps nothing of the
/// holder.
#[tokio::test(start_paused = true)]
async fn an_expired_holder_leaves_only_the_fence() {
    for is_fair in [true, false] {
        let (shop, locks, others) = Shop::with_locks().await;
        let fence = kill(fair(&others).await);
        travel(TTL + SKEW + secs(1)).await;
        let next = acquire(&locks, "printer", is_fair).await.unwrap();
        assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 1, Some(fence)));
        next.release().await.unwrap();
        // A plain holder also leaves its owner, so that DynamoDB refuses delayed duplicates of its
        // request.
        match is_fair {
            true => fence_alone_is_left(&shop).await,
            false => assert_eq!(attributes(&shop, "printer").await, ["_beat", "_fence", "_released"]),
        }
        let last = fair(&locks).await;
        assert_eq!((last.fence(), last.acquired_after_crash()), (fence + 2, None));
        last.release().await.unwrap();
        fence_alone_is_left(&shop).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_an_operator_broke_leaves_only_the_fence() {
    let (shop, locks, others) = Shop::with_locks().await;
    for is_fair in [true, false] {
        let broken = acquire(&locks, "printer", is_fair).await.unwrap();
        assert!(others.break_lock("printer", broken.fence()).await.unwrap());
        assert!(!others.break_lock("printer", broken.fence()).await.unwrap());
        drop(broken);
        travel(secs(1)).await;
        let next = fair(&others).await;
        assert_eq!(next.acquired_after_crash(), None);
        next.release().await.unwrap();
        fence_alone_is_left(&shop).await;
    }
}

/// A caller whose enqueue was sent twice leaves its owner, so that DynamoDB refuses the delayed
/// duplicate.
#[tokio::test(start_paused = true)]
async fn a_request_that_was_sent_twice_leaves_the_name_of_its_owner() {
    let (shop, locks, others) = Shop::with_locks().await;
    shop.faults.script_on("UpdateItem", 0, Fault::DeliverLate(secs(3)));
    let held = fair(&locks).await;
    let (owner, fence) = (held.owner().to_owned(), held.fence());
    held.release().await.unwrap();
    assert_eq!(attributes(&shop, "printer").await, ["_fence", "_released"]);
    let row = shop.raw("locks", "name").get("printer").await.unwrap();
    assert!(row["_released"].as_s().unwrap().starts_with(&format!("{owner}/")), "{row:?}");
    travel(secs(5)).await;
    assert_eq!(others.queue("printer").await.unwrap(), []);
    let next = others.try_acquire("printer").fair().await.unwrap().expect("nobody is there");
    assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 1, None));
    next.release().await.unwrap();
    fence_alone_is_left(&shop).await;
}

#[tokio::test(start_paused = true)]
async fn a_release_with_a_fault_leaves_only_the_fence() {
    let faults =
        [Fault::LoseReply, Fault::LoseRequest, Fault::ErrorAfterApply, Fault::Throttle, Fault::EmptyAfterApply];
    for operation in ["GetItem", "UpdateItem"] {
        for fault in &faults {
            let (shop, locks, _) = Shop::with_locks().await;
            let held = fair(&locks).await;
            shop.faults.script_on(operation, 0, fault.clone());
            held.release().await.unwrap();
            assert_eq!(attributes(&shop, "printer").await, ["_fence"], "{operation} {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_ticket_for_several_queues_leaves_only_the_fence() {
    let (shop, locks, others) = Shop::with_locks().await;
    let names = ["a", "b", "c"];
    let all = locks.acquire_all(names).fair().await.unwrap();
    let next = tokio::spawn(others.acquire_all(names).fair().into_future());
    travel(secs(4)).await;
    all.release().await.unwrap();
    next.await.unwrap().unwrap().release().await.unwrap();
    for name in names {
        assert_eq!(attributes(&shop, name).await, ["_fence"]);
    }
}

//! Only the caller that removes a crashed holder learns of the crash.

use dynalock::{LockGuard, Locks, Wait, local::Fault};

use super::attributes;
use crate::support::{SKEW, Shop, TTL, kill, n, secs, travel};

async fn acquire(locks: &Locks, is_fair: bool) -> LockGuard {
    let request = locks.acquire("printer").heartbeat(false);
    if is_fair { request.fair().await.unwrap() } else { request.await.unwrap() }
}

#[tokio::test(start_paused = true)]
async fn only_the_caller_that_takes_over_is_told_of_the_crash() {
    for (was_fair, is_fair) in [(true, true), (true, false), (false, true), (false, false)] {
        let (_, locks, others) = Shop::with_locks().await;
        let fence = kill(acquire(&others, was_fair).await);
        let next = acquire(&locks, is_fair).await;
        let told = (next.fence(), next.acquired_after_crash());
        assert_eq!(told, (fence + 1, Some(fence)), "{was_fair} {is_fair}");
        next.release().await.unwrap();
        let last = acquire(&others, is_fair).await;
        assert_eq!((last.fence(), last.acquired_after_crash()), (fence + 2, None), "{was_fair} {is_fair}");
    }
}

/// The lock was granted, but its caller dropped the future before it took the guard.
#[tokio::test(start_paused = true)]
async fn a_grant_whose_caller_is_gone_is_released() {
    for is_fair in [true, false] {
        let (_, locks, others) = Shop::with_locks().await;
        let fence = kill(acquire(&others, is_fair).await);
        let mut waiting = match is_fair {
            true => locks.acquire("printer").fair().into_future(),
            false => locks.acquire("printer").into_future(),
        };
        // The future is polled once, so that it sends the request. After this poll, the test
        // forgets the future together with the grant.
        assert!(tokio::time::timeout(secs(1), &mut waiting).await.is_err());
        travel(TTL + SKEW + secs(3)).await;
        assert!(others.try_acquire("printer").await.unwrap().is_none(), "it has it by now");
        drop(waiting);
        travel(secs(1)).await;
        let next = others.acquire("printer").fair().await.unwrap();
        assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 2, None), "{is_fair}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_for_several_locks_is_told_of_each_expired_holder() {
    for was_fair in [true, false] {
        for is_fair in [true, false] {
            let (_, locks, others) = Shop::with_locks().await;
            let fence = kill(acquire(&others, was_fair).await);
            let request = locks.acquire_all(["printer", "scanner"]);
            let all = if is_fair { request.fair().await.unwrap() } else { request.await.unwrap() };
            let told = |name| all.get(name).unwrap().acquired_after_crash();
            assert_eq!((told("printer"), told("scanner")), (Some(fence), None), "{was_fair} {is_fair}");
            all.release().await.unwrap();
            let all = locks.acquire_all(["printer", "scanner"]).await.unwrap();
            assert_eq!(all.get("printer").unwrap().acquired_after_crash(), None);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_holder_before_is_the_one_directly_before() {
    let (shop, locks, others) = Shop::with_locks().await;
    let dead = others.acquire("printer").fair().await.unwrap();
    let fence = dead.fence();
    let waiting = locks.acquire("printer").fair().enter().await.unwrap();
    kill(dead);
    shop.faults.always(Fault::NeverAnswer);
    let last = others.acquire("printer").fair().await.unwrap();
    // The waiter has crashed in the queue, and was removed when it became the head.
    assert_eq!((last.fence(), last.acquired_after_crash()), (fence + 2, Some(fence + 1)));
    drop(waiting);
}

/// The reply to the break is lost, and another caller has entered since.
#[tokio::test(start_paused = true)]
async fn an_order_whose_reply_is_lost_is_known_by_the_grant_that_is_over() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = acquire(&others, false).await;
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    let breaking = tokio::spawn({
        let (locks, fence) = (locks.clone(), held.fence());
        async move { locks.break_lock("printer", fence).await }
    });
    while others.inspect("printer").await.unwrap().unwrap().owner.is_some() {
        tokio::task::yield_now().await;
    }
    let next = others.acquire("printer").fair().wait(Wait::No).await.unwrap();
    assert!(breaking.await.unwrap().unwrap());
    assert_eq!((next.fence(), next.acquired_after_crash()), (held.fence() + 1, None));
}

/// No grant had this fence, so the break has ended no grant.
#[tokio::test(start_paused = true)]
async fn an_order_for_a_later_fence_is_refused_also_after_a_lost_reply() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = acquire(&others, false).await;
    let fence = held.fence();
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    assert!(!locks.break_lock("printer", fence + 1).await.unwrap());
    held.extend().await.unwrap();
}

/// A delayed duplicate of the enqueue restores a holder that was removed. The holder releases this
/// grant as well.
#[tokio::test(start_paused = true)]
async fn a_release_ends_a_grant_that_a_delayed_duplicate_has_brought_back() {
    for is_fair in [true, false] {
        let (shop, locks, others) = Shop::with_locks().await;
        shop.faults.script_on("UpdateItem", 0, Fault::DeliverLate(secs(20)));
        let held = acquire(&locks, is_fair).await;
        travel(TTL + SKEW + secs(1)).await;
        // The holder was removed by a caller that has gone since.
        let next = others.acquire("printer").fair().enter().await.unwrap();
        travel(secs(2)).await;
        drop(next);
        travel(secs(6)).await;
        let ghost = others.inspect("printer").await.unwrap().unwrap();
        assert_eq!(ghost.owner.as_deref(), Some(held.owner()), "{is_fair}");
        held.release().await.unwrap();
        assert_eq!(others.inspect("printer").await.unwrap().unwrap().owner, None, "{is_fair}");
        let last = others.acquire("printer").fair().await.unwrap();
        assert_eq!((last.fence(), last.acquired_after_crash()), (ghost.fence + 1, None), "{is_fair}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_row_that_carries_the_reserved_crashed_is_locked_as_any_other() {
    let (shop, locks, others) = Shop::with_locks().await;
    acquire(&locks, false).await.release().await.unwrap();
    shop.raw("locks", "name").set("printer", "_crashed", n(7)).await;
    for is_fair in [true, false] {
        let held = acquire(&locks, is_fair).await;
        assert_eq!(held.acquired_after_crash(), None, "{is_fair}");
        let fence = held.fence();
        held.extend().await.unwrap();
        kill(held);
        let next = acquire(&others, is_fair).await;
        assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 1, Some(fence)), "{is_fair}");
        next.release().await.unwrap();
    }
    assert!(attributes(&shop, "printer").await.contains(&"_crashed".to_owned()), "no request removes it");
}

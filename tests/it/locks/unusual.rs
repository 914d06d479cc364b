//! Rare cases: late requests, tokens that are used twice, and limits beyond all clocks.

use std::time::Duration;

use dynalock::{
    Error, Wait,
    error::{Lost, Unavailable},
    local::Fault,
    private::ClockAhead as _,
};

use super::break_before;
use crate::support::{SKEW, Shop, TTL, expect_error, kill, millis, now, row_of, secs, travel};

#[tokio::test(start_paused = true)]
async fn a_token_that_is_used_twice_never_believes_longer_than_its_row_says() {
    let (_, locks, others) = Shop::with_locks().await;
    let token = locks.acquire("report").heartbeat(false).await.unwrap().detach();
    let first = locks.clone().resume(token.clone()).await.unwrap();
    for _ in 0..10 {
        first.extend().await.unwrap();
    }
    kill(first);
    travel(secs(9)).await;
    // The number of the heartbeat is lower than the stored number, so the lease is not renewed
    // until the numbers have caught up.
    let second = locks.resume(token).await.unwrap();
    let row = others.inspect("report").await.unwrap().unwrap();
    assert!(second.remaining() <= row.remaining, "{second:?} but {row:?}");
    for _ in 0..5 {
        travel(TTL / 2).await;
        assert!(others.try_acquire("report").await.unwrap().is_none());
        assert!(second.remaining() > millis(0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_that_is_refused_for_its_credentials_is_sent_again() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = locks.acquire("report").await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::AccessDenied);
    shop.faults.script_on("UpdateItem", 1, Fault::error("ExpiredTokenException"));
    travel(3 * TTL).await;
    assert!(held.remaining() > secs(1), "{held:?}");
    assert!(others.try_acquire("report").await.unwrap().is_none());
    // If the failure does not end, the lock is lost at the end of the lease, with the failure as
    // the reason.
    shop.faults.always(Fault::AccessDenied);
    let lost = held.lost().await;
    assert!(matches!(&lost, Lost::Unreachable(why) if why.contains("AccessDenied")), "{lost:?}");
}

#[tokio::test(start_paused = true)]
async fn limits_beyond_all_clocks_are_limits_all_the_same() {
    let (_, locks, others) = Shop::with_locks().await;
    let forever =
        locks.acquire("report").ttl(Duration::from_hours(366 * 24)).max_hold(Duration::MAX).wait(Duration::MAX);
    let held = forever.await.unwrap();
    assert!(held.remaining() > Duration::from_hours(1_000));
    assert!(others.try_acquire("report").await.unwrap().is_none());
    held.release().await.unwrap();
    let edited = format!("1-1-{}-1-xy", u64::MAX).parse().unwrap();
    expect_error!(locks.resume(edited).await, Error::Lost(Lost::Deleted));
}

#[tokio::test(start_paused = true)]
async fn a_delayed_duplicate_of_an_acquire_that_still_waits_is_its_grant() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = others.acquire("report").await.unwrap();
    // The first copy is delayed until the lock is free.
    shop.faults.script_on("UpdateItem", 0, Fault::DeliverLate(secs(3)));
    let waiting = tokio::spawn(locks.acquire("report").into_future());
    travel(millis(2_900)).await;
    held.release().await.unwrap();
    shop.faults.script_on("GetItem", 0, Fault::Delay(millis(500)));
    travel(secs(3)).await;
    assert!(waiting.is_finished(), "it waits for its own ghost");
    let granted = waiting.await.unwrap().unwrap();
    let row = row_of(&others, &granted).await;
    assert!(granted.remaining() <= row.remaining);
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_was_broken_before_its_reply_came_is_asked_for_again() {
    let (shop, locks, others) = Shop::with_locks().await;
    break_before(&shop, &others, 1);
    let held = locks.acquire("report").wait(secs(5)).await.unwrap();
    held.extend().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_row_that_is_deleted_under_an_acquire_is_made_again() {
    let (shop, locks, _) = Shop::with_locks().await;
    let raw = shop.raw("locks", "name");
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    shop.rival.before("UpdateItem", 2, move || async move { raw.delete("report").await });
    let held = locks.acquire("report").wait(secs(5)).await.unwrap();
    held.extend().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_lost_for_its_watchers_before_it_is_released() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = locks.acquire("report").await.unwrap();
    let watcher = tokio::spawn(held.lost());
    shop.faults.script_on("UpdateItem", 0, Fault::NeverAnswerAfterApply);
    let releasing = tokio::spawn(held.release());
    travel(millis(10)).await;
    let next = others.try_acquire("report").await.unwrap();
    assert!(next.is_some() && watcher.is_finished());
    releasing.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lock_is_not_granted_twice_to_one_handle_or_task() {
    let (_, locks, _) = Shop::with_locks().await;
    let outer = locks.acquire("report").owner("me").await.unwrap();
    assert!(locks.try_acquire("report").owner("me").await.unwrap().is_none());
    expect_error!(locks.acquire("report").owner("me").wait(Wait::No).await, Error::Locked(_));
    outer.extend().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_fence_grows_over_a_row_that_was_deleted() {
    let (shop, locks, _) = Shop::with_locks().await;
    let mut last = 0;
    for _ in 0..5 {
        let held = locks.acquire("report").await.unwrap();
        assert!(held.fence() > last, "{held:?} after {last}");
        last = held.fence();
        held.release().await.unwrap();
        shop.raw("locks", "name").delete("report").await;
        travel(millis(5)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_heartbeat_revives_no_lock_that_was_released_or_taken_over() {
    let (shop, locks, others) = Shop::with_locks().await;
    for is_released in [true, false] {
        let held = locks.acquire("report").heartbeat(false).await.unwrap();
        let late = if is_released { secs(1) } else { TTL + SKEW + secs(1) };
        shop.faults.script_on("UpdateItem", 0, Fault::DeliverLate(late));
        held.extend().await.unwrap();
        match is_released {
            true => held.release().await.unwrap(),
            false => drop(held.detach()),
        }
        let next = others.acquire("report").heartbeat(false).await.unwrap();
        let before = others.inspect("report").await.unwrap().unwrap();
        travel(secs(2)).await;
        let after = others.inspect("report").await.unwrap().unwrap();
        assert_eq!((after.owner.as_deref(), after.fence), (Some(next.owner()), before.fence));
        assert!(after.remaining < before.remaining);
        next.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn work_has_ended_when_the_next_one_enters_at_the_very_edge_of_the_skew() {
    let (_, locks, others) = Shop::with_locks().await;
    let ahead = others.clone().clock_ahead_by_millis(i64::try_from(SKEW.as_millis()).unwrap());
    for _ in 0..50 {
        let held = locks.acquire("report").heartbeat(false).await.unwrap();
        let waiting = tokio::spawn(ahead.acquire("report").into_future());
        let work = tokio::spawn(async move { held.run(std::future::pending::<()>()).await });
        let next = waiting.await.unwrap().unwrap();
        assert!(work.is_finished(), "two are at work");
        next.release().await.unwrap();
    }
}

#[test]
fn a_release_whose_runtime_was_shut_down_says_that_it_is_open() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (granted_on, waits_on) = (runtime(), runtime());
    let shop = Shop::without_faults();
    let held = granted_on.block_on(async { shop.locks().await.0.acquire("report").await.unwrap() });
    granted_on.shutdown_background();
    let error = waits_on.block_on(held.release());
    expect_error!(error, Error::Unavailable(Unavailable::RuntimeEnded));
}

/// A program may acquire on one runtime, and release on another runtime while the first stands still.
#[test]
fn a_release_ends_although_the_runtime_of_the_lock_stands_still() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (granted_on, waits_on) = (runtime(), runtime());
    let shop = Shop::without_faults();
    let held = granted_on.block_on(async { shop.locks().await.0.acquire("report").await.unwrap() });
    let (error, elapsed) = waits_on.block_on(async {
        let started = now();
        (held.release().await, started.elapsed())
    });
    expect_error!(error, Error::Unavailable(Unavailable::RuntimeEnded));
    assert!(elapsed >= TTL && elapsed <= 2 * TTL, "{elapsed:?}");
}

#[test]
fn an_acquire_whose_runtime_was_shut_down_says_so() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (begins_on, waits_on) = (runtime(), runtime());
    let shop = Shop::without_faults();
    let locks = begins_on.block_on(async {
        let (locks, others) = shop.locks().await;
        drop(others.acquire("report").await.unwrap().detach());
        locks
    });
    let mut acquire = locks.acquire("report").into_future();
    begins_on.block_on(async {
        tokio::select! {
            ended = &mut acquire => panic!("{ended:?}"),
            () = travel(millis(50)) => {}
        }
    });
    begins_on.shutdown_background();
    expect_error!(waits_on.block_on(&mut acquire), Error::Unavailable(Unavailable::RuntimeEnded));
}

#[tokio::test(start_paused = true)]
async fn extend_and_resume_end_with_their_deadline_and_not_with_a_long_lease() {
    let (shop, locks, _) = Shop::with_locks().await;
    let locks = locks.ttl(secs(3600)).deadline(secs(2));
    let held = locks.acquire("report").heartbeat(false).await.unwrap();
    shop.faults.always(Fault::LoseRequest);
    let started = now();
    let spent = expect_error!(held.extend().await, Error::Exhausted { spent, .. } => spent);
    assert_eq!((started.elapsed(), spent.elapsed), (secs(2), secs(2)));
    assert!(spent.attempts > 0, "{spent:?}");
    let token = held.detach();
    expect_error!(locks.resume(token.clone()).await, Error::Exhausted { .. });
    assert_eq!(started.elapsed(), secs(4));
    shop.faults.clear();
    locks.resume(token).await.unwrap().release().await.unwrap();
}

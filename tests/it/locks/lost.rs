use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll},
};

use dynalock::{Error, error::Lost, local::Fault};

use crate::support::{Shop, TTL, acquire, expect_error, kill, millis, secs, travel};

#[tokio::test(start_paused = true)]
async fn work_is_dropped_before_anybody_else_may_enter() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = locks.acquire("report").await.unwrap();
    shop.faults.always(Fault::NeverAnswer);
    let waiting = tokio::spawn(others.acquire("report").into_future());
    let lost = expect_error!(held.run(std::future::pending::<()>()).await, Error::Lost(lost) => lost);
    assert!(matches!(lost, Lost::Unreachable(_)), "{lost:?}");
    assert!(!waiting.is_finished(), "somebody was in already");
    assert_eq!(waiting.await.unwrap().unwrap().acquired_after_crash(), Some(held.fence()));
}

#[tokio::test(start_paused = true)]
async fn work_that_ends_gives_its_result() {
    let (_, locks, _) = Shop::with_locks().await;
    let held = locks.acquire("report").await.unwrap();
    let work = async {
        travel(secs(100)).await;
        42
    };
    assert_eq!(held.run(work).await.unwrap(), 42);
}

/// Work whose first poll takes longer than a lease, and which wants to continue after this poll.
/// The work counts its polls.
struct Work {
    polls: Arc<AtomicU32>,
    stall: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Work {
    fn new() -> (Arc<AtomicU32>, Self) {
        let polls = Arc::new(AtomicU32::new(0));
        (Arc::clone(&polls), Self { polls, stall: Box::pin(tokio::time::advance(TTL)) })
    }
}

impl Future for Work {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.polls.fetch_add(1, Ordering::Relaxed) == 0 {
            // The clock moves within this poll, before the runtime checks any timer.
            let _ = self.stall.as_mut().poll(context);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn work_is_not_polled_after_the_end_of_the_lease_on_a_runtime_that_stood_still() {
    let (_, locks, _) = Shop::with_locks().await;
    let held = locks.acquire("report").heartbeat(false).await.unwrap();
    let (polls, work) = Work::new();
    // The task wakes itself, so it is polled again before the runtime checks its timers.
    let ran = tokio::spawn(async move { held.run(work).await });
    expect_error!(ran.await.unwrap(), Error::Lost(Lost::Expired));
    assert_eq!(polls.load(Ordering::Relaxed), 1);

    let all = locks.acquire_all(["a", "b"]).heartbeat(false).await.unwrap();
    let (polls, work) = Work::new();
    let ran = tokio::spawn(async move { all.run(work).await });
    expect_error!(ran.await.unwrap(), Error::Lost(Lost::Expired));
    assert_eq!(polls.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_was_deleted_is_a_lost_lock() {
    let (shop, locks, _) = Shop::with_locks().await;
    let held = locks.acquire("report").await.unwrap();
    shop.raw("locks", "name").delete("report").await;
    assert_eq!(held.lost().await, Lost::Deleted);
}

#[tokio::test(start_paused = true)]
async fn six_seconds_of_trouble_do_not_end_a_lease_of_ten() {
    for fault in [Fault::Throttle, Fault::ServerError, Fault::LoseRequest, Fault::NeverAnswer, Fault::LoseReply] {
        let (shop, locks, others) = Shop::with_locks().await;
        let held = locks.acquire("report").await.unwrap();
        travel(millis(2_333)).await;
        shop.faults.always(fault.clone());
        travel(secs(6)).await;
        shop.faults.clear();
        travel(secs(20)).await;
        assert!(others.try_acquire("report").await.unwrap().is_none(), "{fault:?}");
        held.extend().await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_is_dropped_releases() {
    let (_, locks, others) = Shop::with_locks().await;
    drop(locks.acquire("report").await.unwrap());
    travel(secs(1)).await;
    drop(others.try_acquire("report").await.unwrap().expect("it was released"));
}

#[test]
fn a_guard_that_outlives_its_runtime_does_not_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let held = runtime.block_on(async {
        let (_, locks, _) = Shop::with_locks().await;
        locks.acquire("report").await.unwrap()
    });
    drop(runtime);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn an_acquire_that_is_dropped_leaves_no_lock_behind() {
    let (_, locks, others) = Shop::with_locks().await;
    for polls in 0..500_u32 {
        let mut acquire = locks.acquire(format!("report-{polls}")).into_future();
        for _ in 0..polls % 7 {
            let polled = std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut acquire).poll(context))).await;
            if polled.is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(acquire);
    }
    travel(secs(5)).await;
    for polls in 0..500 {
        let left = others.inspect(format!("report-{polls}")).await.unwrap();
        assert!(left.as_ref().is_none_or(|left| left.owner.is_none()), "{left:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_is_dropped_does_not_enter_later() {
    let (_, locks, others) = Shop::with_locks().await;
    let held = others.acquire("report").await.unwrap();
    let waiting = tokio::spawn(locks.acquire("report").into_future());
    travel(secs(3)).await;
    waiting.abort();
    kill(held);
    travel(secs(60)).await;
    assert!(others.try_acquire("report").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_its_guard_has_released_says_so() {
    let (_, locks, _) = Shop::with_locks().await;
    for is_fair in [false, true] {
        let held = acquire(&locks, "report", is_fair).await.unwrap();
        let lost = held.lost();
        held.release().await.unwrap();
        assert_eq!(lost.await, Lost::Released);
        let held = acquire(&locks, "report", is_fair).await.unwrap();
        let lost = held.lost();
        drop(held);
        assert_eq!(lost.await, Lost::Released);
    }
    let both = locks.acquire_all(["a", "b"]).await.unwrap();
    let lost = both.lost();
    both.release().await.unwrap();
    assert_eq!(lost.await, Lost::Released);
}

#[tokio::test(start_paused = true)]
async fn a_release_after_the_end_of_the_lease_keeps_the_first_cause() {
    let (_, locks, _) = Shop::with_locks().await;
    let held = locks.acquire("report").heartbeat(false).await.unwrap();
    travel(TTL).await;
    let lost = held.lost();
    held.release().await.unwrap();
    assert_eq!(lost.await, Lost::Expired);
}

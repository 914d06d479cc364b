//! The time from a release to the next grant, and the requests of the waiters.

use std::time::Duration;

use dynalock::{Error, Locks, error::InvalidSetting, local::Fault};
use tokio::task::JoinSet;

use crate::support::{Shop, acquire, expect_error, millis, now, secs, travel};

/// The time that a request takes.
const ROUND_TRIP: Duration = millis(5);
const HOLD: Duration = millis(20);

/// Returns a process whose requests take time.
fn process(shop: &Shop) -> (Shop, Locks) {
    let (line, locks) = shop.another_process();
    line.faults.always(Fault::Delay(ROUND_TRIP));
    (line, locks.ttl(secs(20)))
}

/// Lets clients of one process hold a lock in turn. Returns the wall time of each grant, and the
/// number of writes and reads.
async fn one_process(clients: u32, is_fair: bool) -> (Duration, usize, usize) {
    let (shop, _, _) = Shop::with_locks().await;
    let (line, locks) = process(&shop);
    let started = now();
    let mut tasks = JoinSet::new();
    for _ in 0..clients {
        let locks = locks.clone();
        tasks.spawn(async move {
            let held = acquire(&locks, "printer", is_fair).await.unwrap();
            travel(HOLD).await;
            held.release().await.unwrap();
        });
    }
    tasks.join_all().await;
    let [writes, reads] = line.counts(["UpdateItem", "GetItem"]);
    (started.elapsed() / clients, writes, reads)
}

#[tokio::test(start_paused = true)]
async fn a_queue_in_one_process_is_handed_over_by_the_answer_to_the_release() {
    let (each, writes, reads) = one_process(32, true).await;
    assert!(each < (HOLD + ROUND_TRIP) * 3 / 2, "{each:?}");
    assert_eq!(writes, 2 * 32);
    assert!(reads <= 3 * 32, "{reads}");
}

#[tokio::test(start_paused = true)]
async fn a_plain_lock_in_one_process_is_handed_over_by_one_write() {
    let (each, writes, reads) = one_process(32, false).await;
    // After four hand-overs in the process, its waiters pause for an interval.
    assert!(each < (HOLD + 2 * ROUND_TRIP) * 3 / 2, "{each:?}");
    // These are the first attempt, the attempt after the hand-over, and the release.
    assert!(writes <= 32 * 7 / 2, "{writes}");
    assert!(reads <= 2 * 32, "{reads}");
}

#[tokio::test(start_paused = true)]
async fn a_plain_lock_does_not_stay_in_one_process_while_another_one_waits() {
    let (shop, _, _) = Shop::with_locks().await;
    let (_many, locks) = process(&shop);
    let (_one, other) = process(&shop);
    let first = locks.acquire("printer").await.unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let locks = locks.clone();
        tasks.spawn(async move {
            let held = locks.acquire("printer").await.unwrap();
            travel(HOLD).await;
            held.release().await.unwrap();
        });
    }
    let waiting = tokio::spawn(other.acquire("printer").into_future());
    travel(HOLD).await;
    let fence = first.fence();
    first.release().await.unwrap();
    let held = waiting.await.unwrap().unwrap();
    assert!(held.fence() - fence < 50, "{} grants to the other process", held.fence() - fence);
    held.release().await.unwrap();
    tasks.join_all().await;
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_is_held_for_a_short_time_is_handed_over_soon_between_processes() {
    for is_fair in [true, false] {
        let (shop, _, _) = Shop::with_locks().await;
        let started = now();
        let mut tasks = JoinSet::new();
        for _ in 0..8 {
            let (_, locks) = process(&shop);
            tasks.spawn(async move {
                let held = acquire(&locks, "printer", is_fair).await.unwrap();
                travel(HOLD).await;
                held.release().await.unwrap();
            });
        }
        tasks.join_all().await;
        let each = started.elapsed() / 8;
        // With an interval that follows the ttl, each grant would take more than 200 milliseconds.
        assert!(each < millis(80), "{is_fair}: {each:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_hold_costs_a_waiter_at_most_fifteen_more_reads_than_the_longest_intervals() {
    for (is_fair, least) in [(true, 40), (false, 10)] {
        let (shop, _, _) = Shop::with_locks().await;
        let held = acquire(&process(&shop).1, "printer", is_fair).await.unwrap();
        let (line, locks) = process(&shop);
        let waiting = tokio::spawn(async move { acquire(&locks, "printer", is_fair).await });
        travel(secs(10)).await;
        let [reads] = line.counts(["GetItem"]);
        assert!(reads <= least * 6 / 5 + 15, "{is_fair}: {reads}");
        drop((held, waiting));
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiter_reads_itself_while_the_read_of_another_waiter_is_not_answered() {
    let (shop, _, _) = Shop::with_locks().await;
    let held = process(&shop).1.acquire("printer").await.unwrap();
    let (line, locks) = shop.another_process();
    let locks = locks.ttl(secs(20)).attempt_timeout(secs(300)).deadline(secs(300));
    let mut waiting = JoinSet::new();
    for _ in 0..2 {
        waiting.spawn(locks.acquire("printer").into_future());
    }
    travel(secs(2)).await;
    line.faults.script_on("GetItem", 0, Fault::NeverAnswer);
    // The next read is sent within an interval.
    travel(secs(2)).await;
    held.release().await.unwrap();
    let started = now();
    let held = waiting.join_next().await.unwrap().unwrap().unwrap();
    assert!(started.elapsed() < secs(2), "{:?}", started.elapsed());
    held.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn refresh_bounds_the_interval() {
    for is_fair in [true, false] {
        let (shop, _, _) = Shop::with_locks().await;
        let held = acquire(&process(&shop).1, "printer", is_fair).await.unwrap();
        let (line, locks) = process(&shop);
        let locks = locks.refresh(secs(2), secs(3));
        let waiting = tokio::spawn(async move { acquire(&locks, "printer", is_fair).await });
        travel(secs(30)).await;
        let [reads] = line.counts(["GetItem"]);
        assert!((30 * 2 / 9..=30 / 2).contains(&reads), "{is_fair}: {reads}");
        drop((held, waiting));
    }
}

#[tokio::test(start_paused = true)]
async fn a_refresh_that_allows_no_interval_is_refused() {
    let (shop, locks, _) = Shop::with_locks().await;
    for (min, max) in [(Duration::ZERO, secs(1)), (secs(2), secs(1))] {
        let refused = locks.acquire("printer").refresh(min, max).await;
        expect_error!(refused, Error::InvalidSetting(InvalidSetting::Refresh { .. }));
    }
    assert_eq!(shop.requests(), 0);
}

//! Callers that crash, are paused, or have another clock.

use aws_sdk_dynamodb::{Client, config::SharedHttpClient};
use dynalock::{
    Error, Expiry, LockGuard, Locks, Wait,
    error::{Lost, Spent},
    local::{Database, Fault, Faults},
    private::ClockAhead as _,
};
use tokio::task::JoinHandle;

use crate::{
    storms::Deviation,
    support::{SKEW, Shop, TTL, expect_error, kill, layer::Layer, millis, now, row_of, secs, settle, travel},
};

/// Makes a caller crash while it waits: no further request of it arrives.
async fn crashed_waiter(shop: &Shop) -> JoinHandle<()> {
    let (waiter, locks) = shop.another_process();
    let waiting = tokio::spawn(locks.acquire("printer").fair().into_future());
    travel(millis(100)).await;
    waiter.faults.always(Fault::NeverAnswer);
    tokio::spawn(async move { drop(waiting.await) })
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_died_costs_one_ttl_at_the_head() {
    for dead in [1, 3] {
        let (shop, locks, others) = Shop::with_locks().await;
        let first = others.acquire("printer").fair().await.unwrap();
        for _ in 0..dead {
            crashed_waiter(&shop).await;
        }
        let waiting = tokio::spawn(locks.acquire("printer").fair().into_future());
        travel(secs(60)).await;
        let (fence, started) = (first.fence(), now());
        first.release().await.unwrap();
        let next = waiting.await.unwrap().unwrap();
        let took = started.elapsed();
        assert!(
            took >= dead * TTL.saturating_sub(millis(1)) && took < dead * (TTL + SKEW + secs(1)),
            "{dead}: {took:?}"
        );
        let last = fence + u64::from(dead);
        assert_eq!((next.fence(), next.acquired_after_crash()), (last + 1, Some(last)));
        assert_eq!(others.queue("printer").await.unwrap().len(), 1);
    }
}

type Waiting = JoinHandle<Result<LockGuard, Error>>;

/// Runs a holder, a waiter whose process may be cut off, and a waiter behind it.
struct Line {
    first: LockGuard,
    slow: Shop,
    waiting: Waiting,
    behind: Waiting,
    others: Locks,
}

impl Line {
    async fn new() -> Self {
        let (shop, locks, others) = Shop::with_locks().await;
        let first = others.acquire("printer").fair().await.unwrap();
        let (slow, slow_locks) = shop.another_process();
        let slow_locks = slow_locks.deadline(secs(60));
        let waiting = tokio::spawn(slow_locks.acquire("printer").fair().into_future());
        travel(millis(100)).await;
        let behind = tokio::spawn(locks.acquire("printer").fair().into_future());
        travel(secs(1)).await;
        Self { first, slow, waiting, behind, others }
    }
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_shows_itself_in_time_is_not_skipped() {
    let Line { first, slow, waiting, behind, .. } = Line::new().await;
    // No request of the waiter arrives for most of a ttl.
    slow.faults.always(Fault::LoseRequest);
    first.release().await.unwrap();
    travel(secs(7)).await;
    slow.faults.clear();
    travel(secs(30)).await;
    let held = waiting.await.unwrap().unwrap();
    assert!(!behind.is_finished() && held.remaining() > secs(1));
    held.release().await.unwrap();
    behind.await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_stood_still_learns_that_its_turn_is_over() {
    let Line { first, slow, waiting, behind, others } = Line::new().await;
    slow.faults.always(Fault::LoseRequest);
    first.release().await.unwrap();
    let next = behind.await.unwrap().unwrap();
    slow.faults.clear();
    let name =
        expect_error!(waiting.await.unwrap(), Error::Evicted { name, spent: Spent { attempts: 1, .. }, .. } => name);
    assert_eq!(name.as_deref(), Some("printer"));
    settle().await;
    assert_eq!(others.queue("printer").await.unwrap().len(), 1);
    assert!(next.remaining() > secs(1));
}

#[tokio::test(start_paused = true)]
async fn an_evicted_holder_is_told_and_nothing_of_it_counts_any_more() {
    let (_, locks, others) = Shop::with_locks().await;
    let paused = locks.acquire("printer").fair().heartbeat(false).await.unwrap();
    let waiting = tokio::spawn(others.acquire("printer").fair().into_future());
    travel(TTL.saturating_sub(millis(1))).await;
    assert!(!waiting.is_finished());
    assert_eq!(paused.lost().await, Lost::Expired);
    let next = waiting.await.unwrap().unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (paused.fence() + 1, Some(paused.fence())));
    expect_error!(paused.extend().await, Error::Lost(_));
    expect_error!(locks.resume(paused.token()).await, Error::Lost(Lost::Stolen { .. }));
    paused.release().await.unwrap();
    row_of(&others, &next).await;
    next.extend().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_late_heartbeat_of_an_evicted_holder_changes_nothing() {
    let (shop, locks, others) = Shop::with_locks().await;
    let dead = locks.acquire("printer").fair().heartbeat(false).await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::DeliverLate(secs(20)));
    shop.faults.script_on("UpdateItem", 1, Fault::LoseRequest);
    let beating = tokio::time::timeout(millis(20), dead.extend()).await;
    assert!(beating.is_err(), "{beating:?}");
    kill(dead);
    let next = others.acquire("printer").fair().heartbeat(false).await.unwrap();
    let raw = shop.raw("locks", "name");
    let before = raw.get("printer").await.unwrap();
    travel(secs(9)).await;
    assert_eq!(raw.get("printer").await.unwrap(), before);
    assert!(!next.remaining().is_zero());
}

#[tokio::test(start_paused = true)]
async fn clocks_that_differ_by_no_more_than_the_skew_let_nobody_in_early() {
    for (ahead, behind) in [(1_900, 0), (0, -1_900), (950, -950)] {
        let (_, locks, others) = Shop::with_locks().await;
        let (early, late) = (others.clone().clock_ahead_by_millis(ahead), locks.clock_ahead_by_millis(behind));
        let first = late.acquire("printer").fair().await.unwrap();
        let waiting = tokio::spawn(early.acquire("printer").fair().heartbeat(false).into_future());
        travel(secs(1)).await;
        first.release().await.unwrap();
        let held = waiting.await.unwrap().unwrap();
        // A caller whose clock is behind has stored the time of this turn.
        while !held.remaining().is_zero() {
            assert!(early.try_acquire("printer").await.unwrap().is_none(), "{held:?}");
            assert!(late.try_acquire("printer").fair().await.unwrap().is_none(), "{held:?}");
            travel(millis(20)).await;
        }
        travel(SKEW + millis(1_950)).await;
        drop(late.try_acquire("printer").await.unwrap().expect("it has ended for all"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_observed_rule_stands_any_clock() {
    let (_, locks, others) = Shop::with_locks().await;
    let mad = others.clock_ahead_by_millis(1_000_000_000).expiry(Expiry::Observed);
    let locks = locks.expiry(Expiry::Observed);
    for heartbeat in [true, false] {
        let held = locks.acquire("printer").fair().heartbeat(heartbeat).await.unwrap();
        let fence = held.fence();
        if heartbeat {
            expect_error!(mad.acquire("printer").fair().wait(secs(120)).await, Error::Locked(_));
        }
        let waiting = tokio::spawn(mad.acquire("printer").fair().wait(secs(120)).into_future());
        travel(secs(1)).await;
        if heartbeat {
            kill(held);
        } else {
            assert_eq!(held.lost().await, Lost::Expired);
            assert!(!waiting.is_finished());
        }
        let next = waiting.await.unwrap().unwrap();
        assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 1, Some(fence)));
        next.release().await.unwrap();
    }
}

/// A plain holder that has lost its lock releases it late. The refusal of the release shows the
/// head of the queue, and does not show when that entry became the head.
#[tokio::test(start_paused = true)]
async fn a_refused_release_does_not_start_the_lease_of_a_waiter_in_the_same_process() {
    let ttl = secs(60);
    let (shop, locks, others) = Shop::with_locks().await;
    let [locks, others] = [locks, others].map(|locks| locks.expiry(Expiry::Observed).ttl(ttl).heartbeat(false));
    let late = locks.acquire("printer").await.unwrap();
    let first = others.acquire("printer").fair().wait(2 * ttl).await.unwrap();
    let waiting = tokio::spawn(locks.acquire("printer").fair().refresh(secs(2), secs(2)).into_future());
    // The waiter has just read the first caller as the head, and reads again in two seconds.
    travel(secs(1)).await;
    let [before] = shop.counts(["GetItem"]);
    while shop.counts(["GetItem"]) == [before] {
        travel(millis(5)).await;
    }
    first.release().await.unwrap();
    travel(millis(500)).await;
    assert!(!waiting.is_finished());
    late.release().await.unwrap();
    let held = waiting.await.unwrap().unwrap();
    assert!(held.remaining() <= ttl.saturating_sub(millis(500)), "{:?}", held.remaining());
}

#[tokio::test(start_paused = true)]
async fn a_short_ttl_of_a_waiter_does_not_shorten_that_of_the_head() {
    for expiry in [Expiry::default(), Expiry::Observed] {
        let (_, locks, others) = Shop::with_locks().await;
        let (locks, others) = (locks.expiry(expiry), others.expiry(expiry));
        let first = locks.acquire("printer").fair().ttl(secs(60)).heartbeat(false).await.unwrap();
        let waiting = tokio::spawn(others.acquire("printer").fair().ttl(secs(2)).into_future());
        let plain = tokio::spawn(others.acquire("printer").ttl(secs(2)).wait(secs(50)).into_future());
        travel(secs(59)).await;
        assert!(!waiting.is_finished() && first.remaining() > millis(900));
        expect_error!(plain.await.unwrap(), Error::Locked(_));
        first.extend().await.unwrap();
        travel(secs(59)).await;
        assert!(!waiting.is_finished() && first.remaining() > millis(900));
        let started = now();
        first.release().await.unwrap();
        let short = waiting.await.unwrap().unwrap();
        assert!(started.elapsed() < secs(1), "{:?}", started.elapsed());
        // A caller with a long ttl waits for the short ttl of the head.
        kill(short);
        let started = now();
        let next = locks.acquire("printer").fair().ttl(secs(60)).await.unwrap();
        assert!(started.elapsed() < secs(2) + SKEW + secs(1), "{:?}", started.elapsed());
        next.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_that_died_without_a_beat_lets_plain_requests_through() {
    let (_, locks, others) = Shop::with_locks().await;
    let fence = kill(locks.acquire("printer").fair().await.unwrap());
    travel((TTL + SKEW).saturating_sub(millis(100))).await;
    assert!(others.try_acquire("printer").await.unwrap().is_none());
    travel(millis(200)).await;
    let held = others.try_acquire("printer").await.unwrap().unwrap();
    assert_eq!((held.fence(), held.acquired_after_crash()), (fence + 1, Some(fence)));
}

/// The age of a turn counts from the request that began it, even if this request was slow.
#[tokio::test(start_paused = true)]
async fn a_release_that_comes_late_does_not_shorten_the_turn_of_the_next_one() {
    let (shop, locks, others) = Shop::with_locks().await;
    let first = locks.acquire("printer").fair().await.unwrap();
    let waiting = tokio::spawn(others.acquire("printer").fair().heartbeat(false).into_future());
    travel(millis(500)).await;
    shop.faults.script_on("UpdateItem", 0, Fault::DeliverLate(secs(6)));
    shop.faults.script_on("UpdateItem", 1, Fault::AccessDenied);
    expect_error!(first.release().await, Error::Rejected(_));
    let next = waiting.await.unwrap().unwrap();
    while !next.remaining().is_zero() {
        assert!(others.try_acquire("printer").await.unwrap().is_none(), "{next:?}");
        travel(millis(20)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_delayed_duplicate_of_a_request_for_a_place_does_not_shorten_the_turn_of_the_head() {
    let (shop, locks, others) = Shop::with_locks().await;
    shop.faults.script_on("UpdateItem", 0, Fault::DeliverLate(secs(7)));
    locks.acquire("printer").fair().await.unwrap().release().await.unwrap();
    others.acquire("printer").fair().await.unwrap().release().await.unwrap();
    travel(millis(6_500)).await;
    let held = others.acquire("printer").fair().heartbeat(false).await.unwrap();
    while !held.remaining().is_zero() {
        assert!(others.try_acquire("printer").await.unwrap().is_none(), "{held:?}");
        // The orphaned entry gets no advantage, either.
        assert_eq!(others.queue("printer").await.unwrap()[0].owner, held.owner());
        travel(millis(20)).await;
    }
}

/// Returns whether a head that has sent a heartbeat again is still in the queue, after a late
/// request that removes it for its earlier silence.
async fn after_a_late_eviction(deviation: Deviation) -> bool {
    let database = Database::in_memory().unwrap();
    let (plain, faults) = (database.client(), Faults::none());
    let http = deviation.wrap(faults.wrap(SharedHttpClient::new(database.connector())));
    let client = Client::from_conf(plain.config().to_builder().http_client(http).build());
    let [locks, others] = [&client, &plain].map(|client| Locks::new(client, "locks").ttl(TTL).wait(Wait::Forever));
    others.create_table().await.unwrap();
    let token = others.acquire("printer").fair().await.unwrap().detach();
    travel(TTL + SKEW + millis(100)).await;
    // The first request is a refused enqueue. The second request removes the head and arrives late.
    // The third request fails, which ends the call.
    faults.script_on("UpdateItem", 1, Fault::DeliverLate(secs(1)));
    faults.script_on("UpdateItem", 2, Fault::AccessDenied);
    expect_error!(locks.try_acquire("printer").fair().await, Error::Rejected(_));
    let held = others.resume(token).await.unwrap();
    travel(secs(2)).await;
    others.queue("printer").await.unwrap().first().is_some_and(|head| head.owner == held.owner())
}

#[tokio::test(start_paused = true)]
async fn a_head_that_has_shown_itself_is_not_taken_out_for_its_silence_before() {
    assert!(after_a_late_eviction(Deviation::None).await);
    // The beat in the condition protects the head.
    assert!(!after_a_late_eviction(Deviation::EvictWithoutTheBeat).await);
}

/// The entry contains the time of its enqueue, and not the time at which the call began to wait for
/// a holder outside of the queue.
#[tokio::test(start_paused = true)]
async fn a_long_wait_for_a_plain_holder_does_not_shorten_the_turn() {
    let (shop, locks, others) = Shop::with_locks().await;
    let plain = others.acquire("printer").await.unwrap();
    let waiting = tokio::spawn(locks.acquire("printer").fair().into_future());
    travel(TTL * 3).await;
    assert_eq!(others.queue("printer").await.unwrap(), []);
    // The request after the enqueue, if there is one.
    shop.faults.script_on("UpdateItem", 1, Fault::Delay(secs(2)));
    plain.release().await.unwrap();
    while others.queue("printer").await.unwrap().is_empty() {
        travel(millis(10)).await;
    }
    assert!(others.try_acquire("printer").await.unwrap().is_none());
    let held = waiting.await.unwrap().unwrap();
    assert!(held.remaining() + secs(1) > TTL, "{held:?}");
}

//! The end of a call that gets no answers.

use std::{sync::Arc, time::Duration};

use dynalock::{Error, Expiry, Locks, Wait, error::Unavailable, local::Fault};

use crate::support::{SKEW, Shop, TTL, acquire, expect_error, kill, millis, now, secs, travel};

/// Returns the error of a call that gets no answers, and its duration.
async fn unanswered<G: std::fmt::Debug>(call: impl IntoFuture<Output = Result<G, Error>>) -> (Error, Duration) {
    let started = now();
    let error = call.into_future().await.unwrap_err();
    (error, started.elapsed())
}

fn is_timeout(error: &Error) -> bool {
    let Error::Exhausted { last, .. } = error else { return false };
    matches!(**last, Error::Unavailable(Unavailable::Timeout))
}

fn all_end_at(calls: &[(Error, Duration)], time: Duration) {
    for (call, (error, took)) in calls.iter().enumerate() {
        assert!(is_timeout(error), "{call}: {error:?}");
        assert_eq!(*took, time, "{call}");
    }
}

/// Limits that are shorter and longer than the defaults.
const TIMES: [Duration; 4] = [millis(200), secs(1), secs(7), secs(30)];

#[tokio::test(start_paused = true)]
async fn a_deadline_ends_each_kind_of_call_at_its_time() {
    for time in TIMES {
        let (shop, locks, _) = Shop::with_locks().await;
        let locks = locks.deadline(time);
        shop.faults.always(Fault::NeverAnswer);
        let calls = [
            unanswered(locks.acquire("a")).await,
            unanswered(locks.try_acquire("a")).await,
            unanswered(locks.acquire_all(["b", "c"])).await,
            unanswered(locks.acquire("d").fair()).await,
            unanswered(locks.try_acquire("e").fair()).await,
            unanswered(locks.acquire_all(["f", "g"]).fair()).await,
            unanswered(locks.acquire("h").wait(secs(300))).await,
        ];
        all_end_at(&calls, time);
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_each_kind_of_call_at_its_time() {
    for time in [millis(200), secs(1), secs(4)] {
        let (shop, locks, _) = Shop::with_locks().await;
        shop.faults.always(Fault::NeverAnswer);
        let calls = [
            unanswered(locks.acquire("a").wait(time)).await,
            unanswered(locks.acquire_all(["b", "c"]).wait(time)).await,
            unanswered(locks.acquire("d").fair().wait(time)).await,
            unanswered(locks.acquire_all(["f", "g"]).fair().wait(time)).await,
        ];
        all_end_at(&calls, time);
    }
}

/// Returns the wait for a lock that another caller holds. The connection is cut while the call
/// waits.
async fn cut_while_waiting(locks: Locks, is_fair: bool, wait: Duration) -> (Error, Duration) {
    match is_fair {
        false => unanswered(locks.acquire("report").wait(wait)).await,
        true => unanswered(locks.acquire("report").fair().wait(wait)).await,
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_holder_ends_at_its_time_though_nothing_answers_any_more() {
    for holder_is_fair in [false, true] {
        for is_fair in [false, true] {
            let (shop, locks, others) = Shop::with_locks().await;
            let held = acquire(&others, "report", holder_is_fair).await.unwrap();
            let waiting = tokio::spawn(cut_while_waiting(locks, is_fair, secs(3)));
            travel(millis(500)).await;
            shop.faults.always(Fault::NeverAnswer);
            let (error, took) = waiting.await.unwrap();
            let locked = expect_error!(Err::<(), _>(error), Error::Locked(locked) => locked);
            assert_eq!(&*locked.owner, held.owner(), "{holder_is_fair} {is_fair}");
            assert!(took >= secs(3) && took <= millis(3_100), "{holder_is_fair} {is_fair}: {took:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_ends_also_the_heartbeat_that_a_grant_is_renewed_with() {
    let (shop, locks, _) = Shop::with_locks().await;
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    // The second request shows that the first request was granted. After the second request, no
    // request is answered.
    for nth in 2..100 {
        shop.faults.script_on("UpdateItem", nth, Fault::NeverAnswer);
    }
    let (error, took) = unanswered(locks.deadline(secs(2)).acquire("report").ttl(secs(600))).await;
    assert!(is_timeout(&error), "{error:?}");
    assert!(took >= secs(2) && took < millis(2_100), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_grant_after_the_end_of_the_call_is_released() {
    for is_fair in [false, true] {
        let (shop, locks, others) = Shop::with_locks().await;
        shop.faults.script_on("UpdateItem", 0, Fault::NeverAnswerAfterApply);
        let (error, took) = cut_while_waiting(locks, is_fair, millis(200)).await;
        assert!(is_timeout(&error), "{error:?}");
        assert_eq!(took, millis(200));
        travel(millis(100)).await;
        others.try_acquire("report").await.unwrap().expect("it was given back").release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_try_is_ended_by_its_deadline_and_not_by_a_wait_of_nothing() {
    let (shop, locks, _) = Shop::with_locks().await;
    for wait in [Wait::No, Wait::For(Duration::ZERO)] {
        shop.faults.script_on("UpdateItem", 0, Fault::Delay(millis(700)));
        let held = locks.acquire("report").wait(wait).await.unwrap();
        held.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_of_many_items_is_not_given_up_on_a_slow_server() {
    let (shop, locks, _) = Shop::with_locks().await;
    let names = |count: usize| (0..count).map(|number| Arc::from(format!("lock-{number}"))).collect::<Vec<Arc<str>>>();
    // The timeout is a second, plus 20 milliseconds for each item after the first.
    for (items, delay, requests) in
        [(100, millis(2_900), 1), (50, millis(1_900), 1), (2, millis(1_010), 1), (2, millis(1_900), 2)]
    {
        let before = shop.faults.count("TransactWriteItems");
        shop.faults.script_on("TransactWriteItems", 0, Fault::Delay(delay));
        let all = locks.acquire_all(names(items)).heartbeat(false).await.unwrap();
        assert_eq!(shop.faults.count("TransactWriteItems") - before, requests, "{items} {delay:?}");
        all.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn requests_for_an_expired_lock_that_stays_refused_back_off() {
    for expiry in [Expiry::default(), Expiry::Observed] {
        for kind in ["plain", "fair", "all", "all in turn"] {
            let (shop, locks, others) = Shop::with_locks().await;
            let (locks, others) = (locks.expiry(expiry), others.expiry(expiry));
            kill(others.acquire("report").await.unwrap());
            // At the time of the read, the row no longer shows a reason for the refusals.
            for nth in 0..20_000 {
                for operation in ["UpdateItem", "TransactWriteItems"] {
                    shop.faults.script_on(operation, nth, refusal(operation));
                }
            }
            let wait = secs(60);
            let error = match kind {
                "plain" => locks.acquire("report").wait(wait).await.unwrap_err(),
                "fair" => locks.acquire("report").fair().wait(wait).await.unwrap_err(),
                "all" => locks.acquire_all(["other", "report"]).wait(wait).await.unwrap_err(),
                _ => locks.acquire_all(["other", "report"]).fair().wait(wait).await.unwrap_err(),
            };
            assert!(matches!(error, Error::Locked(_) | Error::Exhausted { .. }), "{kind}: {error:?}");
            let [writes, transactions] = shop.counts(["UpdateItem", "TransactWriteItems"]);
            assert!(writes + transactions < 400, "{expiry:?}, {kind}: {writes} and {transactions} in a minute");
        }
    }
}

fn refusal(operation: &str) -> Fault {
    match operation {
        "UpdateItem" => Fault::error("ConditionalCheckFailedException"),
        _ => Fault::canceled(["None", "ConditionalCheckFailed"]),
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_limit_waits_for_twice_the_ttl_and_the_skew() {
    let (shop, _, others) = Shop::with_locks().await;
    let locks = Locks::new(&shop.client, "locks").ttl(TTL);
    let held = others.acquire_all(["a", "b"]).await.unwrap();
    let (a, b) = (locks.acquire("a"), locks.acquire_all(["a", "b"]));
    let started = now();
    let (one, all) = tokio::join!(a.into_future(), b.into_future());
    expect_error!(one, Error::Locked(_));
    expect_error!(all, Error::Locked(_));
    assert_eq!(started.elapsed().as_secs(), (2 * TTL + SKEW).as_secs());
    held.release().await.unwrap();
    // The default wait is long enough for the lock of a crashed holder.
    kill(others.acquire("a").await.unwrap());
    assert!(locks.acquire("a").await.unwrap().acquired_after_crash().is_some());
}

//! A process resumes the token of another process, whose requests may still arrive.

use dynalock::{Error, LockGuard, error::Lost, local::Fault};

use crate::support::{SKEW, Shop, TTL, expect_error, kill, millis, now, secs, travel};

/// Returns the token of a process that dies while this number of its heartbeats is delayed by this
/// time.
async fn dies_beating(shop: &Shop, held: LockGuard, heartbeats: usize, late: std::time::Duration) {
    for nth in 0..heartbeats {
        shop.faults.script_on("UpdateItem", nth, Fault::DeliverLate(late));
    }
    let before = shop.faults.count("UpdateItem");
    let beating = tokio::spawn(async move {
        let beat = held.extend().await;
        (held, beat)
    });
    while shop.faults.count("UpdateItem") < before + heartbeats {
        travel(millis(1)).await;
    }
    shop.faults.always(Fault::NeverAnswer);
    beating.abort();
    drop(beating.await);
}

#[tokio::test(start_paused = true)]
async fn a_late_heartbeat_of_a_crashed_process_does_not_shorten_the_lease_of_the_one_that_resumed_it() {
    for is_fair in [false, true] {
        for heartbeats in [1, 2, 3] {
            let (shop, locks, others) = Shop::with_locks().await;
            let held = match is_fair {
                false => locks.acquire("report").heartbeat(false).await.unwrap(),
                true => locks.acquire("report").fair().heartbeat(false).await.unwrap(),
            };
            let token = held.token();
            dies_beating(&shop, held, heartbeats, TTL).await;
            travel(TTL.saturating_sub(millis(900))).await;
            let resumed = others.clone().heartbeat(false).resume(token).await.unwrap();
            let started = now();
            let other = others.acquire("report").wait(secs(30)).heartbeat(false).await.unwrap();
            let of = format!("{is_fair}, {heartbeats}: {:?}", started.elapsed());
            assert!(resumed.remaining().is_zero(), "{of}");
            assert!(started.elapsed() > TTL + SKEW.saturating_sub(millis(100)), "{of}");
            assert_eq!(other.fence(), resumed.fence() + 1, "{of}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_of_a_process_that_has_beaten_since_is_resumed_above_its_beats() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = locks.acquire("report").heartbeat(false).await.unwrap();
    let token = held.token();
    for _ in 0..5 {
        held.extend().await.unwrap();
    }
    let beat = async || shop.raw("locks", "name").get("report").await.unwrap()["_beat"].as_n().unwrap().clone();
    assert_eq!(beat().await, "5");
    kill(held);
    let first = others.resume(token.clone()).await.unwrap();
    let of_the_first: u64 = beat().await.parse().unwrap();
    let second = others.resume(token).await.unwrap();
    let of_the_second: u64 = beat().await.parse().unwrap();
    assert!(of_the_first > 1_000_000 && of_the_second > of_the_first + 1_000_000, "{of_the_first} {of_the_second}");
    first.extend().await.unwrap();
    second.extend().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_whose_reply_was_lost_is_sent_again() {
    for fault in [Fault::LoseReply, Fault::NeverAnswerAfterApply, Fault::ErrorAfterApply, Fault::DeliverTwice] {
        let (shop, locks, others) = Shop::with_locks().await;
        let held = locks.acquire("report").heartbeat(false).await.unwrap();
        travel(secs(5)).await;
        shop.faults.script_on("UpdateItem", 0, fault.clone());
        held.extend().await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        let row = others.inspect("report").await.unwrap().unwrap();
        assert!(held.remaining() > secs(8) && held.remaining() <= row.remaining + millis(1), "{fault:?}: {held:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_resumed_again_after_a_heartbeat_that_failed() {
    let (shop, locks, others) = Shop::with_locks().await;
    let token = others.acquire("report").await.unwrap().detach();
    shop.faults.script_on("UpdateItem", 0, Fault::AccessDenied);
    expect_error!(locks.resume(token.clone()).await, Error::Rejected(_));
    travel(secs(1)).await;
    let resumed = locks.resume(token).await.unwrap();
    assert!(others.try_acquire("report").await.unwrap().is_none());
    others.break_lock("report", resumed.fence()).await.unwrap();
    assert_eq!(resumed.lost().await, Lost::Expired);
}

//! Rows with content of another program that this library would not write.

use aws_sdk_dynamodb::types::AttributeValue;
use dynalock::{Error, Expiry, Wait, error::Lost};

use crate::support::{SKEW, Shop, TTL, acquire, expect_error, millis, n, now, s, secs, travel};

/// Numbers that are higher than the number of each possible heartbeat.
fn odd_beats() -> [AttributeValue; 5] {
    [n("1e38"), n("18446744073709551615"), s("x"), AttributeValue::Bool(true), AttributeValue::Null(true)]
}

#[tokio::test(start_paused = true)]
async fn a_head_in_a_row_with_an_odd_beat_beats_with_pauses_and_is_told_why_it_is_lost() {
    for beat in odd_beats() {
        let (shop, locks, others) = Shop::with_locks().await;
        shop.raw("locks", "name").set("printer", "_beat", beat.clone()).await;
        let held = locks.acquire("printer").fair().await.unwrap();
        expect_error!(held.extend().await, Error::Corrupt { attribute: "_beat", .. });
        let lost = held.lost().await;
        assert!(matches!(&lost, Lost::Unreachable(why) if why.contains("_beat")), "{beat:?}: {lost:?}");
        let [writes] = shop.counts(["UpdateItem"]);
        assert!(writes < 20, "{beat:?}: {writes} conditional writes in a lease");
        // The end of the first turn removes it.
        held.release().await.unwrap();
        let next = others.acquire("printer").fair().await.unwrap();
        next.extend().await.unwrap();
        travel(3 * TTL).await;
        assert!(next.remaining() > secs(1), "{beat:?}: {next:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_beat_between_two_whole_numbers_is_beaten_by_the_next_one() {
    let (shop, locks, _) = Shop::with_locks().await;
    shop.raw("locks", "name").set("printer", "_beat", n("7.5")).await;
    let held = locks.acquire("printer").fair().await.unwrap();
    held.extend().await.unwrap();
    assert_eq!(shop.counts(["UpdateItem"]), [2]);
}

#[tokio::test(start_paused = true)]
async fn an_end_that_another_program_has_left_is_not_that_of_the_head() {
    // A holder that does not know the queue has also left a beat.
    for has_beat in [false, true] {
        let (shop, locks, others) = Shop::with_locks().await;
        if has_beat {
            let plain = others.acquire("printer").await.unwrap();
            plain.extend().await.unwrap();
            plain.release().await.unwrap();
        }
        shop.raw("locks", "name").set("printer", "_until", n(1_000_000)).await;
        let held = locks.acquire("printer").fair().heartbeat(false).await.unwrap();
        let started = now();
        assert!(others.try_acquire("printer").await.unwrap().is_none());
        let waiting = tokio::spawn(others.acquire("printer").fair().into_future());
        expect_error!(others.acquire("printer").wait(millis(500)).await, Error::Locked(_));
        travel(TTL.saturating_sub(secs(1))).await;
        assert!(!waiting.is_finished() && !held.remaining().is_zero(), "{has_beat}");
        let next = waiting.await.unwrap().unwrap();
        assert!(held.remaining().is_zero() && started.elapsed() < TTL + SKEW + secs(1), "{has_beat}");
        assert_eq!(next.acquired_after_crash(), Some(held.fence()));
    }
}

/// Entries and owners that are not texts.
fn odd_values() -> [AttributeValue; 4] {
    [n(4711), AttributeValue::Bool(true), AttributeValue::L(vec![s("x")]), AttributeValue::Null(true)]
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_call_takes_over_an_expired_owner_that_is_no_text() {
    for owner in odd_values() {
        for expiry in [Expiry::default(), Expiry::Observed] {
            for is_fair in [false, true] {
                let (shop, locks, others) = Shop::with_locks().await;
                let raw = shop.raw("locks", "name");
                raw.set("printer", "_owner", owner.clone()).await;
                let end = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() + 5_000;
                raw.set("printer", "_until", n(end)).await;
                let locks = locks.expiry(expiry).wait(secs(60));
                let held = acquire(&locks, "printer", is_fair).await;
                let held = held.unwrap_or_else(|error| panic!("{owner:?} {expiry:?} {is_fair}: {error}"));
                let [writes] = shop.counts(["UpdateItem"]);
                assert!(writes <= 4, "{owner:?} {expiry:?} {is_fair}: {writes}");
                assert_eq!(others.inspect("printer").await.unwrap().unwrap().owner.as_deref(), Some(held.owner()));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_call_evicts_an_expired_head_that_is_no_text() {
    for head in odd_values() {
        for is_fair in [false, true] {
            let (shop, locks, _) = Shop::with_locks().await;
            let raw = shop.raw("locks", "name");
            raw.set("printer", "_fence", n(7)).await;
            raw.set("printer", "_queue", AttributeValue::L(vec![head.clone()])).await;
            let locks = locks.expiry(Expiry::Observed).wait(secs(60));
            let held = acquire(&locks, "printer", is_fair).await;
            let held = held.unwrap_or_else(|error| panic!("{head:?} {is_fair}: {error}"));
            assert_eq!(held.acquired_after_crash(), Some(8), "{head:?} {is_fair}");
            let [writes] = shop.counts(["UpdateItem"]);
            assert!(writes <= 4, "{head:?} {is_fair}: {writes}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn heartbeat_attributes_that_are_no_numbers_are_compared_as_they_are() {
    for attribute in ["_beat", "_until"] {
        let (shop, locks, _) = Shop::with_locks().await;
        let raw = shop.raw("locks", "name");
        raw.set("printer", "_owner", s("somebody")).await;
        raw.set("printer", attribute, s("soon")).await;
        let held = locks.expiry(Expiry::Observed).acquire("printer").wait(secs(60)).await;
        let held = held.unwrap_or_else(|error| panic!("{attribute}: {error}"));
        held.extend().await.unwrap();
        assert_eq!(shop.counts(["UpdateItem"]), [3], "{attribute}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_of_another_program_without_an_end_is_waited_for_by_reads() {
    let (shop, locks, _) = Shop::with_locks().await;
    shop.raw("locks", "name").set("printer", "_owner", s("somebody")).await;
    expect_error!(locks.acquire("printer").wait(secs(5)).await, Error::Locked(_));
    assert_eq!(shop.counts(["UpdateItem"]), [1]);
    expect_error!(locks.acquire("printer").wait(Wait::No).await, Error::Locked(_));
}

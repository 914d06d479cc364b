use dynalock::{Error, Expiry, error::Lost, private::ClockAhead as _};

use crate::support::{SKEW, Shop, TTL, expect_error, kill, millis, now, secs, stolen_by, travel};

#[tokio::test(start_paused = true)]
async fn a_lock_whose_holder_died_is_taken_over_after_its_ttl_and_the_skew() {
    let (_, locks, others) = Shop::with_locks().await;
    let fence = kill(others.acquire("report").await.unwrap());
    travel(millis(11_900)).await;
    assert!(locks.try_acquire("report").await.unwrap().is_none());
    travel(millis(200)).await;
    // A process without earlier observations needs only one request.
    let held = locks.try_acquire("report").await.unwrap().unwrap();
    assert_eq!((held.fence(), held.acquired_after_crash()), (fence + 1, Some(fence)));
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_beats_keeps_its_lock_for_as_long_as_it_likes() {
    let (_, locks, others) = Shop::with_locks().await;
    let held = locks.acquire("report").await.unwrap();
    for _ in 0..40 {
        travel(secs(7)).await;
        assert!(others.try_acquire("report").await.unwrap().is_none());
        assert!(held.remaining() > secs(5), "{held:?}");
    }
    held.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_longest_time_ends_a_lock() {
    let (_, locks, _) = Shop::with_locks().await;
    let held = locks.acquire("report").max_hold(secs(60)).await.unwrap();
    let started = now();
    assert_eq!(held.lost().await, Lost::Expired);
    let took = started.elapsed();
    assert!(took >= secs(60) && took <= secs(60) + TTL, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn clocks_that_differ_by_no_more_than_the_skew_let_nobody_in_early() {
    let (_, locks, others) = Shop::with_locks().await;
    let early = others.clone().clock_ahead_by_millis(1_900);
    let held = locks.acquire("report").heartbeat(false).await.unwrap();
    travel(millis(9_950)).await;
    assert!(early.try_acquire("report").await.unwrap().is_none());
    assert!(held.remaining() > millis(0));
    travel(millis(60)).await;
    assert_eq!(held.lost().await, Lost::Expired);
    travel(secs(1)).await;
    drop(early.try_acquire("report").await.unwrap().expect("it has ended for all"));
}

#[tokio::test(start_paused = true)]
async fn clocks_that_differ_by_more_than_skew_and_lease_break_the_clock_rule_and_the_fence_holds() {
    let (_, locks, others) = Shop::with_locks().await;
    let ahead = others.clone().clock_ahead_by_millis(13_000);
    let held = locks.acquire("report").heartbeat(false).await.unwrap();
    let thief = ahead.try_acquire("report").await.unwrap().expect("the clock rule does not stand this");
    assert!(held.remaining() > secs(5));
    assert!(thief.fence() > held.fence());
    expect_error!(held.extend().await, Error::Lost(Lost::Stolen { .. }));
}

#[tokio::test(start_paused = true)]
async fn the_observed_rule_stands_any_clock() {
    let (_, locks, others) = Shop::with_locks().await;
    let mad = others.clone().clock_ahead_by_millis(1_000_000_000).expiry(Expiry::Observed);
    let held = locks.acquire("report").expiry(Expiry::Observed).await.unwrap();
    expect_error!(mad.acquire("report").wait(secs(120)).await, Error::Locked(_));
    let fence = held.fence();
    kill(held);
    let started = now();
    let next = mad.acquire("report").wait(secs(120)).await.unwrap();
    assert!(started.elapsed() >= TTL, "{:?}", started.elapsed());
    assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 1, Some(fence)));
}

#[tokio::test(start_paused = true)]
async fn a_paused_holder_is_told_and_refused_after_a_takeover() {
    let (_, locks, others) = Shop::with_locks().await;
    let paused = locks.acquire("report").heartbeat(false).await.unwrap();
    travel(TTL + SKEW + millis(100)).await;
    let next = others.acquire("report").await.unwrap();
    expect_error!(paused.extend().await, Error::Lost(_));
    let work = paused.run(async { panic!("it is not its turn") }).await;
    expect_error!(work, Error::Lost(_) => ());
    // The release of the earlier holder does not free the lock of the next holder.
    paused.release().await.unwrap();
    assert_eq!(others.inspect("report").await.unwrap().unwrap().owner.as_deref(), Some(next.owner()));
    next.extend().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_token_takes_a_lock_to_another_process_unless_it_comes_too_late() {
    let (_, locks, others) = Shop::with_locks().await;
    let held = locks.acquire("a name - with dashes").await.unwrap();
    let (fence, owner) = (held.fence(), held.owner().to_owned());
    let text = serde_json::to_string(&held.detach()).unwrap();
    travel(secs(5)).await;
    let resumed = others.resume(serde_json::from_str(&text).unwrap()).await.unwrap();
    assert_eq!((resumed.fence(), resumed.owner(), resumed.name()), (fence, &*owner, "a name - with dashes"));
    travel(secs(60)).await;
    resumed.extend().await.unwrap();

    let token = resumed.detach();
    travel(TTL + SKEW + secs(1)).await;
    let thief = locks.acquire("a name - with dashes").await.unwrap();
    let lost = expect_error!(others.resume(token).await, Error::Lost(lost) => lost);
    assert_eq!(stolen_by(&lost), (thief.owner(), fence + 1));
    for text in ["", "1-2-3", "1-2-3-4-x", "a-1-1-1-xy", "1-1-1-99-xy"] {
        assert!(text.parse::<dynalock::LockToken>().is_err(), "{text}");
    }
}

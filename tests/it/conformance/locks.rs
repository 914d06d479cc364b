//! Locks by name, plain and fair: the effect of their expressions on the engine. The tests do not
//! wait for the end of a lease, but set a clock forward.

use std::sync::atomic::{AtomicU32, Ordering};

use dynalock::{Error, Locks, Wait, error::Lost, private::ClockAhead as _};

use crate::support::{Shop, expect_error, secs, stolen_by};

cases![
    a_lock_is_granted_once_renewed_and_released,
    an_expired_owner_is_taken_over_and_learns_it,
    several_locks_are_granted_together_or_not_at_all,
    an_operator_breaks_and_retires_locks,
    places_in_a_queue_are_taken_and_left,
    an_expired_head_is_taken_out_of_the_queue,
    plain_and_fair_locks_see_each_other,
    several_queues_are_entered_at_once,
];

/// Returns the locks of a new table: with the current time, and with a clock a minute ahead. For
/// the second clock, each lease without a heartbeat has ended.
async fn locks(shop: &Shop) -> (Locks, Locks) {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let table = format!("locks-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let locks = Locks::new(&shop.client, table).wait(Wait::No).deadline(secs(30));
    locks.create_table().await.unwrap();
    (locks.clone(), locks.clock_ahead_by_millis(60_000))
}

async fn a_lock_is_granted_once_renewed_and_released(shop: &Shop) {
    let (locks, _) = locks(shop).await;
    let held = locks.acquire("report").owner("alice").payload("page 7").await.unwrap();
    held.extend().await.unwrap();
    let locked = expect_error!(locks.acquire("report").await, Error::Locked(locked) => locked);
    assert_eq!((&*locked.owner, locked.fence), (held.owner(), held.fence()));
    let fence = held.fence();
    held.release().await.unwrap();
    let next = locks.acquire("report").await.unwrap();
    assert_eq!((next.fence(), next.payload()), (fence + 1, Some(&b"page 7"[..])));
    next.release().await.unwrap();
}

async fn an_expired_owner_is_taken_over_and_learns_it(shop: &Shop) {
    let (locks, later) = locks(shop).await;
    let dead = locks.acquire("report").heartbeat(false).await.unwrap();
    let next = later.acquire("report").await.unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (dead.fence() + 1, Some(dead.fence())));
    let lost = expect_error!(dead.extend().await, Error::Lost(lost) => lost);
    assert_eq!(stolen_by(&lost), (next.owner(), next.fence()));
    dead.release().await.unwrap();
    assert_eq!(locks.inspect("report").await.unwrap().unwrap().owner.as_deref(), Some(next.owner()));
    next.release().await.unwrap();
}

async fn several_locks_are_granted_together_or_not_at_all(shop: &Shop) {
    let (locks, later) = locks(shop).await;
    let one = locks.acquire("b").heartbeat(false).await.unwrap();
    expect_error!(locks.acquire_all(["a", "b"]).await, Error::Locked(_));
    assert_eq!(locks.inspect("a").await.unwrap(), None);
    let all = later.acquire_all(["a", "b"]).await.unwrap();
    assert_eq!(all.fence("b"), Some(one.fence() + 1));
    all.release().await.unwrap();
}

async fn an_operator_breaks_and_retires_locks(shop: &Shop) {
    let (locks, later) = locks(shop).await;
    let held = locks.acquire("report").await.unwrap();
    assert!(!locks.break_lock("report", held.fence() + 1).await.unwrap());
    assert!(locks.break_lock("report", held.fence()).await.unwrap());
    let queued = locks.acquire("report").fair().await.unwrap();
    assert!(!locks.retire("report").await.unwrap());
    assert!(!locks.break_lock("report", held.fence()).await.unwrap());
    assert!(locks.break_lock("report", queued.fence()).await.unwrap());
    assert_eq!(expect_error!(queued.extend().await, Error::Lost(lost) => lost), Lost::Expired);
    assert!(later.clock_ahead_by_millis(120_000).retire("report").await.unwrap());
    assert_eq!(locks.inspect("report").await.unwrap(), None);
}

async fn places_in_a_queue_are_taken_and_left(shop: &Shop) {
    let (locks, _) = locks(shop).await;
    let first = locks.acquire("printer").fair().payload("page 7").await.unwrap();
    first.extend().await.unwrap();
    let second = locks.acquire("printer").wait(Wait::Forever).fair().owner("bob").enter().await.unwrap();
    let third = locks.acquire("printer").wait(Wait::Forever).fair().enter().await.unwrap();
    assert_eq!((second.position(), third.position()), (1, 2));
    assert!(locks.try_acquire("printer").fair().await.unwrap().is_none());
    let full = locks.acquire("printer").wait(Wait::Forever).fair().max_queue(3).await;
    expect_error!(full, Error::QueueFull { waiting: 2, .. });
    let standing = locks.queue("printer").await.unwrap();
    assert_eq!((standing.len(), &*standing[0].owner), (3, first.owner()));
    assert_eq!(standing[1].owner, "bob");

    let fence = first.fence();
    // This removal is from the middle of the queue.
    drop(second);
    first.release().await.unwrap();
    let third = third.await.unwrap();
    assert!(third.fence() > fence, "{third:?}");
    assert_eq!((third.payload(), third.acquired_after_crash()), (Some(&b"page 7"[..]), None));
    third.release().await.unwrap();
    assert_eq!(locks.queue("printer").await.unwrap(), []);
}

async fn an_expired_head_is_taken_out_of_the_queue(shop: &Shop) {
    let (locks, _) = locks(shop).await;
    for (minutes, beats) in [(1, false), (3, true)] {
        // The caller that removes a head stores the time.
        let [later, even_later] =
            [minutes, minutes + 1].map(|minutes| locks.clone().clock_ahead_by_millis(minutes * 60_000));
        let dead = locks.acquire("printer").fair().heartbeat(false).await.unwrap();
        if beats {
            dead.extend().await.unwrap();
        }
        let next = later.try_acquire("printer").fair().await.unwrap().unwrap();
        assert_eq!((next.fence(), next.acquired_after_crash()), (dead.fence() + 1, Some(dead.fence())));
        let lost = expect_error!(dead.extend().await, Error::Lost(lost) => lost);
        assert_eq!(stolen_by(&lost), (next.owner(), next.fence()));
        next.release().await.unwrap();
        let dead = locks.acquire("printer").fair().heartbeat(false).await.unwrap();
        let plain = even_later.try_acquire("printer").await.unwrap().unwrap();
        assert_eq!((plain.fence(), plain.acquired_after_crash()), (dead.fence() + 1, Some(dead.fence())));
        plain.release().await.unwrap();
    }
}

async fn plain_and_fair_locks_see_each_other(shop: &Shop) {
    let (locks, later) = locks(shop).await;
    let plain = locks.acquire("printer").heartbeat(false).await.unwrap();
    expect_error!(locks.acquire("printer").fair().await, Error::Locked(_));
    let fair = later.acquire("printer").fair().await.unwrap();
    assert_eq!((fair.fence(), fair.acquired_after_crash()), (plain.fence() + 1, Some(plain.fence())));
    expect_error!(locks.acquire("printer").await, Error::Locked(_));
    fair.release().await.unwrap();
}

async fn several_queues_are_entered_at_once(shop: &Shop) {
    let (locks, _) = locks(shop).await;
    let one = locks.acquire("b").fair().await.unwrap();
    let all = locks.acquire_all(["a", "b"]).fair().wait(Wait::Forever).into_future();
    let all = tokio::spawn(all);
    while locks.queue("b").await.unwrap().len() < 2 {
        tokio::task::yield_now().await;
    }
    expect_error!(locks.acquire("a").await, Error::Locked(_));
    one.release().await.unwrap();
    let all = all.await.unwrap().unwrap();
    assert_eq!(all.iter().map(dynalock::LockGuard::name).collect::<Vec<_>>(), ["a", "b"]);
    all.release().await.unwrap();
}

use std::sync::{Arc, Mutex};

use dynalock::{Error, Wait, local::Fault};
use tokio::task::JoinSet;

use crate::support::{SKEW, Shop, TTL, expect_error, kill, millis, now, secs, travel};

#[tokio::test(start_paused = true)]
async fn waiters_are_served_in_the_order_of_entry() {
    let (_, locks, others) = Shop::with_locks().await;
    let first = others.acquire("printer").fair().await.unwrap();
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for number in 0..20 {
        let (locks, served) = (locks.clone(), Arc::clone(&served));
        tasks.spawn(async move {
            let held = locks.acquire("printer").fair().await.unwrap();
            served.lock().unwrap().push((number, held.fence()));
            travel(millis(300)).await;
            held.release().await.unwrap();
        });
        travel(millis(50)).await;
    }
    let fence = first.fence();
    first.release().await.unwrap();
    tasks.join_all().await;
    let served = served.lock().unwrap().clone();
    assert_eq!(served, (0..20).map(|number| (number, fence + 1 + number)).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_waiter_sees_its_position_and_the_holder() {
    let (_, locks, others) = Shop::with_locks().await;
    let held = locks.acquire("printer").fair().await.unwrap();
    let fence = held.fence();
    let mut behind = others.acquire("printer").fair().enter().await.unwrap();
    assert_eq!(behind.position(), 1);
    let waiting = behind.next().await.unwrap();
    assert_eq!((waiting.position, waiting.waiting, &*waiting.holder), (1, 1, held.owner()));
    held.release().await.unwrap();
    let next = behind.await.unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 1, None));
}

#[tokio::test(start_paused = true)]
async fn plain_and_fair_requests_exclude_each_other() {
    let (_, locks, others) = Shop::with_locks().await;
    let plain = locks.acquire("printer").await.unwrap();
    assert!(others.try_acquire("printer").fair().await.unwrap().is_none());
    let locked = expect_error!(others.acquire("printer").fair().wait(secs(1)).await, Error::Locked(locked) => locked);
    assert_eq!((&*locked.owner, locked.fence), (plain.owner(), plain.fence()));
    let fence = plain.fence();
    plain.release().await.unwrap();
    let fair = others.try_acquire("printer").fair().await.unwrap().unwrap();
    assert_eq!(fair.fence(), fence + 1);
    assert!(locks.try_acquire("printer").await.unwrap().is_none());
    assert!(locks.try_acquire("printer").fair().await.unwrap().is_none());
    let locked = expect_error!(locks.acquire("printer").wait(Wait::No).await, Error::Locked(locked) => locked);
    assert_eq!((&*locked.owner, locked.fence), (fair.owner(), fair.fence()));
    fair.release().await.unwrap();
    let plain = locks.try_acquire("printer").await.unwrap().unwrap();
    assert_eq!(plain.fence(), fence + 2);
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_dies_costs_the_queue_one_ttl() {
    for beats in [0, 2] {
        let (_, locks, others) = Shop::with_locks().await;
        let dead = others.acquire("printer").fair().heartbeat(false).await.unwrap();
        for _ in 0..beats {
            dead.extend().await.unwrap();
        }
        let fence = dead.fence();
        kill(dead);
        let started = now();
        let next = locks.acquire("printer").fair().await.unwrap();
        let took = started.elapsed();
        assert!(took + millis(1) >= TTL && took < TTL + SKEW + secs(1), "{took:?}");
        assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 1, Some(fence)));
    }
}

#[tokio::test(start_paused = true)]
async fn several_locks_are_queued_for_with_one_ticket() {
    let (_, locks, others) = Shop::with_locks().await;
    let first = others.acquire("b").fair().await.unwrap();
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for (number, names) in [["a", "b"], ["b", "c"], ["c", "a"], ["b", "a"]].into_iter().enumerate() {
        let (locks, served) = (locks.clone(), Arc::clone(&served));
        tasks.spawn(async move {
            let all = locks.acquire_all(names).fair().await.unwrap();
            served.lock().unwrap().push(number);
            travel(secs(30)).await;
            assert!(!all.remaining().is_zero());
            all.release().await.unwrap();
        });
        travel(millis(50)).await;
    }
    assert!(locks.try_acquire("a").await.unwrap().is_none(), "it is kept for who came first");
    first.release().await.unwrap();
    tasks.join_all().await;
    assert_eq!(*served.lock().unwrap(), [0, 1, 2, 3]);
    for name in ["a", "b", "c"] {
        assert_eq!(locks.queue(name).await.unwrap(), []);
        locks.try_acquire(name).await.unwrap().unwrap().release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn waiters_behind_a_plain_holder_enter_the_queue_after_its_release() {
    let (_, locks, others) = Shop::with_locks().await;
    let plain = others.acquire("printer").await.unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..3 {
        let locks = locks.clone();
        tasks.spawn(async move { locks.acquire("printer").fair().await });
    }
    travel(secs(5)).await;
    plain.release().await.unwrap();
    travel(secs(5)).await;
    assert_eq!(locks.queue("printer").await.unwrap().len(), 3);
    while let Some(held) = tasks.join_next().await {
        held.unwrap().unwrap().release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_ticket_on_new_locks_follows_no_crash_and_waits_for_longer_than_it_may_hold() {
    let (_, locks, others) = Shop::with_locks().await;
    let all = locks.acquire_all(["a", "b"]).fair().await.unwrap();
    assert_eq!(all.iter().map(dynalock::LockGuard::acquired_after_crash).collect::<Vec<_>>(), [None, None]);
    all.release().await.unwrap();
    let first = others.acquire("b").fair().await.unwrap();
    let waiting = tokio::spawn(locks.acquire_all(["a", "b"]).fair().max_hold(secs(20)).into_future());
    travel(secs(60)).await;
    assert!(!waiting.is_finished());
    first.release().await.unwrap();
    waiting.await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_try_is_not_refused_because_of_an_expired_head() {
    let (shop, locks, others) = Shop::with_locks().await;
    for lost in [false, true] {
        kill(others.acquire("printer").fair().await.unwrap());
        travel(TTL + SKEW + secs(1)).await;
        if lost {
            // The reply to the eviction is lost. The eviction is the second request of the caller.
            shop.faults.script_on("UpdateItem", 1, Fault::LoseReply);
        }
        locks.try_acquire("printer").await.unwrap().expect("nobody holds it").release().await.unwrap();
    }
}

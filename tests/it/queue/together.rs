//! Several locks, with a place in the queue of each lock.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use dynalock::{
    Error, Wait,
    error::{InvalidSetting, InvalidTransaction},
    local::{Fault, Faults},
};
use tokio::task::JoinSet;

use crate::support::{SKEW, Shop, TTL, expect_error, kill, millis, now, secs, travel};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

#[tokio::test(start_paused = true)]
async fn tickets_that_cross_are_served_in_the_order_of_each_queue() {
    for seed in 0..6 {
        let shop = Shop::in_process(Faults::seeded(seed));
        let (locks, others) = shop.locks().await;
        for fault in [
            Fault::LoseReply,
            Fault::LoseRequest,
            Fault::TransactionConflict,
            Fault::GarbageAfterApply,
            Fault::Throttle,
            Fault::Delay(millis(300)),
        ] {
            shop.faults.clone().rate(fault, 0.03);
        }
        let inside = Arc::new(Mutex::new(BTreeMap::<&str, usize>::new()));
        let fences = Arc::new(Mutex::new(BTreeMap::<&str, u64>::new()));
        let mut tasks = JoinSet::new();
        for caller in 0..12_usize {
            let (locks, inside, fences) = (locks.clone(), Arc::clone(&inside), Arc::clone(&fences));
            tasks.spawn(async move {
                for round in 0..4 {
                    let mine = [0, 1, 3].map(|step| NAMES[(caller + round + step * (1 + caller % 2)) % NAMES.len()]);
                    let all = locks.acquire_all(mine).fair().wait(secs(600)).await.unwrap();
                    for held in all.iter() {
                        let name = *NAMES.iter().find(|name| **name == held.name()).unwrap();
                        assert_eq!(inside.lock().unwrap().insert(name, caller), None, "two are in {name}");
                        let before = fences.lock().unwrap().insert(name, held.fence());
                        assert!(before.is_none_or(|before| before < held.fence()), "{name}");
                    }
                    travel(millis(200)).await;
                    for held in all.iter() {
                        inside.lock().unwrap().remove(held.name());
                        assert!(!held.remaining().is_zero());
                    }
                    all.release().await.unwrap();
                }
            });
        }
        tasks.join_all().await;
        shop.faults.clear();
        travel(secs(5)).await;
        for name in NAMES {
            assert_eq!(others.queue(name).await.unwrap(), [], "seed {seed}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_queue_is_served_in_the_order_of_entry() {
    let (_, locks, others) = Shop::with_locks().await;
    let first = others.acquire_all(NAMES).fair().await.unwrap();
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for number in 0..12 {
        let (locks, served) = (locks.clone(), Arc::clone(&served));
        tasks.spawn(async move {
            let mine = [0, 1, 2].map(|step| NAMES[(number * 2 + step) % NAMES.len()]);
            let all = locks.acquire_all(mine).fair().await.unwrap();
            served.lock().unwrap().extend(all.iter().map(|held| (held.name().to_owned(), number)));
            travel(secs(1)).await;
            all.release().await.unwrap();
        });
        travel(millis(50)).await;
    }
    first.release().await.unwrap();
    tasks.join_all().await;
    let served = served.lock().unwrap();
    assert_eq!(served.len(), 36);
    for name in NAMES {
        let order: Vec<_> = served.iter().filter(|(of, _)| of == name).map(|(_, number)| *number).collect();
        assert!(order.is_sorted(), "{name}: {order:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_ticket_that_dies_with_some_of_its_locks_costs_one_ttl() {
    let (shop, locks, others) = Shop::with_locks().await;
    let first = others.acquire("c").fair().await.unwrap();
    let (dying, dying_locks) = shop.another_process();
    let ticket = tokio::spawn(dying_locks.acquire_all(["a", "b", "c"]).fair().into_future());
    travel(secs(30)).await;
    assert!(!ticket.is_finished() && locks.try_acquire("a").await.unwrap().is_none(), "it keeps what it has");
    dying.faults.always(Fault::NeverAnswer);
    let started = now();
    let all = tokio::spawn(locks.acquire_all(["a", "b"]).fair().into_future());
    let all = all.await.unwrap().unwrap();
    assert!(started.elapsed() < TTL + SKEW + secs(2), "{:?}", started.elapsed());
    assert!(all.iter().all(|held| held.acquired_after_crash().is_some()));
    let started = now();
    first.release().await.unwrap();
    let last = locks.acquire("c").fair().await.unwrap();
    assert!(started.elapsed() < TTL + SKEW + secs(2), "{:?}", started.elapsed());
    last.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_ticket_keeps_what_it_has_without_heartbeats_of_its_holder() {
    let (_, locks, others) = Shop::with_locks().await;
    let first = others.acquire("b").fair().await.unwrap();
    let ticket = tokio::spawn(locks.acquire_all(["a", "b"]).fair().heartbeat(false).into_future());
    travel(3 * TTL).await;
    assert!(!ticket.is_finished(), "{ticket:?}");
    assert!(others.try_acquire("a").await.unwrap().is_none());
    first.release().await.unwrap();
    let all = ticket.await.unwrap().unwrap();
    assert!(all.remaining() > TTL / 3, "{all:?}");
    // From here on, the holder must renew the lock.
    travel(TTL + SKEW + secs(1)).await;
    assert!(all.remaining().is_zero());
    drop(others.try_acquire("a").await.unwrap().expect("it has ended"));
}

#[tokio::test(start_paused = true)]
async fn plain_holders_are_waited_for_alive_and_expired() {
    let (_, locks, others) = Shop::with_locks().await;
    let plain = others.acquire("b").await.unwrap();
    let ticket = tokio::spawn(locks.acquire_all(["a", "b", "c"]).fair().into_future());
    travel(3 * TTL).await;
    assert!(!ticket.is_finished());
    // The caller is in no queue before it is in all queues.
    others.try_acquire("a").await.unwrap().expect("nobody holds it").release().await.unwrap();
    let fence = plain.fence();
    kill(plain);
    let started = now();
    let all = ticket.await.unwrap().unwrap();
    assert!(started.elapsed() < TTL + SKEW + secs(2), "{:?}", started.elapsed());
    assert_eq!(all.fence("b"), Some(fence + 1));
    assert_eq!(all.get("b").unwrap().acquired_after_crash(), Some(fence));
    assert!(others.try_acquire("b").await.unwrap().is_none());
    all.release().await.unwrap();
    let both = others.acquire_all(["a", "b"]).wait(Wait::No).await.unwrap();
    assert_eq!(both.fence("b"), Some(fence + 2));
}

#[tokio::test(start_paused = true)]
async fn tickets_that_end_or_are_dropped_leave_nothing() {
    let (_, locks, others) = Shop::with_locks().await;
    let first = others.acquire("b").fair().await.unwrap();
    let locked = locks.acquire_all(["a", "b", "c"]).fair().wait(Wait::No).await;
    let locked = expect_error!(locked, Error::Locked(locked) => locked);
    assert_eq!((&*locked.owner, locked.fence), (first.owner(), first.fence()));
    let locked = locks.acquire_all(["a", "b", "c"]).fair().wait(secs(3)).await;
    assert!(expect_error!(locked, Error::Locked(locked) => locked).spent.elapsed >= secs(3));
    for steps in 0..60 {
        let ticket = tokio::spawn(locks.acquire_all(["a", "b", "c"]).fair().into_future());
        match steps {
            0..30 => {
                for _ in 0..steps {
                    tokio::task::yield_now().await;
                }
            }
            _ => travel(millis(steps * 13)).await,
        }
        ticket.abort();
    }
    travel(secs(10)).await;
    for (name, waiters) in [("a", 0), ("b", 1), ("c", 0)] {
        assert_eq!(others.queue(name).await.unwrap().len(), waiters, "{name}");
    }
    let full = async |most| locks.acquire_all(["a", "b"]).fair().max_queue(most).await;
    let queued = locks.acquire("b").fair().enter().await.unwrap();
    expect_error!(full(2).await, Error::QueueFull { waiting: 1, .. });
    drop((first, queued));
    travel(secs(1)).await;
    full(2).await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_hundred_are_one_ticket_and_one_more_is_too_many() {
    let (shop, locks, others) = Shop::with_locks().await;
    let names = |count: u32| (0..count).map(|number| format!("lock-{number}"));
    let why = expect_error!(locks.acquire_all(names(101)).fair().await, Error::InvalidTransaction(why) => why);
    assert!(matches!(why, InvalidTransaction::TooManyItems { items: 101, .. }), "{why:?}");
    expect_error!(locks.acquire_all([""; 0]).fair().await, Error::InvalidSetting(InvalidSetting::NoLocks));
    expect_error!(locks.acquire_all(["a", ""]).fair().await, Error::InvalidKey { attribute: "name", .. });
    assert_eq!(shop.requests(), 0);
    let all = locks.acquire_all(names(100)).fair().heartbeat(false).await.unwrap();
    assert_eq!((all.iter().len(), shop.counts(["TransactWriteItems", "UpdateItem"])), (100, [1, 0]));
    all.release().await.unwrap();
    assert_eq!(others.queue("lock-99").await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_ends_without_an_answer_names_a_lock_that_the_call_does_not_hold() {
    let (shop, locks, others) = Shop::with_locks().await;
    let a = others.acquire("a").fair().owner("x").await.unwrap();
    let _b = others.acquire("b").fair().owner("y").await.unwrap();
    let waiting = tokio::spawn(locks.acquire_all(["a", "b"]).fair().wait(secs(6)).into_future());
    travel(secs(1)).await;
    a.release().await.unwrap();
    travel(secs(4)).await;
    shop.faults.always(Fault::NeverAnswer);
    let locked = expect_error!(waiting.await.unwrap(), Error::Locked(locked) => locked);
    assert_eq!((locked.name.as_deref(), &*locked.owner), (Some("b"), "y"));
}

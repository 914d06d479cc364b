use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use dynalock::{
    Error, Wait,
    error::{InvalidSetting, InvalidTransaction, Lost},
    local::{Fault, Faults},
};

use crate::support::{LOST_REPLIES, SKEW, Shop, TTL, expect_error, kill, millis, now, row_of, secs, travel};

#[tokio::test(start_paused = true)]
async fn several_locks_are_granted_by_one_transaction_and_one_read() {
    let (shop, locks, others) = Shop::with_locks().await;
    let earlier = others.acquire("b").await.unwrap();
    let fence = earlier.fence();
    earlier.release().await.unwrap();

    let all = locks.acquire_all(["c", "a", "b", "a"]).owner("me").payload("all").heartbeat(false).await.unwrap();
    assert_eq!(shop.counts(["TransactWriteItems", "BatchGetItem", "UpdateItem"]), [1, 1, 0]);
    assert_eq!(all.iter().map(|held| held.name().to_owned()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(all.fence("b"), Some(fence + 1));
    assert_eq!(all.fence("d"), None);
    for held in all.iter() {
        let row = row_of(&others, held).await;
        assert_eq!((row.payload.as_deref(), held.payload()), (Some(&b"all"[..]), Some(&b"all"[..])));
        assert!(others.try_acquire(held.name()).await.unwrap().is_none());
    }
    assert!(all.remaining() <= TTL && all.remaining() > secs(9));
    all.extend().await.unwrap();
    all.release().await.unwrap();
    for name in ["a", "b", "c"] {
        others.try_acquire(name).await.unwrap().unwrap().release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn no_lock_is_held_while_one_of_several_is_taken() {
    let (shop, locks, others) = Shop::with_locks().await;
    let taken = others.acquire("b").await.unwrap();
    let waiting = tokio::spawn(locks.acquire_all(["a", "b", "c"]).wait(secs(300)).into_future());
    travel(secs(25)).await;
    for name in ["a", "c"] {
        others.try_acquire(name).await.unwrap().expect("nobody holds it").release().await.unwrap();
    }
    let [writes, reads] = shop.counts(["TransactWriteItems", "GetItem"]);
    assert!(writes <= 4 && (20..120).contains(&reads), "{writes} {reads}");
    taken.release().await.unwrap();
    let all = waiting.await.unwrap().unwrap();
    travel(5 * TTL).await;
    assert!(others.try_acquire("c").await.unwrap().is_none(), "each is renewed");
    all.release().await.unwrap();

    let taken = others.acquire("b").await.unwrap();
    let locked = locks.acquire_all(["a", "b", "c"]).wait(Wait::No).await;
    let locked = expect_error!(locked, Error::Locked(locked) => locked);
    assert_eq!((&*locked.owner, locked.spent.attempts), (taken.owner(), 1));
    let locked = locks.acquire_all(["a", "b", "c"]).wait(secs(3)).await;
    assert!(expect_error!(locked, Error::Locked(locked) => locked).spent.elapsed >= secs(3));
}

#[tokio::test(start_paused = true)]
async fn an_expired_lock_among_several_is_taken_over() {
    let (_, locks, others) = Shop::with_locks().await;
    let fence = kill(others.acquire("b").await.unwrap());
    let started = now();
    let all = locks.acquire_all(["a", "b"]).await.unwrap();
    assert!(started.elapsed() >= TTL + SKEW && started.elapsed() < TTL + SKEW + secs(1));
    assert_eq!(all.fence("b"), Some(fence + 1));
}

#[tokio::test(start_paused = true)]
async fn too_many_none_and_bad_names_are_errors_of_their_own() {
    let (shop, locks, _) = Shop::with_locks().await;
    let names = |count: u32| (0..count).map(|number| format!("lock-{number}"));
    let why = expect_error!(locks.acquire_all(names(101)).await, Error::InvalidTransaction(why) => why);
    assert!(matches!(why, InvalidTransaction::TooManyItems { items: 101, .. }), "{why:?}");
    expect_error!(locks.acquire_all([""; 0]).await, Error::InvalidSetting(InvalidSetting::NoLocks));
    expect_error!(locks.acquire_all(["a", ""]).await, Error::InvalidKey { attribute: "name", .. });
    assert_eq!(shop.requests(), 0);
    let all = locks.acquire_all(names(100)).heartbeat(false).await.unwrap();
    assert_eq!(all.iter().len(), 100);
}

#[tokio::test(start_paused = true)]
async fn callers_with_overlapping_locks_hold_them_one_at_a_time() {
    const NAMES: [&str; 4] = ["a", "b", "c", "d"];
    let shop = Shop::in_process(Faults::seeded(5));
    let (locks, _) = shop.locks().await;
    for fault in [Fault::LoseReply, Fault::LoseRequest, Fault::TransactionConflict, Fault::EmptyAfterApply] {
        shop.faults.clone().rate(fault, 0.04);
    }
    let inside = Arc::new(Mutex::new(BTreeSet::new()));
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..8 {
        let (locks, inside) = (locks.clone(), Arc::clone(&inside));
        tasks.spawn(async move {
            let both = [NAMES[caller % 4], NAMES[(caller * 3 + 1) % 4]];
            for _ in 0..10 {
                let held = locks.acquire_all(both).wait(secs(600)).await.unwrap();
                let names = BTreeSet::from(both);
                for name in &names {
                    assert!(inside.lock().unwrap().insert(*name), "two are in {name}");
                }
                travel(millis(100)).await;
                for name in &names {
                    inside.lock().unwrap().remove(name);
                }
                assert!(held.remaining() > millis(0));
                held.release().await.unwrap();
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_grant_whose_reply_was_lost_is_a_grant() {
    let more = [
        Fault::DeliverTwice,
        Fault::DeliverLate(millis(1)),
        Fault::TransactionInProgress,
        Fault::canceled(["TransactionConflict", "None"]),
        Fault::canceled(["ThrottlingError", "None"]),
    ];
    for fault in LOST_REPLIES.into_iter().chain(more) {
        let (shop, locks, others) = Shop::with_locks().await;
        shop.faults.script_on("TransactWriteItems", 0, fault.clone());
        let all = locks.acquire_all(["a", "b"]).wait(Wait::No).heartbeat(false).await;
        let all = all.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        for held in all.iter() {
            let row = others.inspect(held.name()).await.unwrap().unwrap();
            assert_eq!((row.owner.as_deref(), row.fence), (Some(held.owner()), held.fence()), "{fault:?}");
            assert!(held.remaining() <= row.remaining + millis(1), "{fault:?}: {held:?} {row:?}");
        }
        all.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_grant_whose_reply_took_most_of_its_lease_is_renewed_at_once() {
    let (shop, locks, others) = Shop::with_locks().await;
    for nth in 0..3 {
        shop.faults.script_on("TransactWriteItems", nth, Fault::NeverAnswer);
    }
    let all = locks.acquire_all(["a", "b"]).await.unwrap();
    assert!(all.remaining() > TTL / 2, "{all:?}");
    travel(TTL).await;
    assert!(all.remaining() > TTL / 3, "{all:?}");
    assert!(others.try_acquire("a").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_grant_whose_reply_took_longer_than_its_lease_is_never_a_lease_that_is_over() {
    let (shop, locks, others) = Shop::with_locks().await;
    let locks = locks.ttl(secs(2));
    for is_taken in [false, true] {
        shop.faults.script_on("TransactWriteItems", 0, Fault::NeverAnswerAfterApply);
        shop.faults.script_on("TransactWriteItems", 1, Fault::NeverAnswer);
        let acquired = tokio::spawn(locks.acquire_all(["a", "b"]).heartbeat(false).into_future());
        if is_taken {
            travel(millis(2_900)).await;
            let fence = others.inspect("b").await.unwrap().unwrap().fence;
            assert!(others.break_lock("b", fence).await.unwrap());
            others.acquire("b").await.unwrap().release().await.unwrap();
        }
        let all = acquired.await.unwrap().unwrap();
        assert!(all.remaining() > secs(1), "{all:?}");
        for held in all.iter() {
            let row = row_of(&others, held).await;
            assert_eq!((row.owner.as_deref(), row.fence), (Some(held.owner()), held.fence()));
        }
        all.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_delayed_duplicate_that_is_applied_while_its_caller_waits_is_its_grant() {
    let (shop, locks, others) = Shop::with_locks().await;
    let taken = others.acquire("b").await.unwrap();
    shop.faults.script_on("TransactWriteItems", 0, Fault::DeliverLate(secs(3)));
    let waiting = tokio::spawn(locks.acquire_all(["a", "b"]).heartbeat(false).into_future());
    travel(millis(2_900)).await;
    taken.release().await.unwrap();
    shop.faults.script_on("GetItem", 0, Fault::Delay(millis(500)));
    travel(secs(3)).await;
    assert!(waiting.is_finished(), "it waits for its own ghost");
    // These are the late request, the refused request, and the request that met its own grant.
    assert_eq!(shop.counts(["TransactWriteItems"]), [3]);
    let all = waiting.await.unwrap().unwrap();
    for held in all.iter() {
        let row = row_of(&others, held).await;
        assert!(held.remaining() <= row.remaining, "{held:?} {row:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_one_lock_ends_the_work_and_releases_the_others() {
    let (_, locks, others) = Shop::with_locks().await;
    let all = locks.acquire_all(["a", "b"]).await.unwrap();
    assert!(others.break_lock("b", all.fence("b").unwrap()).await.unwrap());
    expect_error!(all.run(std::future::pending::<()>()).await, Error::Lost(Lost::Expired));
    assert_eq!(all.remaining(), millis(0));
    assert!(others.try_acquire("a").await.unwrap().is_none(), "it is held still");
    assert_eq!(all.lost().await, Lost::Expired);
    drop(all);
    travel(secs(1)).await;
    assert!(others.try_acquire("a").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_leaves_no_lock_behind() {
    let (shop, locks, others) = Shop::with_locks().await;
    for polls in 0..200_u64 {
        let names = [format!("{polls} a"), format!("{polls} b")];
        shop.faults.script_on("TransactWriteItems", 0, Fault::Delay(millis(polls % 7)));
        shop.faults.script_on("BatchGetItem", 0, Fault::Delay(millis(polls % 5)));
        let task = tokio::spawn(locks.acquire_all(names).into_future());
        travel(millis(polls % 13)).await;
        task.abort();
    }
    travel(secs(5)).await;
    for polls in 0..200 {
        for name in ["a", "b"] {
            let left = others.inspect(format!("{polls} {name}")).await.unwrap();
            assert!(left.as_ref().is_none_or(|left| left.owner.is_none()), "{left:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_table_is_named() {
    let shop = Shop::without_faults();
    let nowhere = dynalock::Locks::new(&shop.client, "nowhere");
    let table = expect_error!(nowhere.acquire_all(["a", "b"]).await, Error::TableNotFound { table, .. } => table);
    assert_eq!(&*table, "nowhere");
}

use dynalock::local::{Fault, Faults};

use super::TTL;
use crate::support::{Shop, secs, travel};

#[tokio::test(start_paused = true)]
async fn a_free_lock_is_never_refused_for_an_acquire_of_its_own() {
    for rate in [0.05, 0.2] {
        let shop = Shop::in_process(Faults::seeded(7));
        let (locks, others) = shop.locks().await;
        shop.faults.clone().rate(Fault::LoseReply, rate);
        for number in 0..1_000 {
            let held = locks.try_acquire(format!("lock-{number}")).heartbeat(false).await;
            let held = held.unwrap_or_else(|error| panic!("{number}: {error}"));
            let held = held.unwrap_or_else(|| panic!("{number}: refused at {rate}"));
            let seen = others.inspect(held.name()).await.unwrap().unwrap();
            assert_eq!((seen.owner.as_deref(), seen.fence), (Some(held.owner()), held.fence()));
            drop(held.detach());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_lease_is_lost_over_twenty_heartbeats_with_lost_replies() {
    let shop = Shop::in_process(Faults::seeded(11));
    let (locks, others) = shop.locks().await;
    shop.faults.clone().rate(Fault::LoseReply, 0.05);
    let mut all = Vec::new();
    for number in 0..200 {
        all.push(locks.acquire(format!("lock-{number}")).await.unwrap());
    }
    travel(20 * TTL / 3).await;
    for held in all {
        assert!(held.remaining() > secs(1), "{held:?}");
        let seen = others.inspect(held.name()).await.unwrap().unwrap();
        assert_eq!((seen.owner.as_deref(), seen.fence), (Some(held.owner()), held.fence()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_to_a_release_frees_the_lock_once() {
    for fault in [Fault::LoseReply, Fault::ErrorAfterApply, Fault::GarbageAfterApply, Fault::NeverAnswerAfterApply] {
        let shop = Shop::in_process(Faults::none());
        let (locks, others) = shop.locks().await;
        let held = locks.acquire("report").heartbeat(false).await.unwrap();
        shop.faults.script_on("UpdateItem", 0, fault.clone());
        held.release().await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        drop(others.try_acquire("report").await.unwrap().unwrap_or_else(|| panic!("{fault:?}: not released")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_copy_of_an_acquire_that_was_released_is_refused() {
    let shop = Shop::in_process(Faults::none());
    let (locks, others) = shop.locks().await;
    shop.faults.script_on("UpdateItem", 0, Fault::DeliverTwice);
    let held = locks.acquire("report").heartbeat(false).await.unwrap();
    held.release().await.unwrap();
    travel(secs(5)).await;
    let left = others.inspect("report").await.unwrap().unwrap();
    assert_eq!(left.owner, None);
}

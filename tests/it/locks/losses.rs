use aws_sdk_dynamodb::{Client, config::SharedHttpClient};
use dynalock::{
    Locks,
    local::{Database, Fault, Faults},
};

use crate::{
    storms::Deviation,
    support::{LOST_REPLIES, Shop, TTL, layer::Layer, row_of, secs, travel},
};

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
            row_of(&others, &held).await;
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
        row_of(&others, &held).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_to_a_release_frees_the_lock_once() {
    for fault in LOST_REPLIES {
        let (shop, locks, others) = Shop::with_locks().await;
        let held = locks.acquire("report").heartbeat(false).await.unwrap();
        shop.faults.script_on("UpdateItem", 0, fault.clone());
        held.release().await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        drop(others.try_acquire("report").await.unwrap().unwrap_or_else(|| panic!("{fault:?}: not released")));
    }
}

/// Returns the holder of a lock after a delayed duplicate of an acquire whose grant was already
/// released.
async fn after_a_delayed_duplicate(deviation: Deviation) -> Option<String> {
    let database = Database::in_memory().unwrap();
    let (plain, faults) = (database.client(), Faults::none());
    let http = deviation.wrap(faults.wrap(SharedHttpClient::new(database.connector())));
    let locks = Locks::new(&Client::from_conf(plain.config().to_builder().http_client(http).build()), "locks");
    locks.create_table().await.unwrap();
    faults.script_on("UpdateItem", 0, Fault::DeliverLate(secs(3)));
    locks.acquire("report").await.unwrap().release().await.unwrap();
    travel(secs(5)).await;
    locks.inspect("report").await.unwrap().unwrap().owner
}

#[tokio::test(start_paused = true)]
async fn a_delayed_duplicate_of_an_acquire_that_was_released_is_refused() {
    assert_eq!(after_a_delayed_duplicate(Deviation::None).await, None);
    // The stored mark of the release refuses the copy.
    assert!(after_a_delayed_duplicate(Deviation::AcquireAfterRelease).await.is_some());
}

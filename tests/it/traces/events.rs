//! The events of calls and leases, with their levels.

use std::time::Duration;

use dynalock::{Repository, local::Fault};
use tracing::Level;

use crate::support::{Product, Recorded, Shop, TTL, acquire, secs, travel};

#[tokio::test(start_paused = true)]
async fn a_conflict_is_an_event_of_its_call() {
    let (shop, table) = Shop::with_items([Product::new("a", 1)]).await;
    shop.rival.before_through(&table.others, "UpdateItem", 0, |others| async move {
        others.touch(others.get("a").await.unwrap().unwrap()).await.unwrap();
    });
    let recorded = Recorded::start();
    table.items.update_with("a", |product| product.stock += 1).await.unwrap();
    let [conflict] = &recorded.events_of("conflict")[..] else { panic!("{:#?}", recorded.events()) };
    assert_eq!((conflict.level, conflict.get("dynalock.pause_ms")), (Level::DEBUG, "0"));
    assert_eq!(conflict.span, Some(recorded.one("update_with").number));
}

#[tokio::test(start_paused = true)]
async fn a_retry_has_its_reason() {
    let (shop, table) = Shop::with_items([Product::new("a", 1)]).await;
    let cases = [
        (Fault::Throttle, "throttled", "throttled"),
        (Fault::ProvisionedThroughputExceeded, "throttled", "throttled"),
        (Fault::TransactionConflict, "contention", "contention"),
        (Fault::LoseRequest, "lost", "unavailable"),
        (Fault::Refused, "lost", "unavailable"),
        (Fault::ServerError, "lost", "unavailable"),
        (Fault::NeverAnswer, "lost", "unavailable"),
    ];
    for (fault, reason, error) in cases {
        shop.faults.script_on("UpdateItem", 0, fault.clone());
        let recorded = Recorded::start();
        table.items.update_with("a", |product| product.stock += 1).await.unwrap();
        let [retry] = &recorded.events_of("retry")[..] else { panic!("{fault:?}: {:#?}", recorded.events()) };
        assert_eq!((retry.get("dynalock.reason"), retry.get("error.type")), (reason, error), "{fault:?}");
        assert_eq!((retry.level, retry.span), (Level::DEBUG, Some(recorded.one("update_with").number)));
        assert_ne!(retry.get("dynalock.pause_ms"), "");
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_not_sent_again_is_no_retry() {
    let (shop, table) = Shop::with_items([Product::new("a", 1)]).await;
    shop.faults.always(Fault::Throttle);
    let recorded = Recorded::start();
    table.items.get("a").attempts(3).await.unwrap_err();
    assert_eq!(recorded.events_of("retry").len(), 2);
    assert_eq!(recorded.one("get").get("dynalock.requests"), "3");
}

/// Returns the outcome and the level of the only event `lost reply`.
async fn lost_reply(fault: Fault, call: impl AsyncFnOnce(&Repository<Product>)) -> (String, Level) {
    let (shop, table) = Shop::with_items([Product::new("a", 1)]).await;
    for operation in ["UpdateItem", "TransactWriteItems"] {
        shop.faults.script_on(operation, 0, fault.clone());
    }
    let recorded = Recorded::start();
    call(&table.items).await;
    let [lost] = &recorded.events_of("lost reply")[..] else { panic!("{:#?}", recorded.events()) };
    assert_eq!(lost.get("db.collection.name"), table.name());
    (lost.get("dynalock.outcome").to_owned(), lost.level)
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_says_what_the_library_found_out() {
    let update = async |items: &Repository<Product>| {
        items.update_with("a", |product| product.stock += 1).await.unwrap();
    };
    let once = async |items: &Repository<Product>| {
        items.update_with("a", |product| product.stock += 1).exactly_once().await.unwrap();
    };
    let patch = async |items: &Repository<Product>| {
        items.patch("a").add(Product::ATTR.stock, 1).await.unwrap();
    };
    let unknown = async |items: &Repository<Product>| {
        items.patch("a").add(Product::ATTR.stock, 1).await.unwrap_err();
    };
    let applied = ("applied".to_owned(), Level::DEBUG);
    assert_eq!(lost_reply(Fault::LoseReply, update).await, applied);
    assert_eq!(lost_reply(Fault::LoseReply, once).await, applied);
    assert_eq!(lost_reply(Fault::LoseReply, patch).await, applied);
    assert_eq!(lost_reply(Fault::LoseRequest, update).await, ("not_applied".to_owned(), Level::DEBUG));
    assert_eq!(lost_reply(Fault::LoseRequest, unknown).await, ("unknown".to_owned(), Level::WARN));
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_is_a_warning_and_its_failed_heartbeats_are_not() {
    let (shop, locks, _) = Shop::with_locks().await;
    let recorded = Recorded::start();
    let held = acquire(&locks, "report", false).await.unwrap();
    shop.faults.always(Fault::LoseRequest);
    held.lost().await;
    let [lost] = &recorded.events_of("lease lost")[..] else { panic!("{:#?}", recorded.events()) };
    assert_eq!((lost.level, lost.get("dynalock.reason")), (Level::WARN, "unreachable"));
    assert_eq!((lost.get("db.collection.name"), lost.get("dynalock.fence")), ("locks", &*held.fence().to_string()));
    let failed = recorded.events_of("heartbeat failed");
    assert!(!failed.is_empty());
    assert!(failed.iter().all(|event| event.level == Level::DEBUG && event.get("error.type") == "exhausted"));
}

#[tokio::test(start_paused = true)]
async fn a_look_at_a_guard_is_no_event() {
    let (_, locks, _) = Shop::with_locks().await;
    let held = locks.acquire("report").heartbeat(false).await.unwrap();
    let recorded = Recorded::start();
    travel(TTL).await;
    assert_eq!(held.remaining(), Duration::ZERO);
    assert!(format!("{held:?}").contains("remaining: 0ns"), "{held:?}");
    assert_eq!(recorded.events_of("lease lost").len(), 0);
    held.lost().await;
    assert_eq!(recorded.events_of("lease lost").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_not_lost() {
    let (_, locks, _) = Shop::with_locks().await;
    let recorded = Recorded::start();
    acquire(&locks, "report", false).await.unwrap().release().await.unwrap();
    drop(acquire(&locks, "report", false).await.unwrap());
    travel(TTL).await;
    assert!(recorded.events_of("lease lost").is_empty());
}

#[tokio::test(start_paused = true)]
async fn each_new_place_in_a_queue_is_one_event() {
    let (_, locks, others) = Shop::with_locks().await;
    let first = others.acquire("printer").fair().await.unwrap();
    let second = others.acquire("printer").fair().enter().await.unwrap();
    let recorded = Recorded::start();
    let third = tokio::spawn(locks.acquire("printer").fair().into_future());
    travel(secs(30)).await;
    first.release().await.unwrap();
    let second = second.await.unwrap();
    travel(secs(30)).await;
    second.release().await.unwrap();
    third.await.unwrap().unwrap().release().await.unwrap();
    let call = recorded.one("acquire");
    let mut positions = recorded.events_of("queue position");
    positions.retain(|event| event.span == Some(call.number));
    let places: Vec<_> = positions.iter().map(|event| event.get("dynalock.position")).collect();
    assert_eq!(places, ["2", "1"]);
    let mut waits = recorded.events_of("lock wait");
    waits.retain(|event| event.span == Some(call.number));
    let [wait] = &waits[..] else { panic!("{waits:#?}") };
    assert_eq!(wait.get("dynalock.outcome"), "granted");
    assert!((60_000..70_000).contains(&wait.get("dynalock.waited_ms").parse().unwrap()), "{wait:?}");
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_combined_calls_is_one_event() {
    let (_, table) = Shop::with_items([Product::new("a", 0)]).await;
    let products = table.items.combining();
    let recorded = Recorded::start();
    let calls = (0..5).map(|_| products.update_with("a", |product: &mut Product| product.stock += 1));
    for result in crate::support::together(calls).await {
        result.unwrap();
    }
    let calls: Vec<_> =
        recorded.events_of("batch").iter().map(|event| event.get("dynalock.calls").to_owned()).collect();
    assert_eq!(calls, ["5"]);
}

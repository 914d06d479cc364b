//! The spans of background work, and the spans that they belong to.

use dynalock::local::Fault;
use tracing::Level;

use crate::support::{Parcel, Product, Recorded, Shop, TTL, acquire, secs, settle, together, travel};

/// A lock is acquired in another task, and the requests of the task belong to the call.
#[tokio::test(start_paused = true)]
async fn the_requests_of_an_acquire_belong_to_its_call() {
    let (_, locks, _) = Shop::with_locks().await;
    let recorded = Recorded::start();
    let held = acquire(&locks, "report", false).await.unwrap();
    let call = recorded.one("acquire");
    assert_eq!((recorded.requests_of(&call).len(), call.get("dynalock.requests")), (1, "1"));
    held.release().await.unwrap();
    let call = recorded.one("release");
    assert_eq!((recorded.requests_of(&call).len(), call.get("dynalock.requests")), (1, "1"));
    assert_eq!(call.level, Level::INFO);
}

/// The span of a lease follows from the call that acquired it. If the span were a child, the span
/// of the call would stay open as long as the lease.
#[tokio::test(start_paused = true)]
async fn heartbeats_are_children_of_the_lease() {
    let (_, locks, _) = Shop::with_locks().await;
    let recorded = Recorded::start();
    let held = acquire(&locks, "report", false).await.unwrap();
    travel(TTL).await;
    let call = recorded.one("acquire");
    assert!(call.is_closed);
    let spans = recorded.spans();
    let [lease] = spans.iter().filter(|span| span.name == "lease").collect::<Vec<_>>()[..] else {
        panic!("{spans:#?}")
    };
    assert_eq!((lease.level, lease.parent, &lease.follows[..]), (Level::INFO, None, &[call.number][..]));
    assert_eq!(lease.get("dynalock.fence"), held.fence().to_string());
    let beats = recorded.of("heartbeat");
    assert!(beats.len() > 1);
    assert!(beats.iter().all(|beat| beat.parent == Some(lease.number) && beat.level == Level::DEBUG));
    assert!(beats.iter().all(|beat| recorded.requests_of(beat).len() == 1));
    drop(held);
    settle().await;
    let release = recorded.one("release");
    assert_eq!((release.parent, release.level), (Some(lease.number), Level::DEBUG));
    assert!(recorded.spans().iter().all(|span| span.is_closed), "{:#?}", recorded.spans());
}

/// The registry of `tracing-subscriber` panics for an unknown parent.
#[tokio::test(start_paused = true)]
async fn a_lock_from_before_the_subscriber_was_set_has_heartbeats_without_a_parent() {
    let (shop, locks, _) = Shop::with_locks().await;
    let earlier = Recorded::start();
    let held = acquire(&locks, "report", false).await.unwrap();
    drop(earlier);
    let recorded = Recorded::start();
    travel(TTL).await;
    assert!(recorded.of("heartbeat").iter().all(|beat| beat.parent.is_none()));
    assert!(!recorded.of("heartbeat").is_empty());
    shop.faults.always(Fault::LoseRequest);
    held.lost().await;
    assert_eq!(recorded.events_of("lease lost").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_place_that_is_given_up_follows_from_its_call() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = others.acquire("printer").fair().await.unwrap();
    let recorded = Recorded::start();
    let ticket = locks.acquire("printer").fair().enter().await.unwrap();
    let enter = recorded.one("enter");
    shop.faults.script_on("UpdateItem", 0, Fault::LoseRequest);
    drop(ticket);
    travel(secs(5)).await;
    let leave = recorded.one("leave_queue");
    assert_eq!((leave.parent, &leave.follows[..]), (None, &[enter.number][..]));
    let failed = recorded.events_of("background work failed");
    let [failed] = &failed[..] else { panic!("{failed:#?}") };
    assert_eq!((failed.span, failed.get("dynalock.work")), (Some(leave.number), "leave_queue"));
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn an_empty_queue_is_removed_in_a_span_that_follows_from_the_commit() {
    let (_, table) = Shop::with_items([Parcel::new("a", 1)]).await;
    let lease = table.items.lock("a").fair().await.unwrap();
    let recorded = Recorded::start();
    lease.commit(|parcel| parcel.items = 2).await.unwrap();
    settle().await;
    let (commit, sweep) = (recorded.one("lease_commit"), recorded.one("sweep_queue"));
    assert_eq!((sweep.parent, &sweep.follows[..]), (None, &[commit.number][..]));
    assert_eq!(sweep.level, Level::DEBUG);
}

#[tokio::test(start_paused = true)]
async fn a_batch_follows_from_each_of_its_calls() {
    let (_, table) = Shop::with_items([Product::new("a", 0)]).await;
    let products = table.items.combining();
    let recorded = Recorded::start();
    let calls = (0..3).map(|_| products.update_with("a", |product: &mut Product| product.stock += 1));
    for result in together(calls).await {
        result.unwrap();
    }
    let batch = recorded.one("batch");
    let mut links = batch.follows.clone();
    links.dedup();
    links.sort_unstable();
    links.dedup();
    let calls: Vec<_> = recorded.of("combined_update_with").iter().map(|call| call.number).collect();
    assert_eq!((batch.parent, links), (None, calls));
    let requests: Vec<_> =
        recorded.requests_of(&batch).iter().map(|request| request.get("db.operation.name").to_owned()).collect();
    assert_eq!(requests, ["GetItem", "UpdateItem"]);
}

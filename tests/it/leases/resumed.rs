//! A process resumes the lease of another process by its token.

use dynalock::{Error, LeaseGuard, LockToken, Versioned, error::Lost, local::Fault};
use serde::{Deserialize, Serialize};

use crate::support::{Crate, Shop, Table, expect_error, millis, now, secs, travel};

async fn detached() -> (Shop, Table<Crate>, LockToken) {
    let (shop, table) = Shop::with_items([Crate::new("a", 5)]).await;
    let token = table.others.lock("a").ttl(secs(600)).await.unwrap().detach();
    (shop, table, token)
}

#[tokio::test(start_paused = true)]
async fn a_token_is_kept_over_a_resume_whose_read_or_heartbeat_failed() {
    for operation in ["GetItem", "UpdateItem"] {
        let (shop, table, token) = detached().await;
        shop.faults.script_on(operation, 0, Fault::AccessDenied);
        expect_error!(table.items.resume(token.clone()).await, Error::Rejected(_));
        travel(secs(1)).await;
        assert!(table.others.try_lock("a").await.unwrap().is_none());
        let lease = table.items.resume(token).await.unwrap();
        assert_eq!(lease.commit(|it| it.items += 1).await.unwrap().items, 6);
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_kept_over_a_resume_that_was_dropped() {
    for operation in ["GetItem", "UpdateItem"] {
        let (shop, table, token) = detached().await;
        shop.faults.script_on(operation, 0, Fault::NeverAnswerAfterApply);
        let resuming = tokio::spawn({
            let (items, token) = (table.items.clone(), token.clone());
            async move { items.resume(token).await.map(drop) }
        });
        travel(millis(100)).await;
        resuming.abort();
        travel(secs(1)).await;
        assert!(table.others.try_lock("a").await.unwrap().is_none());
        table.items.resume(token).await.unwrap().release().await.unwrap();
    }
}

/// Returns the seconds until the lease is lost, and at most 1000.
async fn lasts(lease: LeaseGuard<Crate>) -> u64 {
    let started = now();
    tokio::select! {
        _ = lease.lost() => {}
        () = travel(secs(1000)) => {}
    }
    let lasted = started.elapsed().as_secs();
    lease.release().await.unwrap();
    lasted
}

#[tokio::test(start_paused = true)]
async fn a_lease_has_the_heartbeat_and_the_longest_hold_of_its_repository_also_after_a_resume() {
    for (is_beating, longest, expected) in [(false, 3600, 10..=10), (true, 60, 60..=70), (true, 3600, 1000..=1000)] {
        let (_, table) = Shop::with_items([Crate::new("a", 5)]).await;
        let items = table.items.clone().heartbeat(is_beating).max_hold(secs(longest));
        let granted = lasts(items.lock("a").await.unwrap()).await;
        let token = table.items.lock("a").await.unwrap().detach();
        let resumed = lasts(items.resume(token).await.unwrap()).await;
        assert!(expected.contains(&granted) && expected.contains(&resumed), "{granted} and {resumed}");
    }
}

/// The items of the test, for a program that requires more attributes.
#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "crates")]
#[lockable(ttl = "10s")]
struct Strict {
    #[dynalock(partition_key)]
    id: String,
    weight: u32,
}

#[tokio::test(start_paused = true)]
async fn a_token_is_kept_over_a_resume_that_could_not_read_the_item() {
    let (shop, table, token) = detached().await;
    let strict = shop.named::<Strict>(table.name());
    expect_error!(strict.resume(token.clone()).await, Error::Decode { .. });
    travel(secs(1)).await;
    table.items.resume(token).await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_token_of_an_item_that_is_gone_is_lost() {
    let (_, table, token) = detached().await;
    table.raw.delete("a").await;
    expect_error!(table.items.resume(token).await, Error::Lost(Lost::Deleted));
    assert_eq!(table.raw.get("a").await, None);
}

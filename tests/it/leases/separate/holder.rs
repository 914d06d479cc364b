use dynalock::{Error, LockToken, error::Spent, local::Faults, private::ClockAhead as _};

use super::super::{SKEW, TTL};
use super::{Archive, action, actions, archives};
use crate::support::{Shop, expect_error, millis, n, s, secs, stolen_by, travel};

#[tokio::test(start_paused = true)]
async fn heartbeats_of_a_large_item_write_the_row_beside_it_alone() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Archive>().await;
    let scan = "x".repeat(100 * 1024);
    table.others.create(Archive { scan: Some(scan.clone()), ..Archive::new("a", 5) }).await.unwrap();
    table.raw.set("a", "foreign", s("kept")).await;
    let before = table.raw.get("a").await;
    let lease = table.items.lock("a").await.unwrap();
    assert_eq!((lease.pages, lease.scan.as_deref()), (5, Some(&*scan)));
    travel(secs(60)).await;
    assert!(lease.remaining() > secs(5), "{lease:?}");
    lease.release().await.unwrap();
    let sent = shop.sent("UpdateItem");
    assert!(sent.len() > 15, "{}", sent.len());
    for update in &sent {
        assert_eq!(update["Key"]["id"]["S"], "a#lock");
        assert!(update.to_string().len() < 1000, "{update}");
    }
    assert_eq!(shop.counts(["GetItem", "PutItem", "TransactWriteItems"]), [1, 0, 0]);
    assert_eq!(table.raw.get("a").await, before);
}

#[tokio::test(start_paused = true)]
async fn a_write_of_the_holder_renews_the_lease_and_the_last_one_releases_it() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    table.raw.set("a", "foreign", s("kept")).await;
    let mut lease = table.items.lock("a").heartbeat(false).await.unwrap();
    for _ in 0..3 {
        travel(secs(8)).await;
        lease.update(|it| it.pages += 1).await.unwrap();
        assert_eq!(actions(&shop), [action("Update", "a"), action("Update", "a#lock")]);
        assert!(lease.remaining() > secs(9), "{lease:?}");
        assert!(table.others.try_lock("a").await.unwrap().is_none());
    }
    let stored = lease.commit(|it| it.pages += 1).await.unwrap();
    assert_eq!((stored.pages, stored.version()), (9, 5));
    let row = table.raw.get("a#lock").await.unwrap();
    assert!(!row.contains_key("_owner") && !row.contains_key("_until"), "{row:?}");
    let stored = table.others.update_with("a", |it| it.pages += 1).await.unwrap();
    assert_eq!((stored.pages, stored.version()), (10, 6));
    let item = table.raw.get("a").await.unwrap();
    assert_eq!(item["foreign"], s("kept"));
    assert!(item.keys().all(|name| ["id", "pages", "scan", "foreign", "_version", "_writes"].contains(&&**name)));
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_is_resumed_after_a_takeover_is_refused() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let text = table.items.lock("a").await.unwrap().detach().to_string();
    let token: LockToken = text.parse().unwrap();
    travel(secs(3)).await;
    let mut resumed = table.others.resume(token).await.unwrap();
    resumed.update(|it| it.pages = 4).await.unwrap();
    let token = resumed.detach();
    travel(TTL + SKEW + millis(10)).await;
    let next = table.items.lock("a").await.unwrap();
    assert_eq!((next.pages, next.acquired_after_crash()), (4, Some(token.fence())));
    let lost = expect_error!(table.others.resume(token).await, Error::Lost(lost) => lost);
    assert_eq!(stolen_by(&lost), (next.owner(), next.fence()));
}

#[tokio::test(start_paused = true)]
async fn a_write_of_a_holder_that_another_one_has_followed_is_refused_by_the_row() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let mut stale = table.items.lock("a").heartbeat(false).await.unwrap();
    // By its own clock it holds the lease still.
    let next = table.others.clone().clock_ahead_by_millis(60_000).lock("a").await.unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (stale.fence() + 1, Some(stale.fence())));
    let lost = expect_error!(stale.update(|it| it.pages = 0).await, Error::Lost(lost) => lost);
    assert_eq!(stolen_by(&lost), (next.owner(), next.fence()));
    assert_eq!(table.raw.get("a").await.unwrap()["pages"], n(5));
}

#[tokio::test(start_paused = true)]
async fn the_fence_grows_over_delete_and_recreate_whatever_the_clocks_show() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let mut last = 0;
    for round in 0..6 {
        let items = table.items.clone().clock_ahead_by_millis(-3_600_000 * round);
        let lock = items.lock("a");
        let lease = if round % 2 == 0 { lock.await.unwrap() } else { lock.fair().await.unwrap() };
        assert!(lease.fence() > last, "{round}: {lease:?}");
        last = lease.fence();
        let stored = lease.release().await.unwrap();
        match round % 3 {
            0 => drop(table.others.delete(stored).await.unwrap()),
            1 => table.others.delete_unchecked("a").await.unwrap(),
            // Another program, or time to live.
            _ => table.raw.delete("a").await,
        }
        table.others.create(Archive::new("a", 5)).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_cannot_be_leased_and_is_created_by_anybody() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    expect_error!(table.items.lock("x").await, Error::NotFound { spent: Spent { attempts: 1, .. }, .. });
    table.items.create(Archive::new("x", 1)).await.unwrap();
    let lease = table.items.lock_any(["y", "x", "a"]).await.unwrap();
    assert_eq!(lease.id, "x");
    let other = table.items.lock_any(["y", "x", "a"]).await.unwrap();
    assert_eq!(other.id, "a");
    expect_error!(table.items.lock_any(["y", "z"]).await, Error::NotFound { .. });
}

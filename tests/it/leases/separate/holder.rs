use dynalock::{Error, error::Spent, private::ClockAhead as _};

use crate::support::{Archive, Shop, expect_error, n, s, secs, stolen_by, travel};

#[tokio::test(start_paused = true)]
async fn heartbeats_of_a_large_item_write_only_the_lease_row() {
    let (shop, table) = Shop::with_table::<Archive>().await;
    let scan = "x".repeat(100 * 1024);
    table.others.create(Archive { label: Some(scan.clone()), ..Archive::new("a", 5) }).await.unwrap();
    table.raw.set("a", "foreign", s("kept")).await;
    let before = table.raw.get("a").await;
    let lease = table.items.lock("a").await.unwrap();
    assert_eq!((lease.items, lease.label.as_deref()), (5, Some(&*scan)));
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
async fn an_item_with_a_separate_lease_carries_no_attribute_of_the_lease() {
    let (_, table) = Shop::with_two::<Archive>().await;
    table.raw.set("a", "foreign", s("kept")).await;
    let mut lease = table.items.lock("a").heartbeat(false).await.unwrap();
    lease.update(|it| it.items += 1).await.unwrap();
    lease.commit(|it| it.items += 1).await.unwrap();
    table.others.update_with("a", |it| it.items += 1).await.unwrap();
    let item = table.raw.get("a").await.unwrap();
    assert_eq!(item["foreign"], s("kept"));
    assert!(item.keys().all(|name| ["id", "items", "label", "foreign", "_version", "_writes"].contains(&&**name)));
}

#[tokio::test(start_paused = true)]
async fn a_write_after_a_takeover_is_refused_by_the_lease_row() {
    let (_, table) = Shop::with_two::<Archive>().await;
    let mut stale = table.items.lock("a").heartbeat(false).await.unwrap();
    // By its own clock, the first holder still holds the lease.
    let next = table.others.clone().clock_ahead_by_millis(60_000).lock("a").await.unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (stale.fence() + 1, Some(stale.fence())));
    let lost = expect_error!(stale.update(|it| it.items = 0).await, Error::Lost(lost) => lost);
    assert_eq!(stolen_by(&lost), (next.owner(), next.fence()));
    assert_eq!(table.raw.get("a").await.unwrap()["items"], n(5));
}

#[tokio::test(start_paused = true)]
async fn the_fence_grows_over_delete_and_recreate_whatever_the_clocks_show() {
    let (_, table) = Shop::with_two::<Archive>().await;
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
            // Another program, or time to live, deletes the row.
            _ => table.raw.delete("a").await,
        }
        table.others.create(Archive::new("a", 5)).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_item_cannot_be_leased_and_can_be_created() {
    let (_, table) = Shop::with_two::<Archive>().await;
    expect_error!(table.items.lock("x").await, Error::NotFound { spent: Spent { attempts: 1, .. }, .. });
    table.items.create(Archive::new("x", 1)).await.unwrap();
    let lease = table.items.lock_any(["y", "x", "a"]).await.unwrap();
    assert_eq!(lease.id, "x");
    let other = table.items.lock_any(["y", "x", "a"]).await.unwrap();
    assert_eq!(other.id, "a");
    expect_error!(table.items.lock_any(["y", "z"]).await, Error::NotFound { .. });
}

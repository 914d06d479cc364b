//! Delayed duplicates of a holder's own request. A delayed duplicate makes another grant, and
//! requests of the first grant have no effect on it.

use dynalock::{Error, LeaseGuard, LockToken, error::Lost, local::Fault};

use crate::support::{Crate, Shop, Table, changed, commit_under, expect_error, millis, n, secs, travel};

/// The time after which a copy of the first acquire arrives.
const LATE: std::time::Duration = secs(10);

struct Ground {
    shop: Shop,
    table: Table<Crate>,
}

impl Ground {
    /// Returns a lease of two seconds without heartbeats. A copy of its acquire can still arrive.
    async fn new() -> (Self, LeaseGuard<Crate>) {
        let (shop, table) = Shop::with_items([Crate::new("a", 5)]).await;
        shop.faults.script_on("UpdateItem", 0, Fault::DeliverLate(LATE));
        // The caller waits for a slow request.
        let items = table.items.clone().attempt_timeout(secs(60)).deadline(secs(60));
        let lease = items.lock("a").ttl(secs(2)).heartbeat(false).await.unwrap();
        (Self { shop, table }, lease)
    }

    /// Another caller takes over the expired lease and releases it. After the release, the late
    /// copy grants the lease to the first holder, which does not know about this grant.
    async fn comes_back(&self, first: u64) {
        travel(secs(5)).await;
        let theirs = self.table.others.lock("a").await.unwrap();
        assert_eq!(theirs.fence(), first + 1);
        theirs.release().await.unwrap();
        travel(LATE.saturating_sub(secs(5)) + millis(100)).await;
        let row = self.table.raw.get("a").await.unwrap();
        assert_eq!(row["_fence"], n(first + 2), "the copy was granted: the test can fail");
    }

    async fn items(&self) -> String {
        self.table.raw.get("a").await.unwrap()["items"].as_n().unwrap().clone()
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_on_its_way_is_refused_though_the_name_of_its_holder_is_in_the_row_again() {
    for is_last in [false, true] {
        let (ground, mut lease) = Ground::new().await;
        let first = lease.fence();
        // The network delays this request, which was sent at the end of the lease, until the copy
        // has arrived.
        ground.shop.faults.script_on("UpdateItem", 0, Fault::Delay(LATE + millis(50)));
        let write = tokio::spawn(async move {
            match is_last {
                false => {
                    let written = lease.update(|it| it.items = 99).await;
                    drop(lease.detach());
                    written
                }
                true => lease.commit(|it| it.items = 99).await.map(drop),
            }
        });
        ground.comes_back(first).await;
        expect_error!(write.await.unwrap(), Error::Lost(Lost::Expired));
        assert_eq!(ground.items().await, "5");
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_under_a_lease_is_refused_though_the_name_of_its_holder_is_in_the_row_again() {
    let (ground, lease) = Ground::new().await;
    let items = &ground.table.items;
    ground.comes_back(lease.fence()).await;
    let read = changed(items.get("a").await.unwrap().unwrap(), |it| it.items = 99);
    let result = commit_under(&lease, &ground.shop.client, |tx| tx.update(items, read)).await;
    expect_error!(result, Error::Lost(Lost::Expired));
    assert_eq!(ground.items().await, "5");
}

#[tokio::test(start_paused = true)]
async fn a_token_of_a_lease_that_has_ended_is_refused_though_the_name_of_its_holder_is_in_the_row_again() {
    let (ground, lease) = Ground::new().await;
    let first = lease.fence();
    let token: LockToken = lease.detach().to_string().parse().unwrap();
    ground.comes_back(first).await;
    expect_error!(ground.table.others.resume(token).await, Error::Lost(Lost::Expired));
}

#[tokio::test(start_paused = true)]
async fn a_write_of_the_head_of_a_queue_is_refused_after_its_turn_though_it_stands_there_again() {
    let (shop, table) = Shop::with_items([Crate::new("a", 5)]).await;
    shop.faults.script_on("UpdateItem", 0, Fault::DeliverLate(LATE));
    let lease = table.items.lock("a").fair().ttl(secs(2)).heartbeat(false).await.unwrap();
    let first = lease.fence();
    travel(secs(5)).await;
    // Another caller removes the head, gets the lease and releases it.
    table.others.lock("a").fair().await.unwrap().release().await.unwrap();
    travel(secs(5) + millis(100)).await;
    let waiters = table.raw.get("a").await.unwrap()["_queue"].as_l().unwrap().len();
    assert_eq!(waiters, 1, "the copy has brought it back: the test can fail");
    let read = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.items = 99);
    let result = commit_under(&lease, &shop.client, |tx| tx.update(&table.items, read)).await;
    expect_error!(result, Error::Lost(Lost::Expired));
    assert!(lease.fence() == first && table.raw.get("a").await.unwrap()["items"] == n(5));
}

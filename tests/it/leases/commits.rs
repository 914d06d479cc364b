//! Commits whose reply was lost. If the item shows no write id, the end of the lease proves the
//! commit.

use dynalock::{Error, Versioned, error::Lost, local::Fault};
use serde::{Deserialize, Serialize};

use crate::support::{Crate, Shop, expect_error, n, s, secs};

/// A type that keeps the minimum number of write ids.
#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "notes", write_ids = 4)]
#[lockable(ttl = "10s")]
struct Note {
    #[dynalock(partition_key)]
    id: String,
    lines: u32,
}

#[tokio::test(start_paused = true)]
async fn a_commit_in_doubt_whose_ids_were_taken_out_is_done_if_its_lease_was_ended() {
    for fault in [Fault::LoseReply, Fault::ErrorAfterApply, Fault::EmptyAfterApply, Fault::NeverAnswerAfterApply] {
        let (shop, table) = Shop::with_items([Crate::new("a", 1)]).await;
        let lease = table.items.lock("a").heartbeat(false).await.unwrap();
        shop.faults.script_on("UpdateItem", 0, fault.clone());
        let raw = table.raw.clone();
        shop.rival.before("UpdateItem", 1, move || async move { raw.remove("a", "_writes").await });
        let it = lease.commit(|it| it.items += 1).await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!((it.items, it.version()), (2, 2), "{fault:?}");
        assert_eq!(table.others.get("a").await.unwrap().unwrap().items, 2, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_commit_in_doubt_is_done_also_if_the_next_holder_has_it_and_writes() {
    let (shop, table) = Shop::with_items([Crate::new("a", 1)]).await;
    let lease = table.items.lock("a").heartbeat(false).await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    shop.rival.before_through(&table.others, "UpdateItem", 1, async |others| {
        let mut next = others.lock("a").heartbeat(false).await.unwrap();
        next.update(|it| it.items += 10).await.unwrap();
        drop(next.detach());
    });
    let it = lease.commit(|it| it.items += 1).await.unwrap();
    assert_eq!((it.items, it.version()), (2, 2));
    let now = table.others.get("a").await.unwrap().unwrap();
    assert_eq!((now.items, now.version()), (12, 3));
}

#[tokio::test(start_paused = true)]
async fn a_commit_in_doubt_whose_id_was_pushed_out_is_done_at_its_own_version() {
    let (shop, table) = Shop::with_items([Note { id: "a".to_owned(), lines: 1 }]).await;
    let lease = table.items.lock("a").heartbeat(false).await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    shop.rival.before_through(&table.others, "UpdateItem", 1, async |others| {
        for _ in 0..4 {
            others.update_with("a", |note| note.lines += 10).await.unwrap();
        }
    });
    let mut note = lease.commit(|note| note.lines += 1).await.unwrap();
    assert_eq!((note.lines, note.version()), (2, 2));
    note.lines = 0;
    let conflict = expect_error!(table.others.update(note).await, Error::Conflict(conflict) => conflict);
    let current = conflict.current::<Note>().unwrap().unwrap();
    assert_eq!((current.lines, current.version()), (42, 6));
}

#[tokio::test(start_paused = true)]
async fn a_commit_in_doubt_after_which_another_holder_released_cannot_be_told() {
    let (shop, table) = Shop::with_items([Crate::new("a", 1)]).await;
    let lease = table.items.lock("a").heartbeat(false).await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    let (others, raw) = (table.others.clone(), table.raw.clone());
    shop.rival.before("UpdateItem", 1, move || async move {
        others.lock("a").await.unwrap().release().await.unwrap();
        raw.remove("a", "_writes").await;
    });
    let error = lease.commit(|it| it.items += 1).await;
    expect_error!(error, Error::Indeterminate { expected: Some(1), found: Some(2), .. });
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_never_arrived_is_not_done() {
    let (shop, table) = Shop::with_items([Crate::new("a", 1)]).await;
    let lease = table.items.lock("a").heartbeat(false).await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::LoseRequest);
    table.raw.set("a", "_owner", s("an operator")).await;
    let error = lease.commit(|it| it.items += 1).await;
    expect_error!(error, Error::Lost(Lost::Stolen { .. }));
    assert_eq!(table.raw.get("a").await.unwrap()["items"], n(1));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_a_commit_or_a_release_has_ended_says_so() {
    let (_shop, table) = Shop::with_items([Crate::new("a", 1)]).await;
    let lease = table.items.lock("a").await.unwrap();
    let lost = lease.lost();
    lease.commit(|it| it.items += 1).await.unwrap();
    assert_eq!(lost.await, Lost::Released);
    let lease = table.items.lock("a").fair().await.unwrap();
    let lost = lease.lost();
    lease.commit(|it| it.items += 1).await.unwrap();
    assert_eq!(lost.await, Lost::Released);
    let lease = table.items.lock("a").await.unwrap();
    let lost = lease.lost();
    lease.release().await.unwrap();
    assert_eq!(lost.await, Lost::Released);
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_that_a_commit_has_overtaken_is_no_loss() {
    for is_fair in [false, true] {
        let (shop, table) = Shop::with_items([Crate::new("a", 1)]).await;
        let request = table.items.lock("a").ttl(secs(2));
        let lease = if is_fair { request.fair().await } else { request.await }.unwrap();
        let lost = lease.lost();
        // Heartbeats are refused while the call waits for the reply.
        shop.faults.script_on("UpdateItem", 0, Fault::NeverAnswerAfterApply);
        lease.commit(|it| it.items += 1).await.unwrap();
        assert_eq!(lost.await, Lost::Released);
    }
}

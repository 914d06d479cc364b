//! Leases in a row beside the item: what holds of others holds of them, and the item is written by its writes alone.

use dynalock::{
    Error, Expiry, InvalidTransaction, Lease, LockToken, Lost, Transaction, Versioned,
    local::{Fault, Faults},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{SKEW, TTL, storm::Counted};
use crate::support::{
    Digest, Product, Shop, Table, b, expect_error, millis, n,
    refused::{codes, invalid, met},
    s, secs, settle, travel,
};

/// A large one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "archives")]
#[lockable(ttl = "10s", separate)]
pub(super) struct Archive {
    #[dynalock(partition_key)]
    id: String,
    pages: u32,
    scan: Option<String>,
}

impl Archive {
    fn new(id: &str, pages: u32) -> Self {
        Self { id: id.to_owned(), pages, scan: None }
    }
}

impl Counted for Archive {
    fn empty(id: &str) -> Self {
        Self::new(id, 0)
    }

    fn key(id: &str) -> ArchiveKey {
        id.into()
    }

    fn count(&mut self) -> &mut u32 {
        &mut self.pages
    }
}

fn kill(lease: Lease<Archive>) {
    drop(lease.detach());
}

async fn archives(shop: &Shop) -> Table<Archive> {
    let table = shop.table::<Archive>().await;
    for id in ["a", "b"] {
        table.others.create(Archive::new(id, 5)).await.unwrap();
    }
    table
}

/// The actions of the last transaction: what each does, and the key.
fn actions(shop: &Shop) -> Vec<(String, String)> {
    let id = |action: &Value| {
        let key = if action["Key"].is_object() { &action["Key"] } else { &action["Item"] };
        key["id"]["S"].as_str().unwrap().to_owned()
    };
    shop.actions().iter().map(|(kind, action)| (kind.clone(), id(action))).collect()
}

fn action(kind: &str, id: &str) -> (String, String) {
    (kind.to_owned(), id.to_owned())
}

#[tokio::test(start_paused = true)]
async fn everybody_elses_writes_are_refused_and_say_who_holds_the_item() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let others = &table.others;
    let stored = others.get("a").await.unwrap().unwrap();
    let lease = table.items.lock("a").owner("clerk").await.unwrap();
    let locked = expect_error!(others.update_with("a", |it| it.pages = 0).await, Error::Locked(locked) => locked);
    assert_eq!((&*locked.owner, locked.fence), (lease.owner(), lease.fence()));
    assert!(locked.remaining <= TTL && locked.remaining > secs(9), "{locked:?}");
    let mut changed = stored.clone();
    changed.pages = 0;
    expect_error!(others.update(changed.clone()).await, Error::Locked(_));
    expect_error!(others.update(changed.clone()).exactly_once().await, Error::Locked(_));
    expect_error!(others.replace(changed.clone()).await, Error::Locked(_));
    expect_error!(others.touch(changed.clone()).await, Error::Locked(_));
    expect_error!(others.delete(stored.clone()).await, Error::Locked(_));
    expect_error!(others.create(Archive::new("a", 0)).await, Error::Locked(_));
    expect_error!(others.upsert_with("a", || Archive::new("a", 0), |it| it.pages = 0).await, Error::Locked(_));
    expect_error!(others.try_lock("a").await, Error::Locked(_));
    let mut tx = Transaction::new(&shop.plain);
    tx.update(others, changed.clone());
    expect_error!(tx.commit().await, Error::Locked(_));
    let unit = dynalock::transact(&shop.plain, |tx| async move {
        let mut it = tx.get(others, "a").await?.expect("an item");
        it.pages = 0;
        tx.update(others, it);
        Ok::<_, Error>(())
    });
    expect_error!(unit.await, Error::Locked(_));
    assert_eq!(others.get("a").await.unwrap().unwrap().pages, 5);
    lease.release().await.unwrap();
    assert_eq!(others.update(changed).await.unwrap().version(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_was_deleted_under_a_lease_is_created_by_nobody_while_that_lasts() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let lease = table.items.lock("a").await.unwrap();
    table.others.delete_unchecked("a").await.unwrap();
    expect_error!(table.others.create(Archive::new("a", 0)).await, Error::Locked(_));
    table.others.create(Archive::new("a", 1)).ignoring_lease().await.unwrap();
    let stored = lease.commit(|it| it.pages += 1).await.unwrap();
    assert_eq!(stored.pages, 2);
}

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
        expect_error!(table.others.try_lock("a").await, Error::Locked(_));
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
async fn an_item_that_nobody_leases_has_no_row_beside_it() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let stored = table.items.update_with("a", |it| it.pages += 1).await.unwrap();
    assert_eq!(actions(&shop), [action("Update", "a"), action("ConditionCheck", "a#lock")]);
    let stored = table.items.replace(stored).await.unwrap();
    assert_eq!(actions(&shop), [action("Put", "a"), action("ConditionCheck", "a#lock")]);
    table.items.delete(stored).await.unwrap();
    assert_eq!(actions(&shop), [action("Delete", "a"), action("ConditionCheck", "a#lock")]);
    table.items.create(Archive::new("a", 1)).await.unwrap();
    assert_eq!(actions(&shop), [action("Put", "a"), action("ConditionCheck", "a#lock")]);
    assert_eq!(table.raw.get("a#lock").await, None);
    let transactions = shop.counts(["TransactWriteItems"]);
    table.items.update_with("a", |it| it.pages += 1).ignoring_lease().await.unwrap();
    table.items.delete_unchecked("a").await.unwrap();
    assert_eq!(shop.counts(["TransactWriteItems"]), transactions);
    assert_eq!(shop.counts(["UpdateItem", "DeleteItem"]), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_write_through_a_dead_lease_takes_it_away_so_that_no_late_heartbeat_revives_it() {
    for kind in 0..5 {
        let shop = Shop::in_process(Faults::none());
        let table = archives(&shop).await;
        let items = &table.items;
        let stored = items.get("a").await.unwrap().unwrap();
        let dead = table.others.lock("a").heartbeat(false).await.unwrap();
        travel(millis(11_900)).await;
        expect_error!(items.update_with("a", |it| it.pages += 1).await, Error::Locked(_));
        travel(millis(200)).await;
        match kind {
            0 => drop(items.update_with("a", |it| it.pages += 1).await.unwrap()),
            1 => drop(items.touch(stored).exactly_once().await.unwrap()),
            2 => drop(items.delete(stored).await.unwrap()),
            3 => {
                let mut tx = Transaction::new(&shop.client);
                tx.replace(items, stored);
                tx.create(items, Archive::new("c", 1));
                tx.commit().await.unwrap();
            }
            _ => {
                let unit = dynalock::transact(&shop.client, |tx| async move {
                    let mut it = tx.get(items, "a").await?.expect("an item");
                    it.pages += 1;
                    tx.update(items, it);
                    Ok::<_, Error>(())
                });
                unit.await.unwrap();
            }
        }
        assert_eq!(actions(&shop)[1], action("Update", "a#lock"), "{kind}");
        expect_error!(dead.extend().await, Error::Lost(Lost::Expired));
        let row = table.raw.get("a#lock").await.unwrap();
        assert!(!row.contains_key("_owner") && row.contains_key("_fence"), "{kind}: {row:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_clocks_are_not_asked_a_writer_waits_for_the_release() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    kill(table.items.lock("a").await.unwrap());
    travel(secs(1000)).await;
    let observing = table.others.clone().expiry(Expiry::Observed);
    expect_error!(observing.update_with("a", |it| it.pages += 1).await, Error::Locked(_));
    let next = observing.lock("a").wait(secs(60)).await.unwrap();
    next.release().await.unwrap();
    observing.update_with("a", |it| it.pages += 1).await.unwrap();
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
    assert_eq!(lost, Lost::Stolen { by: next.owner().into(), fence: next.fence() });
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
    assert_eq!(lost, Lost::Stolen { by: next.owner().into(), fence: next.fence() });
    assert_eq!(table.raw.get("a").await.unwrap()["pages"], n(5));
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_one_still_with_the_current_item() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let mut stale = table.items.get("a").await.unwrap().unwrap();
    table.others.update_with("a", |it| it.pages = 7).await.unwrap();
    stale.pages = 1;
    let conflict = expect_error!(table.items.update(stale.clone()).await, Error::Conflict(conflict) => conflict);
    assert_eq!(conflict.current::<Archive>().unwrap().unwrap().pages, 7);
    assert_eq!((conflict.expected(), conflict.found()), (Some(1), Some(2)));
    expect_error!(table.items.create(Archive::new("a", 1)).await, Error::AlreadyExists(_));
    expect_error!(table.items.delete(stale.clone()).exactly_once().await, Error::Conflict(_));

    // Of a dead lease and a conflict, the conflict is the reason.
    kill(table.others.lock("a").await.unwrap());
    travel(TTL + SKEW + millis(10)).await;
    expect_error!(table.items.update(stale.clone()).await, Error::Conflict(_));
    let mut tx = Transaction::new(&shop.client);
    tx.update(&table.items, stale.clone());
    expect_error!(tx.commit().await, Error::Cancelled(_));
    // Of one that is alive, the lease.
    let lease = table.others.lock("a").await.unwrap();
    expect_error!(table.items.update(stale).await, Error::Locked(_));
    lease.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_write_that_ignores_the_lease_passes_and_the_holder_goes_on_from_it() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let mut lease = table.items.lock("a").await.unwrap();
    table.others.update_with("a", |it| it.pages += 100).ignoring_lease().await.unwrap();
    lease.update(|it| it.pages -= 1).await.unwrap();
    assert_eq!((lease.pages, lease.version()), (104, 3));
    lease.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_fence_grows_over_delete_and_recreate_whatever_the_clocks_show() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let mut last = 0;
    for round in 0..6 {
        let items = table.items.clone().clock_ahead_by_millis(-3_600_000 * round);
        let lease = items.lock("a").await.unwrap();
        assert!(lease.fence() > last, "{round}: {lease:?}");
        last = lease.fence();
        let stored = lease.release().await.unwrap();
        table.others.delete(stored).await.unwrap();
        table.others.create(Archive::new("a", 5)).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_cannot_be_leased_and_is_created_by_anybody() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    expect_error!(table.items.lock("x").await, Error::NotFound { attempts: 1, .. });
    table.items.create(Archive::new("x", 1)).await.unwrap();
    let lease = table.items.lock_any(["y", "x", "a"]).await.unwrap();
    assert_eq!(lease.id, "x");
    let other = table.items.lock_any(["y", "x", "a"]).await.unwrap();
    assert_eq!(other.id, "a");
    expect_error!(table.items.lock_any(["y", "z"]).await, Error::NotFound { .. });
}

#[tokio::test(start_paused = true)]
async fn a_key_that_could_be_that_of_a_row_is_refused() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let create = table.items.create(Archive::new("a#lock", 1)).await;
    expect_error!(create, Error::InvalidKey { attribute: "id", .. });
    expect_error!(table.items.get("a#lock").await, Error::InvalidKey { .. });
    expect_error!(table.items.lock("a#lock").await, Error::InvalidKey { .. });
    let mut tx = Transaction::new(&shop.client);
    tx.check_absent(&table.items, "a#lock");
    expect_error!(tx.commit().await, Error::InvalidKey { .. });
    assert_eq!(shop.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_is_neither_lost_nor_done_twice() {
    for fault in [Fault::LoseReply, Fault::ErrorAfterApply, Fault::GarbageAfterApply, Fault::NeverAnswerAfterApply] {
        let shop = Shop::in_process(Faults::none());
        let table = archives(&shop).await;
        let next = |operation| shop.faults.script_on(operation, 0, fault.clone());
        next("UpdateItem");
        let mut lease = table.items.lock("a").heartbeat(false).await.unwrap();
        next("UpdateItem");
        lease.extend().await.unwrap();
        next("TransactWriteItems");
        lease.update(|it| it.pages -= 1).await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        next("TransactWriteItems");
        let mut stored = lease.commit(|it| it.pages -= 1).await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!((stored.pages, stored.version()), (3, 3), "{fault:?}");
        next("TransactWriteItems");
        stored.pages = 4;
        let stored = table.items.update(stored).await.unwrap();
        assert_eq!(stored.version(), 4, "{fault:?}");
        next("UpdateItem");
        table.items.lock("a").await.unwrap().release().await.unwrap();
        next("TransactWriteItems");
        assert!(!table.items.delete(stored).await.unwrap().certain, "{fault:?}");
        next("TransactWriteItems");
        assert_eq!(table.items.create(Archive::new("a", 1)).await.unwrap().version(), 1, "{fault:?}");
        next("UpdateItem");
        expect_error!(table.items.lock("x").await, Error::NotFound { .. });
        table.others.create(Archive::new("x", 1)).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_was_applied_is_no_victim_of_a_lease_that_came_after_it() {
    for once in [false, true] {
        let shop = Shop::in_process(Faults::none());
        let table = archives(&shop).await;
        let mut stored = table.items.get("a").await.unwrap().unwrap();
        stored.pages = 9;
        let others = table.others.clone();
        shop.faults.script_on("TransactWriteItems", 0, Fault::LoseReply);
        shop.rival.before("TransactWriteItems", 1, async move || {
            let mut lease = others.lock("a").heartbeat(false).await.unwrap();
            lease.update(|it| it.pages += 1).await.unwrap();
            kill(lease);
        });
        let update = table.items.update(stored);
        let stored = if once { update.exactly_once().await } else { update.await }.unwrap();
        assert_eq!((stored.pages, stored.version()), (9, 2));
        assert_eq!(table.raw.get("a").await.unwrap()["pages"], n(10));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_in_doubt_that_met_a_lease_is_indeterminate_since_a_late_copy_may_pass_after_it() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let mut stored = table.items.get("a").await.unwrap().unwrap();
    stored.pages = 9;
    let others = table.others.clone();
    shop.faults.script_on("TransactWriteItems", 0, Fault::DeliverLate(secs(4)));
    shop.rival.before("TransactWriteItems", 1, async move || {
        let lease = others.lock("a").await.unwrap();
        tokio::spawn(async move {
            travel(secs(2)).await;
            lease.release().await.unwrap();
        });
    });
    expect_error!(table.items.update(stored).await, Error::Indeterminate { .. });
    settle().await;
    assert_eq!(table.raw.get("a").await.unwrap()["pages"], n(9));
}

#[tokio::test(start_paused = true)]
async fn a_write_in_doubt_that_met_a_dead_lease_takes_it_away_and_is_certain() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    kill(table.others.lock("a").await.unwrap());
    travel(TTL + SKEW + millis(10)).await;
    shop.faults.script_on("TransactWriteItems", 0, Fault::DeliverLate(secs(4)));
    table.items.update_with("a", |it| it.pages += 1).await.unwrap();
    settle().await;
    assert_eq!(table.raw.get("a").await.unwrap()["pages"], n(6));
}

#[tokio::test(start_paused = true)]
async fn a_transaction_in_the_way_is_waited_for() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    for reasons in [["None", "TransactionConflict"], ["TransactionConflict", "None"]] {
        shop.faults.script_on("TransactWriteItems", 0, Fault::canceled(reasons));
        table.items.update_with("a", |it| it.pages += 1).await.unwrap();
    }
    assert_eq!(table.raw.get("a").await.unwrap()["pages"], n(7));
    let stored = table.items.get("a").await.unwrap().unwrap();
    shop.faults.script_on("TransactWriteItems", 0, Fault::canceled(["None", "TransactionConflict"]));
    let mut tx = Transaction::new(&shop.client).attempts(1);
    tx.replace(&table.items, stored);
    let last = expect_error!(tx.commit().await, Error::Exhausted { last, .. } => last);
    let cancelled = expect_error!(Err::<(), _>(*last), Error::Cancelled(cancelled) => cancelled);
    assert_eq!(codes(&cancelled), ["TransactionConflict"]);
}

#[tokio::test(start_paused = true)]
async fn a_transaction_brings_the_row_of_each_item_that_it_writes() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let products = shop.table::<Product>().await;
    let [first, second] = ["a", "b"].map(|id| table.items.get(id));
    let (mut stale, second) = (first.await.unwrap().unwrap(), second.await.unwrap().unwrap());
    stale.pages = 6;
    let mut tx = Transaction::new(&shop.client);
    let create = tx.create(&products.items, Product::new("p", 1));
    let update = tx.update(&table.items, stale.clone());
    tx.check(&table.items, &second);
    let place = tx.create(&table.items, Archive::new("c", 1));
    let done = tx.commit().await.unwrap();
    let kinds: Vec<_> = shop.actions().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["Put", "Update", "ConditionCheck", "ConditionCheck", "Put", "ConditionCheck"]);
    let updated = done.get(update).unwrap();
    assert_eq!((done.get(create).unwrap().version(), updated.version(), done.get(place).unwrap().version()), (1, 2, 1));

    // Reasons are those of the calls, whatever stands between them.
    let mut tx = Transaction::new(&shop.client);
    let delete = tx.delete(&table.items, updated);
    let update = tx.update(&table.items, stale);
    expect_error!(
        tx.commit().await,
        Error::InvalidTransaction(InvalidTransaction::SameItem { first: 0, second: 1, .. })
    );
    drop((delete, update));
    table.others.update_with("b", |it| it.pages = 9).await.unwrap();
    let mut tx = Transaction::new(&shop.client);
    tx.create(&table.items, Archive::new("d", 1));
    let mut changed = second;
    changed.pages = 1;
    let update = tx.update(&table.items, changed);
    tx.create(&table.items, Archive::new("a", 1));
    let cancelled = expect_error!(tx.commit().await, Error::Cancelled(cancelled) => cancelled);
    assert_eq!(codes(&cancelled), ["None", "ConditionalCheckFailed", "ConditionalCheckFailed"]);
    let now = met(&cancelled, &update).unwrap();
    assert_eq!((now.pages, now.version()), (9, 2));
}

#[tokio::test(start_paused = true)]
async fn the_rows_count_among_the_hundred_items_of_a_transaction() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let mut tx = Transaction::new(&shop.client);
    (0..51).for_each(|id| drop(tx.create(&table.items, Archive::new(&format!("n{id}"), 1))));
    let why = invalid(tx.commit().await);
    assert!(matches!(why, InvalidTransaction::TooManyItems { items: 102 }), "{why:?}");
    assert!(why.to_string().contains("each lease that is kept beside its item being one more"), "{why}");
    let mut tx = Transaction::new(&shop.client);
    (0..50).for_each(|id| drop(tx.create(&table.items, Archive::new(&format!("n{id}"), 1))));
    tx.commit().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_transaction_under_a_guard_asks_the_row_once_and_happens_only_while_the_lease_is_held() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let lease = table.items.lock("a").heartbeat(false).await.unwrap();
    let write = async |pages| {
        let [a, b] = ["a", "b"].map(|id| table.items.get(id));
        let (mut a, mut b) = (a.await.unwrap().unwrap(), b.await.unwrap().unwrap());
        (a.pages, b.pages) = (pages, pages);
        let mut tx = Transaction::new(&shop.client);
        tx.guard(&lease);
        tx.update(&table.items, a);
        tx.update(&table.items, b);
        tx.commit().await
    };
    write(1).await.unwrap();
    let (update, check) = ("Update", "ConditionCheck");
    let expected = [action(update, "a"), action(check, "a#lock"), action(update, "b"), action(check, "b#lock")];
    assert_eq!(actions(&shop), expected);

    // The guard alone, and beside checks of its item.
    let stored = table.items.get("a").await.unwrap().unwrap();
    let mut tx = Transaction::new(&shop.client);
    tx.guard(&lease);
    tx.create(&table.items, Archive::new("c", 1));
    tx.commit().await.unwrap();
    assert_eq!(actions(&shop), [action(check, "a#lock"), action("Put", "c"), action(check, "c#lock")]);
    let mut tx = Transaction::new(&shop.client);
    tx.check(&table.items, &stored);
    tx.update(&table.items, stored.clone());
    tx.guard(&lease);
    tx.guard(&lease);
    tx.commit().await.unwrap();
    assert_eq!(actions(&shop), [action(check, "a"), action(check, "a#lock")]);

    travel(TTL + SKEW + millis(10)).await;
    let next = table.others.lock("a").await.unwrap();
    let lost = expect_error!(write(2).await, Error::Lost(lost) => lost);
    assert_eq!(lost, Lost::Stolen { by: next.owner().into(), fence: next.fence() });
    let mut tx = Transaction::new(&shop.client);
    tx.guard(&lease);
    tx.create(&table.items, Archive::new("d", 1));
    expect_error!(tx.commit().await, Error::Lost(Lost::Stolen { .. }));
    assert_eq!((next.pages, table.others.get("b").await.unwrap().unwrap().pages), (1, 1));
    assert_eq!(table.raw.get("d").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_unit_of_work_runs_again_after_a_conflict_and_happens_under_a_guard() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let items = &table.items;
    let others = table.others.clone();
    shop.rival.before("TransactWriteItems", 0, async move || {
        others.update_with("a", |it| it.pages += 100).await.unwrap();
    });
    let lease = &items.lock("b").heartbeat(false).await.unwrap();
    let add = async || {
        dynalock::transact(&shop.client, |tx| async move {
            tx.guard(lease);
            for id in ["a", "b"] {
                let mut it = tx.get(items, id).await?.expect("an item");
                it.pages += 1;
                tx.update(items, it);
            }
            Ok::<_, Error>(())
        })
        .await
    };
    add().await.unwrap();
    let pages = async |id| table.others.get(id).await.unwrap().unwrap().pages;
    assert_eq!((pages("a").await, pages("b").await), (106, 6));
    travel(TTL + SKEW + millis(10)).await;
    let next = table.others.lock("b").await.unwrap();
    let lost = expect_error!(add().await, Error::Lost(lost) => lost);
    assert_eq!(lost, Lost::Stolen { by: next.owner().into(), fence: next.fence() });
}

#[tokio::test(start_paused = true)]
async fn a_transaction_under_a_callers_token_waits_for_the_dead_to_be_taken_away() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    kill(table.others.lock("a").await.unwrap());
    travel(TTL + SKEW + millis(10)).await;
    let stored = table.items.get("a").await.unwrap().unwrap();
    let commit = async || {
        let mut tx = Transaction::new(&shop.client).token("order-7");
        tx.replace(&table.items, stored.clone());
        tx.commit().await.map(drop)
    };
    // Another content would need another token.
    expect_error!(commit().await, Error::Locked(_));
    table.others.lock("a").await.unwrap().release().await.unwrap();
    commit().await.unwrap();
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "pages")]
#[lockable(separate)]
struct Page {
    #[dynalock(partition_key)]
    book: u32,
    #[dynalock(sort_key)]
    title: String,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "blobs")]
#[lockable(separate)]
struct Blob {
    #[dynalock(partition_key)]
    bucket: String,
    #[dynalock(sort_key)]
    digest: Digest,
    size: u32,
}

#[tokio::test(start_paused = true)]
async fn the_row_is_in_the_partition_of_its_item_under_its_sort_key_and_a_suffix() {
    let shop = Shop::in_process(Faults::none());
    let pages = shop.table::<Page>().await;
    pages.items.create(Page { book: 1, title: "t".to_owned(), text: "x".to_owned() }).await.unwrap();
    let lease = pages.items.lock((1, "t")).await.unwrap();
    expect_error!(pages.others.update_with((1, "t"), |it| it.text.clear()).await, Error::Locked(_));
    let row = pages.raw.get_by([("book", n(1)), ("title", s("t#lock"))]).await.unwrap();
    assert_eq!(row["_owner"], s(lease.owner()));
    let token: LockToken = lease.detach().to_string().parse().unwrap();
    pages.others.resume(token).await.unwrap().commit(|it| it.text.push('y')).await.unwrap();

    let blobs = shop.table::<Blob>().await;
    let digest = Digest(vec![0, 255]);
    blobs.items.create(Blob { bucket: "b".to_owned(), digest: digest.clone(), size: 1 }).await.unwrap();
    let lease = blobs.items.lock(("b", &digest)).await.unwrap();
    let key = ("b", &digest);
    expect_error!(blobs.others.update_with(key, |it| it.size = 0).await, Error::Locked(_));
    let row = blobs.raw.get_by([("bucket", s("b")), ("digest", b([&[0, 255], &b"#lock"[..]].concat()))]).await.unwrap();
    assert_eq!(row["_owner"], s(lease.owner()));
    lease.commit(|it| it.size = 2).await.unwrap();
    let reserved = Digest(b"x#lock".to_vec());
    expect_error!(blobs.items.get(("b", &reserved)).await, Error::InvalidKey { attribute: "digest", .. });
    let stored = blobs.raw.get_by([("bucket", s("b")), ("digest", b([0, 255]))]).await.unwrap();
    assert_eq!(stored["size"], n(2));
}

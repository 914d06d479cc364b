//! Writers without the lease, and requests whose replies are lost.

use super::{action, actions};

use crate::support::{Archive, SKEW, Shop, TTL, changed, commit, expect_error, kill, millis, n, secs, settle, travel};
use dynalock::{Error, local::Fault};

#[tokio::test(start_paused = true)]
async fn a_create_of_an_item_that_was_deleted_under_its_lease_is_refused() {
    let (_, table) = Shop::with_two::<Archive>().await;
    let lease = table.items.lock("a").await.unwrap();
    table.others.delete_unchecked("a").await.unwrap();
    expect_error!(table.others.create(Archive::new("a", 0)).await, Error::Locked(_));
    table.others.create(Archive::new("a", 1)).ignoring_lease().await.unwrap();
    let stored = lease.commit(|it| it.items += 1).await.unwrap();
    assert_eq!(stored.items, 2);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_was_never_leased_has_no_lease_row() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    let stored = table.items.update_with("a", |it| it.items += 1).await.unwrap();
    assert_eq!(actions(&shop), [action("Update", "a"), action("ConditionCheck", "a#lock")]);
    let stored = table.items.replace(stored).await.unwrap();
    assert_eq!(actions(&shop), [action("Put", "a"), action("ConditionCheck", "a#lock")]);
    table.items.delete(stored).await.unwrap();
    assert_eq!(actions(&shop), [action("Delete", "a"), action("ConditionCheck", "a#lock")]);
    table.items.create(Archive::new("a", 1)).await.unwrap();
    assert_eq!(actions(&shop), [action("Put", "a"), action("ConditionCheck", "a#lock")]);
    assert_eq!(table.raw.get("a#lock").await, None);
    let transactions = shop.counts(["TransactWriteItems"]);
    table.items.update_with("a", |it| it.items += 1).ignoring_lease().await.unwrap();
    table.items.delete_unchecked("a").await.unwrap();
    assert_eq!(shop.counts(["TransactWriteItems"]), transactions);
    assert_eq!(shop.counts(["UpdateItem", "DeleteItem"]), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_one_still_with_the_current_item() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    let mut stale = table.items.get("a").await.unwrap().unwrap();
    table.others.update_with("a", |it| it.items = 7).await.unwrap();
    stale.items = 1;
    let conflict = expect_error!(table.items.update(stale.clone()).await, Error::Conflict(conflict) => conflict);
    assert_eq!(conflict.current::<Archive>().unwrap().unwrap().items, 7);
    assert_eq!((conflict.expected(), conflict.found()), (Some(1), Some(2)));
    expect_error!(table.items.create(Archive::new("a", 1)).await, Error::AlreadyExists(_));
    expect_error!(table.items.delete(stale.clone()).exactly_once().await, Error::Conflict(_));

    // If the lease has expired and the version has changed, the conflict is the reason.
    kill(table.others.lock("a").await.unwrap());
    travel(TTL + SKEW + millis(10)).await;
    expect_error!(table.items.update(stale.clone()).await, Error::Conflict(_));
    expect_error!(commit(&shop.client, |tx| tx.update(&table.items, stale.clone())).await, Error::Cancelled(_));
    // If the lease has not expired, the lease is the reason.
    let lease = table.others.lock("a").await.unwrap();
    expect_error!(table.items.update(stale).await, Error::Locked(_));
    lease.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_to_a_delete_or_a_create_is_neither_a_loss_nor_a_second_write() {
    for fault in [Fault::LoseReply, Fault::ErrorAfterApply, Fault::GarbageAfterApply, Fault::NeverAnswerAfterApply] {
        let (shop, table) = Shop::with_two::<Archive>().await;
        let next = |operation| shop.faults.script_on(operation, 0, fault.clone());
        let stored = table.items.get("a").await.unwrap().unwrap();
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
async fn a_write_with_a_lost_reply_is_done_although_a_lease_follows() {
    for once in [false, true] {
        let (shop, table) = Shop::with_two::<Archive>().await;
        let stored = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.items = 9);
        let others = table.others.clone();
        shop.faults.script_on("TransactWriteItems", 0, Fault::LoseReply);
        shop.rival.before("TransactWriteItems", 1, async move || {
            let mut lease = others.lock("a").heartbeat(false).await.unwrap();
            lease.update(|it| it.items += 1).await.unwrap();
            kill(lease);
        });
        let update = table.items.update(stored);
        let stored = if once { update.exactly_once().await } else { update.await }.unwrap();
        assert_eq!((stored.items, stored.version()), (9, 2));
        assert_eq!(table.raw.get("a").await.unwrap()["items"], n(10));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_in_doubt_that_meets_an_expired_lease_removes_it_and_is_certain() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    kill(table.others.lock("a").await.unwrap());
    travel(TTL + SKEW + millis(10)).await;
    shop.faults.script_on("TransactWriteItems", 0, Fault::DeliverLate(secs(4)));
    table.items.update_with("a", |it| it.items += 1).await.unwrap();
    settle().await;
    assert_eq!(table.raw.get("a").await.unwrap()["items"], n(6));
}

#[tokio::test(start_paused = true)]
async fn a_late_release_of_a_lease_of_nothing_does_not_end_a_later_grant_of_the_same_call() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    table.others.delete_unchecked("a").await.unwrap();
    let b = table.others.lock("b").await.unwrap();
    // The lease of `a` is granted although its item is missing. The release of this grant arrives
    // late.
    shop.faults.script_on("UpdateItem", 1, Fault::DeliverLate(secs(20)));
    let any = tokio::spawn(table.items.lock_any(["a", "b"]).wait(secs(60)).into_future());
    travel(secs(5)).await;
    table.others.create(Archive::new("a", 5)).await.unwrap();
    table.others.lock("a").await.unwrap().release().await.unwrap();
    b.release().await.unwrap();
    let lease = any.await.unwrap().unwrap();
    assert_eq!(lease.id, "a");
    travel(secs(60)).await;
    assert!(table.others.try_lock("a").await.unwrap().is_none());
    lease.release().await.unwrap();
}

//! Deletes by the holder of a lease. The delete of an item also ends the lease of the item.

use dynalock::{Error, Wait, error::Lost, local::Fault, private::ClockAhead as _};

use super::separate::{action, actions};
use crate::support::{
    Kept, LOST_REPLIES, Shop, TTL, expect_error, for_both_kinds, millis, n, secs, settle, stolen_by, travel,
};

for_both_kinds![
    one_request_of_the_holder_deletes_the_item_and_ends_the_lease,
    a_delete_whose_reply_was_lost_is_done_but_not_certain,
    a_delete_whose_request_was_lost_is_done_and_certain,
    a_delete_in_doubt_ends_the_lease,
    a_heartbeat_that_a_delete_has_overtaken_is_no_loss,
    an_uncertain_delete_releases_the_lease_if_another_caller_has_deleted_the_item,
    a_late_copy_of_a_delete_does_not_delete_the_next_item,
    a_delete_after_a_write_in_doubt_deletes_what_the_write_has_left,
    a_lost_lease_deletes_nothing,
    an_item_that_another_caller_has_deleted_is_lost,
    an_item_that_another_caller_has_changed_is_a_conflict_and_is_released,
    waiters_learn_of_the_delete_by_the_holder,
];

/// Returns the operation that deletes an item under its lease.
fn delete_of<T: Kept>() -> &'static str {
    if T::IS_SEPARATE { "TransactWriteItems" } else { "DeleteItem" }
}

async fn one_request_of_the_holder_deletes_the_item_and_ends_the_lease<T: Kept>() {
    for is_fair in [false, true] {
        let (shop, table) = Shop::with_two::<T>().await;
        let lock = table.items.lock("a").heartbeat(false);
        let mut lease = if is_fair { lock.fair().await } else { lock.await }.unwrap();
        lease.update(|it| *it.items() += 1).await.unwrap();
        let (fence, lost, sent) = (lease.fence(), lease.lost(), shop.requests());
        assert!(lease.delete().await.unwrap().certain);
        assert_eq!((shop.requests() - sent, lost.await), (1, Lost::Released));
        assert_eq!(table.raw.get("a").await, None);
        if T::IS_SEPARATE {
            assert_eq!(actions(&shop), [action("Delete", "a"), action("Update", "a#lock")]);
            settle().await;
            let row = table.raw.get("a#lock").await.unwrap();
            assert_eq!(row["_fence"], n(fence));
            assert!(!row.contains_key("_owner") && !row.contains_key("_queue"), "{row:?}");
        }
        expect_error!(table.others.lock("a").await, Error::NotFound { .. });
        travel(millis(5)).await;
        table.others.create(T::new("a", 1)).await.unwrap();
        let next = table.others.lock("a").await.unwrap();
        assert!(next.fence() > fence, "{next:?}");
        assert_eq!(next.acquired_after_crash(), None);
    }
}

async fn a_delete_whose_reply_was_lost_is_done_but_not_certain<T: Kept>() {
    for fault in LOST_REPLIES {
        let (shop, table) = Shop::with_two::<T>().await;
        let lease = table.items.lock("a").heartbeat(false).await.unwrap();
        let lost = lease.lost();
        shop.faults.script_on(delete_of::<T>(), 0, fault.clone());
        let deleted = lease.delete().await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert!(!deleted.certain, "{fault:?}");
        assert_eq!((table.raw.get("a").await, lost.await), (None, Lost::Released), "{fault:?}");
        table.others.create(T::new("a", 1)).await.unwrap();
        table.others.try_lock("a").await.unwrap().expect("the lease is free").release().await.unwrap();
        settle().await;
        assert_eq!(table.raw.get("a").await.unwrap()["items"], n(1), "{fault:?}");
    }
}

async fn a_delete_whose_request_was_lost_is_done_and_certain<T: Kept>() {
    let (shop, table) = Shop::with_two::<T>().await;
    let lease = table.items.lock("a").heartbeat(false).await.unwrap();
    shop.faults.script_on(delete_of::<T>(), 0, Fault::LoseRequest);
    assert!(lease.delete().await.unwrap().certain);
    assert_eq!(table.raw.get("a").await, None);
}

async fn a_delete_in_doubt_ends_the_lease<T: Kept>() {
    for (fault, is_deleted) in [(Fault::LoseReply, true), (Fault::LoseRequest, false)] {
        let (shop, table) = Shop::with_two::<T>().await;
        let lease = table.items.clone().attempts(1).lock("a").await.unwrap();
        shop.faults.script_on(delete_of::<T>(), 0, fault);
        expect_error!(lease.delete().await, Error::Indeterminate { .. });
        settle().await;
        assert_eq!(table.raw.get("a").await.is_none(), is_deleted);
        let next = table.others.try_lock("a").await;
        match is_deleted {
            true => expect_error!(next, Error::NotFound { .. }),
            false => assert_eq!(next.unwrap().expect("the lease is free").acquired_after_crash(), None),
        }
    }
}

async fn a_heartbeat_that_a_delete_has_overtaken_is_no_loss<T: Kept>() {
    for is_fair in [false, true] {
        let (shop, table) = Shop::with_two::<T>().await;
        let lock = table.items.lock("a").ttl(secs(2));
        let lease = if is_fair { lock.fair().await } else { lock.await }.unwrap();
        let lost = lease.lost();
        // Heartbeats are refused while the call waits for the reply.
        shop.faults.script_on(delete_of::<T>(), 0, Fault::NeverAnswerAfterApply);
        assert!(!lease.delete().await.unwrap().certain);
        assert_eq!(lost.await, Lost::Released);
    }
}

async fn an_uncertain_delete_releases_the_lease_if_another_caller_has_deleted_the_item<T: Kept>() {
    let (shop, table) = Shop::with_two::<T>().await;
    let lease = table.items.lock("a").ttl(secs(600)).await.unwrap();
    shop.faults.script_on(delete_of::<T>(), 0, Fault::LoseRequest);
    let raw = table.raw.clone();
    shop.rival.before(delete_of::<T>(), 1, move || async move { raw.delete("a").await });
    assert!(!lease.delete().await.unwrap().certain);
    travel(secs(1)).await;
    table.others.create(T::new("a", 1)).await.unwrap();
    assert_eq!(table.others.try_lock("a").await.unwrap().expect("the lease is free").count(), 1);
}

async fn a_late_copy_of_a_delete_does_not_delete_the_next_item<T: Kept>() {
    let (shop, table) = Shop::with_two::<T>().await;
    let lease = table.items.lock("a").heartbeat(false).await.unwrap();
    shop.faults.script_on(delete_of::<T>(), 0, Fault::DeliverLate(secs(30)));
    assert!(lease.delete().await.unwrap().certain);
    table.others.create(T::new("a", 1)).await.unwrap();
    let next = table.others.lock("a").heartbeat(false).await.unwrap();
    settle().await;
    let item = table.raw.get("a").await.unwrap();
    assert_eq!((&item["items"], &table.raw.get(T::ROW).await.unwrap()["_fence"]), (&n(1), &n(next.fence())));
}

async fn a_delete_after_a_write_in_doubt_deletes_what_the_write_has_left<T: Kept>() {
    for fault in [Fault::LoseReply, Fault::LoseRequest] {
        let (shop, table) = Shop::with_two::<T>().await;
        let mut lease = table.items.clone().attempts(1).lock("a").await.unwrap();
        shop.faults.script_on(T::WRITE, 0, fault);
        expect_error!(lease.update(|it| *it.items() += 1).await, Error::Indeterminate { .. });
        assert!(lease.delete().await.unwrap().certain);
        assert_eq!(table.raw.get("a").await, None);
    }
}

async fn a_lost_lease_deletes_nothing<T: Kept>() {
    let (shop, table) = Shop::with_two::<T>().await;
    let stale = table.items.lock("a").heartbeat(false).await.unwrap();
    // By its own clock, the first holder still holds the lease.
    let next = table.others.clone().clock_ahead_by_millis(60_000).lock("a").await.unwrap();
    let lost = expect_error!(stale.delete().await, Error::Lost(lost) => lost);
    assert_eq!(stolen_by(&lost), (next.owner(), next.fence()));
    next.release().await.unwrap();

    let paused = table.items.lock("a").heartbeat(false).await.unwrap();
    let watched = paused.lost();
    travel(TTL).await;
    let sent = shop.counts(["DeleteItem", "TransactWriteItems"]);
    expect_error!(paused.delete().await, Error::Lost(Lost::Expired));
    assert_eq!((shop.counts(["DeleteItem", "TransactWriteItems"]), watched.await), (sent, Lost::Expired));
    assert_eq!(table.raw.get("a").await.unwrap()["items"], n(5));
}

async fn an_item_that_another_caller_has_deleted_is_lost<T: Kept>() {
    let (_shop, table) = Shop::with_two::<T>().await;
    let lease = table.items.lock("a").heartbeat(false).await.unwrap();
    let lost = lease.lost();
    table.raw.delete("a").await;
    expect_error!(lease.delete().await, Error::Lost(Lost::Deleted));
    assert_eq!(lost.await, Lost::Deleted);
    travel(secs(1)).await;
    table.others.create(T::new("a", 1)).await.unwrap();
    assert_eq!(table.others.try_lock("a").await.unwrap().expect("the lease is free").count(), 1);
}

async fn an_item_that_another_caller_has_changed_is_a_conflict_and_is_released<T: Kept>() {
    let (_shop, table) = Shop::with_two::<T>().await;
    let lease = table.items.lock("a").await.unwrap();
    table.others.update_with("a", |it| *it.items() = 70).ignoring_lease().await.unwrap();
    let conflict = expect_error!(lease.delete().await, Error::Conflict(conflict) => conflict);
    assert_eq!((conflict.expected(), conflict.found()), (Some(1), Some(2)));
    travel(secs(1)).await;
    let next = table.others.try_lock("a").await.unwrap().expect("the lease is free");
    assert_eq!((next.count(), next.acquired_after_crash()), (70, None));
    next.delete().await.unwrap();
    assert_eq!(table.raw.get("a").await, None);
}

async fn waiters_learn_of_the_delete_by_the_holder<T: Kept>() {
    for is_fair in [false, true] {
        let (_shop, table) = Shop::with_two::<T>().await;
        let lock = table.items.lock("a");
        let lease = if is_fair { lock.fair().await } else { lock.await }.unwrap();
        let waiters = [&table.items, &table.others].map(|items| {
            let lock = items.lock("a").wait(Wait::Forever);
            tokio::spawn(if is_fair { lock.fair().into_future() } else { lock.into_future() })
        });
        travel(secs(1)).await;
        assert!(lease.delete().await.unwrap().certain);
        for waiter in waiters {
            expect_error!(waiter.await.unwrap(), Error::NotFound { .. });
        }
        settle().await;
        assert_eq!(table.raw.get("a").await, None);
        table.others.create(T::new("a", 1)).await.unwrap();
        table.others.try_lock("a").await.unwrap().expect("the lease is free").release().await.unwrap();
    }
}

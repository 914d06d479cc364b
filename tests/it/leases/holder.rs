use dynalock::{Error, LockToken, Transaction, error::Lost, local::Fault, private::ClockAhead as _};

use super::separate::{action, actions};
use crate::support::{
    Crate, Kept, LOST_REPLIES, SKEW, Shop, TTL, changed, commit_under, expect_error, for_both_kinds, kill, millis, n,
    now, secs, settle, stolen_by, travel,
};

for_both_kinds![
    each_write_of_the_holder_renews_the_lease_and_the_commit_releases_it,
    a_token_is_resumed_until_another_holder_has_taken_over,
    the_fence_grows_over_fair_and_plain_leases_crash_delete_and_recreate,
    a_transaction_under_a_lease_happens_only_while_it_is_held,
    a_lost_reply_is_neither_a_loss_nor_a_second_write,
    a_write_in_doubt_that_meets_a_lease_is_indeterminate,
    a_transaction_of_the_holder_writes_what_the_guard_has_read,
    a_commit_whose_closure_refuses_writes_nothing_and_releases,
];

async fn each_write_of_the_holder_renews_the_lease_and_the_commit_releases_it<T: Kept>() {
    let (shop, table) = Shop::with_two::<T>().await;
    let mut lease = table.items.lock("a").heartbeat(false).await.unwrap();
    for _ in 0..5 {
        travel(secs(8)).await;
        lease.update(|it| *it.items() += 1).await.unwrap();
        if T::IS_SEPARATE {
            assert_eq!(actions(&shop), [action("Update", "a"), action("Update", "a#lock")]);
        }
        assert!(lease.remaining() > secs(9), "{lease:?}");
        assert!(table.others.try_lock("a").await.unwrap().is_none());
    }
    let stored = lease.commit(|it| *it.items() += 1).await.unwrap();
    assert_eq!((stored.count(), stored.version()), (11, 7));
    let row = table.raw.get(T::ROW).await.unwrap();
    assert!(!row.contains_key("_owner") && !row.contains_key("_until"), "{row:?}");
    let stored = table.others.update_with("a", |it| *it.items() += 1).await.unwrap();
    assert_eq!((stored.count(), stored.version()), (12, 8));
}

async fn a_token_is_resumed_until_another_holder_has_taken_over<T: Kept>() {
    let (_, table) = Shop::with_two::<T>().await;
    let text = table.items.lock("a").await.unwrap().detach().to_string();
    let token: LockToken = text.parse().unwrap();
    travel(secs(3)).await;
    let mut resumed = table.others.resume(token).await.unwrap();
    resumed.update(|it| *it.items() = 4).await.unwrap();
    let token: LockToken = resumed.detach().to_string().parse().unwrap();
    travel(TTL + SKEW + millis(10)).await;
    let next = table.items.lock("a").await.unwrap();
    assert_eq!((next.count(), next.acquired_after_crash()), (4, Some(token.fence())));
    let lost = expect_error!(table.others.resume(token).await, Error::Lost(lost) => lost);
    assert_eq!(stolen_by(&lost), (next.owner(), next.fence()));
}

async fn the_fence_grows_over_fair_and_plain_leases_crash_delete_and_recreate<T: Kept>() {
    let (_, table) = Shop::with_two::<T>().await;
    let mut last = 0;
    // First all leases are plain, then every second lease is fair, then all leases are fair.
    for round in 0..36 {
        let is_fair = [false, round % 2 == 0, true][round / 12];
        let lock = table.items.lock("a");
        let lease = if is_fair { lock.fair().await.unwrap() } else { lock.await.unwrap() };
        assert!(lease.fence() > last, "{round}: {lease:?}");
        last = lease.fence();
        match round % 4 {
            0 => drop(lease.detach()),
            1 => drop(lease.release().await.unwrap()),
            2 => drop(lease.commit(|it| *it.items() += 1).await.unwrap()),
            _ => {
                let stored = lease.release().await.unwrap();
                table.others.delete(stored).await.unwrap();
                travel(millis(5)).await;
                table.others.create(T::new("a", 5)).await.unwrap();
            }
        }
    }
}

async fn a_transaction_under_a_lease_happens_only_while_it_is_held<T: Kept>() {
    let (shop, table) = Shop::with_two::<T>().await;
    let lease = table.items.lock("a").heartbeat(false).await.unwrap();
    let write = async |items| {
        let [a, b] = ["a", "b"].map(|id| table.items.get(id));
        let (mut a, mut b) = (a.await.unwrap().unwrap(), b.await.unwrap().unwrap());
        (*a.items(), *b.items()) = (items, items);
        let mut tx = Transaction::new(&shop.client);
        tx.guard(&lease);
        tx.update(&table.items, a);
        tx.update(&table.items, b);
        tx.commit().await
    };
    write(1).await.unwrap();
    if T::IS_SEPARATE {
        let row_of = |id: &str| [action("Update", id), action("ConditionCheck", &format!("{id}#lock"))];
        assert_eq!(actions(&shop), [row_of("a"), row_of("b")].concat());
    }
    travel(TTL + SKEW + millis(10)).await;
    let next = table.others.lock("a").await.unwrap();
    let lost = expect_error!(write(2).await, Error::Lost(lost) => lost);
    assert_eq!(stolen_by(&lost), (next.owner(), next.fence()));
    assert_eq!((next.count(), table.others.get("b").await.unwrap().unwrap().count()), (1, 1));
}

async fn a_lost_reply_is_neither_a_loss_nor_a_second_write<T: Kept>() {
    for fault in LOST_REPLIES {
        let (shop, table) = Shop::with_two::<T>().await;
        let next = |operation| shop.faults.script_on(operation, 0, fault.clone());
        next("UpdateItem");
        let mut lease = table.items.lock("a").heartbeat(false).await.unwrap();
        next("UpdateItem");
        lease.extend().await.unwrap();
        next(T::WRITE);
        lease.update(|it| *it.items() -= 1).await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        next(T::WRITE);
        let mut stored = lease.commit(|it| *it.items() -= 1).await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!((stored.count(), stored.version()), (3, 3), "{fault:?}");
        next(T::WRITE);
        *stored.items() = 4;
        assert_eq!(table.items.update(stored).await.unwrap().version(), 4, "{fault:?}");
        next("UpdateItem");
        table.items.lock("a").await.unwrap().release().await.unwrap();
        table.others.update_with("a", |it| *it.items() += 1).await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
    }
}

/// A delayed duplicate of the write may be applied after the lease.
async fn a_write_in_doubt_that_meets_a_lease_is_indeterminate<T: Kept>() {
    let (shop, table) = Shop::with_two::<T>().await;
    let mut stored = table.others.get("a").await.unwrap().unwrap();
    *stored.items() = 9;
    let others = table.others.clone();
    shop.faults.script_on(T::WRITE, 0, Fault::DeliverLate(secs(4)));
    shop.rival.before(T::WRITE, 1, async move || {
        let lease = others.lock("a").await.unwrap();
        tokio::spawn(async move {
            travel(secs(2)).await;
            lease.release().await.unwrap();
        });
    });
    expect_error!(table.items.update(stored).await, Error::Indeterminate { .. });
    settle().await;
    assert_eq!(table.raw.get("a").await.unwrap()["items"], n(9));
}

async fn a_transaction_of_the_holder_writes_what_the_guard_has_read<T: Kept>() {
    let (shop, table) = Shop::with_two::<T>().await;
    let mut lease = table.items.lock("a").await.unwrap();
    lease.update(|it| *it.items() += 1).await.unwrap();
    assert_eq!((lease.stored().version(), lease.stored().count()), (2, 6));
    assert_eq!(lease.stored().etag(), table.others.get("a").await.unwrap().unwrap().etag());
    let reads = shop.counts(["GetItem", "TransactGetItems"]);
    let written = changed(lease.stored().clone(), |it| *it.items() += 1);
    commit_under(&lease, &shop.client, |tx| tx.update(&table.items, written)).await.unwrap();
    assert_eq!(shop.counts(["GetItem", "TransactGetItems"]), reads);
    // The next write of the guard starts from the item that the transaction has written.
    let stored = lease.commit(|it| *it.items() += 1).await.unwrap();
    assert_eq!((stored.count(), stored.version()), (8, 4));
}

async fn a_commit_whose_closure_refuses_writes_nothing_and_releases<T: Kept>() {
    let (_shop, table) = Shop::with_two::<T>().await;
    let lease = table.items.lock("a").await.unwrap();
    let lost = lease.lost();
    let refused = lease.try_commit(|it| {
        *it.items() = 99;
        Err(Error::ForeignHandle)
    });
    expect_error!(refused.await, Error::ForeignHandle);
    assert_eq!(lost.await, Lost::Released);
    travel(millis(100)).await;
    let lease = table.others.try_lock("a").await.unwrap().expect("the lease is free");
    assert_eq!((lease.count(), lease.version()), (5, 1));
    let add = |it: &mut T| {
        *it.items() += 1;
        Ok::<_, Error>(())
    };
    assert_eq!(lease.try_commit(add).await.unwrap().count(), 6);
    assert!(table.others.try_lock("a").await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_grant_reads_the_item_and_the_last_write_releases_it_one_request_each() {
    let (shop, table) = Shop::with_items([Crate::new("a", 5)]).await;
    let mut lease = table.items.lock("a").owner("packer").heartbeat(false).await.unwrap();
    assert_eq!((lease.items, lease.version()), (5, 1));
    assert_eq!(lease.owner(), "packer");
    lease.update(|it| it.items -= 1).await.unwrap();
    assert_eq!((lease.items, lease.version()), (4, 2));
    let stored = lease.commit(|it| it.label = Some("packed".to_owned())).await.unwrap();
    assert_eq!((stored.items, stored.label.as_deref(), stored.version()), (4, Some("packed"), 3));
    assert_eq!((shop.sent("UpdateItem").len(), shop.requests()), (3, 3));
    let row = table.raw.get("a").await.unwrap();
    assert!(!row.contains_key("_owner") && !row.contains_key("_until"), "{row:?}");
    let stored = table.others.update(stored).await.unwrap();
    assert_eq!(stored.version(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_changes_nothing_releases_all_the_same() {
    let (_, table) = Shop::with_items([Crate::new("a", 5)]).await;
    let stored = table.items.lock("a").await.unwrap().commit(|_| {}).await.unwrap();
    assert_eq!(stored.version(), 1);
    table.others.update_with("a", |it| it.items += 1).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_refuses_leaves_the_value_as_it_was() {
    let (shop, table) = Shop::with_items([Crate::new("a", 5)]).await;
    let mut lease = table.items.lock("a").await.unwrap();
    let refused: Result<(), Error> = lease
        .try_update(|it| {
            it.items = 99;
            Err(Error::ForeignHandle)
        })
        .await;
    expect_error!(refused, Error::ForeignHandle);
    assert_eq!(lease.items, 5);
    shop.faults.always(Fault::LoseRequest);
    let lost = lease.update(|it| it.items = 77).await;
    assert!(lost.is_err(), "{lost:?}");
    assert_eq!((lease.items, lease.version()), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn a_paused_holder_is_refused_after_a_takeover_also_by_the_fence() {
    let (_, table) = Shop::with_items([Crate::new("a", 5)]).await;
    let mut paused = table.items.lock("a").heartbeat(false).await.unwrap();
    let fence = paused.fence();
    // The process is paused, so the process does not notice the end of its lease.
    travel(TTL + SKEW + millis(10)).await;
    let next = table.others.lock("a").await.unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 1, Some(fence)));
    expect_error!(paused.update(|it| it.items = 0).await, Error::Lost(_));
    assert_eq!(table.raw.get("a").await.unwrap()["items"], n(5));
}

#[tokio::test(start_paused = true)]
async fn the_first_fence_of_an_item_is_below_an_earlier_life_if_the_clock_is_behind() {
    let (_, table) = Shop::with_table::<Crate>().await;
    let behind = table.items.clone().clock_ahead_by_millis(-3_600_000);
    let mut fences = Vec::new();
    for granter in [&table.items, &behind] {
        table.others.create(Crate::new("a", 5)).await.unwrap();
        let lease = granter.lock("a").await.unwrap();
        fences.push(lease.fence());
        lease.release().await.unwrap();
        table.others.delete_unchecked("a").await.unwrap();
    }
    assert!(fences[1] < fences[0], "{fences:?}");
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_not_there_cannot_be_leased() {
    let (_, table) = Shop::with_table::<Crate>().await;
    expect_error!(table.items.lock("a").await, Error::NotFound { .. });
    assert_eq!(table.raw.get("a").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_unit_of_work_under_a_lock_by_name_happens_only_while_it_is_held() {
    let (shop, table) = Shop::with_items([Crate::new("a", 5)]).await;
    let locks = dynalock::Locks::new(&shop.client, "locks").ttl(TTL);
    locks.create_table().await.unwrap();
    let held = &locks.acquire("shelf").heartbeat(false).await.unwrap();
    let items = &table.items;
    let add = async || {
        dynalock::transact(&shop.client, |tx| async move {
            tx.guard(held);
            let it = changed(tx.get(items, "a").await?.expect("an item"), |it| it.items += 1);
            tx.update(items, it);
            Ok::<_, Error>(())
        })
        .await
    };
    add().await.unwrap();
    travel(TTL + SKEW + millis(10)).await;
    let next = locks.acquire("shelf").await.unwrap();
    let lost = expect_error!(add().await, Error::Lost(lost) => lost);
    assert_eq!(stolen_by(&lost), (next.owner(), next.fence()));
    assert_eq!(table.others.get("a").await.unwrap().unwrap().items, 6);
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
async fn a_late_write_of_the_holder_after_a_heartbeat_neither_happens_nor_shortens_the_lease() {
    let (shop, table) = Shop::with_items([Crate::new("a", 0)]).await;
    let mut lease = table.items.lock("a").heartbeat(false).await.unwrap();
    // This is the only copy, because the caller gives up before it sends another request.
    shop.faults.script_on("UpdateItem", 0, Fault::DeliverLate(secs(3)));
    shop.faults.script_on("UpdateItem", 1, Fault::LoseRequest);
    let gave_up = tokio::time::timeout(millis(1), lease.update(|it| it.items += 1)).await;
    assert!(gave_up.is_err(), "{gave_up:?}");
    travel(secs(2)).await;
    lease.extend().await.unwrap();
    let renewed = table.raw.get("a").await.unwrap();
    travel(secs(4)).await;
    assert_eq!(table.raw.get("a").await.unwrap(), renewed);
    assert_eq!(lease.commit(|it| it.items += 5).await.unwrap().items, 5);
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_limit_waits_for_twice_the_ttl_and_the_skew() {
    let (_, table) = Shop::with_items([Crate::new("a", 5)]).await;
    let lease = table.others.lock("a").await.unwrap();
    let started = now();
    expect_error!(table.items.lock("a").await, Error::Locked(_));
    assert_eq!(started.elapsed().as_secs(), (2 * TTL + SKEW).as_secs());
    kill(lease);
    assert!(table.items.lock("a").await.unwrap().acquired_after_crash().is_some());
}

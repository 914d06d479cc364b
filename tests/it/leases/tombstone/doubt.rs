use dynalock::{
    Error, Lease, Repository, Result,
    local::{Fault, Faults},
};

use tokio::sync::oneshot;

use super::{Drum, HOUR, kill};
use crate::support::{Shop, Table, expect_error, n, s, secs, settle, travel};

async fn lock(items: &Repository<Drum>, is_fair: bool) -> Result<Lease<Drum>> {
    if is_fair { items.lock("a").fair().await } else { items.lock("a").await }
}

/// A table with an item that had a life before, by a clock that was ahead; the last fence of that.
async fn reborn(shop: &Shop) -> (Table<Drum>, u64) {
    let table = shop.table::<Drum>().await;
    table.others.create(Drum::new("a")).await.unwrap();
    let lease = table.others.clone().clock_ahead_by_millis(HOUR).lock("a").await.unwrap();
    let fence = lease.fence();
    lease.release().await.unwrap();
    table.others.delete_unchecked("a").await.unwrap();
    table.others.create(Drum::new("a")).await.unwrap();
    (table, fence)
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_to_any_request_of_a_first_grant_costs_nothing_but_time() {
    let faults = [
        Fault::LoseRequest,
        Fault::LoseReply,
        Fault::ErrorAfterApply,
        Fault::GarbageAfterApply,
        Fault::NeverAnswerAfterApply,
        Fault::DeliverTwice,
        Fault::DeliverLate(secs(2)),
        Fault::Throttle,
        Fault::TransactionConflict,
    ];
    for fault in faults {
        for (is_fair, nth) in
            [(false, 0), (false, 1), (false, 2), (false, 3), (true, 0), (true, 1), (true, 2), (true, 3)]
        {
            let shop = Shop::in_process(Faults::none());
            let (table, last) = reborn(&shop).await;
            shop.faults.script(nth, fault.clone());
            let lease = lock(&table.items, is_fair).await;
            let lease = lease.unwrap_or_else(|error| panic!("{fault:?} at {nth}, fair: {is_fair}: {error}"));
            assert!(lease.fence() > last, "{fault:?} at {nth}, fair: {is_fair}");
            let first = lease.fence();
            lease.commit(|it| it.litres += 1).await.unwrap();
            settle().await;
            let next = table.others.lock("a").await.unwrap();
            assert!(next.fence() > first && next.litres == 1, "{fault:?} at {nth}, fair: {is_fair}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_seed_that_comes_late_begins_no_life_that_another_has_begun() {
    let shop = Shop::in_process(Faults::none());
    let (table, last) = reborn(&shop).await;
    // The first is refused for the fence of the earlier life, a copy of the second arrives in the life after the next.
    shop.faults.script_on("TransactWriteItems", 1, Fault::DeliverLate(secs(30)));
    let lease = table.items.lock("a").await.unwrap();
    assert!(lease.fence() > last);
    let last = lease.fence();
    lease.release().await.unwrap();
    table.others.delete_unchecked("a").await.unwrap();
    table.others.create(Drum::new("a")).await.unwrap();
    travel(secs(60)).await;
    assert!(!table.raw.get("a").await.unwrap().contains_key("_fence"), "the copy was refused");
    let behind = table.items.clone().clock_ahead_by_millis(-HOUR);
    assert!(behind.lock("a").await.unwrap().fence() > last);
}

#[tokio::test(start_paused = true)]
async fn somebody_else_may_do_anything_before_the_seed() {
    for is_fair in [false, true] {
        // It is gone.
        let shop = Shop::in_process(Faults::none());
        let (table, _) = reborn(&shop).await;
        let others = table.others.clone();
        shop.rival.before("TransactWriteItems", 0, async move || others.delete_unchecked("a").await.unwrap());
        expect_error!(lock(&table.items, is_fair).await, Error::NotFound { .. });
        assert!(table.raw.get("a").await.is_none());

        // It is another one.
        table.others.create(Drum::new("a")).await.unwrap();
        let others = table.others.clone();
        shop.rival.before("TransactWriteItems", 0, async move || {
            let first = others.lock("a").await.unwrap();
            first.release().await.unwrap();
            others.delete_unchecked("a").await.unwrap();
            others.create(Drum::new("a")).await.unwrap();
        });
        let lease = lock(&table.items, is_fair).await.unwrap();
        lease.release().await.unwrap();

        // It is held, by a lease that goes on.
        table.others.delete_unchecked("a").await.unwrap();
        table.others.create(Drum::new("a")).await.unwrap();
        let (others, (granted, held)) = (table.others.clone(), oneshot::channel());
        shop.rival.before("TransactWriteItems", 0, async move || {
            drop(granted.send(others.lock("a").heartbeat(false).await.unwrap()));
        });
        expect_error!(table.items.try_lock("a").await, Error::Locked(_));
        let held = held.await.unwrap();
        held.extend().await.unwrap();
        held.release().await.unwrap();

        // It is held by somebody who dies.
        table.others.delete_unchecked("a").await.unwrap();
        table.others.create(Drum::new("a")).await.unwrap();
        let others = table.others.clone();
        shop.rival
            .before("TransactWriteItems", 0, async move || kill(others.lock("a").heartbeat(false).await.unwrap()));
        expect_error!(table.items.try_lock("a").await, Error::Locked(_));
        let lease = lock(&table.items, is_fair).await.unwrap();
        assert!(lease.acquired_after_crash().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_life_that_ends_between_its_seed_and_the_grant_leaves_the_next_one_above_it() {
    for is_fair in [false, true] {
        let shop = Shop::in_process(Faults::none());
        let (table, _) = reborn(&shop).await;
        let others = table.others.clone();
        shop.rival.before("UpdateItem", 1, async move || others.delete_unchecked("a").await.unwrap());
        expect_error!(lock(&table.items, is_fair).await, Error::NotFound { .. });

        table.others.create(Drum::new("a")).await.unwrap();
        let (others, (granted, last)) = (table.others.clone(), oneshot::channel());
        shop.rival.before("UpdateItem", 1, async move || {
            let lease = others.lock("a").await.unwrap();
            granted.send(lease.fence()).unwrap();
            lease.release().await.unwrap();
            others.delete_unchecked("a").await.unwrap();
            others.create(Drum::new("a")).await.unwrap();
        });
        let behind = table.items.clone().clock_ahead_by_millis(-HOUR);
        let lease = lock(&behind, is_fair).await.unwrap();
        assert!(lease.fence() > last.await.unwrap());
        lease.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn two_who_ask_first_count_from_one_seed() {
    let shop = Shop::in_process(Faults::none());
    let (table, last) = reborn(&shop).await;
    let behind = table.others.clone().clock_ahead_by_millis(-HOUR);
    let fence = async |items: &Repository<Drum>| {
        let lease = items.lock("a").await.unwrap();
        let fence = lease.fence();
        lease.release().await.unwrap();
        fence
    };
    let (one, two) = tokio::join!(fence(&table.items), fence(&behind));
    assert!(one.min(two) > last && one.abs_diff(two) == 1, "{one} {two} after {last}");
}

#[tokio::test(start_paused = true)]
async fn a_row_that_another_program_has_made_unreadable_is_an_error() {
    let shop = Shop::in_process(Faults::none());
    let (table, _) = reborn(&shop).await;
    for fence in [s("none"), n("1e25")] {
        table.raw.set("a#lock", "_fence", fence).await;
        for is_fair in [false, true] {
            expect_error!(lock(&table.items, is_fair).await, Error::Corrupt { attribute: "_fence", .. });
        }
    }
    table.raw.delete("a#lock").await;
    lock(&table.items, true).await.unwrap().release().await.unwrap();
}

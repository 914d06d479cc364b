use dynalock::{Error, Expiry, Transaction, error::Lost, local::Faults};

use super::super::{SKEW, TTL};
use super::{Archive, action, actions, archives, kill};
use crate::support::{Shop, expect_error, millis, secs, travel};

#[tokio::test(start_paused = true)]
async fn everybody_elses_writes_are_refused_and_say_who_holds_the_item() {
    let shop = Shop::in_process(Faults::none());
    let table = archives(&shop).await;
    let others = &table.others;
    let stored = others.get("a").await.unwrap().unwrap();
    let lease = table.items.lock("a").owner("clerk").await.unwrap();
    let locked = expect_error!(others.update_with("a", |it| it.pages = 0).await, Error::Locked(locked) => locked);
    assert_eq!((&*locked.owner, locked.fence), (lease.owner(), lease.fence()));
    assert!(locked.remaining <= TTL + SKEW && locked.remaining > TTL, "{locked:?}");
    let mut changed = stored.clone();
    changed.pages = 0;
    expect_error!(others.update(changed.clone()).await, Error::Locked(_));
    expect_error!(others.update(changed.clone()).exactly_once().await, Error::Locked(_));
    expect_error!(others.replace(changed.clone()).await, Error::Locked(_));
    expect_error!(others.touch(changed.clone()).await, Error::Locked(_));
    expect_error!(others.delete(stored.clone()).await, Error::Locked(_));
    expect_error!(others.create(Archive::new("a", 0)).await, Error::Locked(_));
    expect_error!(others.upsert_with("a", || Archive::new("a", 0), |it| it.pages = 0).await, Error::Locked(_));
    assert!(others.try_lock("a").await.unwrap().is_none());
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
    travel(TTL * 3).await;
    assert!(lease.remaining() > secs(5), "{lease:?}");
    lease.release().await.unwrap();
}

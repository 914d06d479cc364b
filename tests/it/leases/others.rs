use dynalock::{Error, Expiry, Transaction, local::Faults};

use super::{Crate, SKEW, TTL, kill};
use crate::support::{Product, Shop, expect_error, millis, s, secs, travel};

#[tokio::test(start_paused = true)]
async fn everybody_elses_writes_are_refused_and_say_who_holds_the_item() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Crate>().await;
    let stored = table.others.create(Crate::new("a", 5)).await.unwrap();
    let lease = table.items.lock("a").owner("packer").await.unwrap();
    let others = &table.others;
    let locked = expect_error!(others.update_with("a", |it| it.items = 0).await, Error::Locked(locked) => locked);
    assert_eq!((&*locked.owner, locked.fence), (lease.owner(), lease.fence()));
    assert!(locked.remaining <= TTL + SKEW && locked.remaining > secs(9) + SKEW, "{locked:?}");
    let mut changed = stored.clone();
    changed.items = 0;
    expect_error!(others.update(changed.clone()).await, Error::Locked(_));
    expect_error!(others.replace(changed.clone()).await, Error::Locked(_));
    expect_error!(others.touch(changed.clone()).await, Error::Locked(_));
    expect_error!(others.delete(stored.clone()).await, Error::Locked(_));
    expect_error!(
        others
            .try_update_with("a", |it| {
                it.items = 0;
                Ok::<_, Error>(())
            })
            .await,
        Error::Locked(_)
    );
    expect_error!(others.upsert_with("a", || Crate::new("a", 0), |it| it.items = 0).await, Error::Locked(_));
    let mut tx = Transaction::new(&shop.plain);
    tx.update(others, changed.clone());
    expect_error!(tx.commit().await, Error::Locked(_));
    let unit = dynalock::transact(&shop.plain, |tx| async move {
        let mut it = tx.get(others, "a").await?.expect("an item");
        it.items = 0;
        tx.update(others, it);
        Ok::<_, Error>(())
    });
    expect_error!(unit.await, Error::Locked(_));
    assert_eq!(others.get("a").await.unwrap().unwrap().items, 5);
    lease.release().await.unwrap();
    assert_eq!(others.update(changed).await.unwrap().version(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_ignores_the_lease_passes_and_the_holder_goes_on_from_it() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Crate>().await;
    table.others.create(Crate::new("a", 5)).await.unwrap();
    let mut lease = table.items.lock("a").await.unwrap();
    table.others.update_with("a", |it| it.items += 100).ignoring_lease().await.unwrap();
    lease.update(|it| it.items -= 1).await.unwrap();
    assert_eq!((lease.items, lease.version()), (104, 3));
    lease.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_write_through_a_dead_lease_takes_it_away_so_that_no_late_heartbeat_revives_it() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Crate>().await;
    table.others.create(Crate::new("a", 5)).await.unwrap();
    let dead = table.items.lock("a").heartbeat(false).await.unwrap();
    travel(millis(11_900)).await;
    expect_error!(table.others.update_with("a", |it| it.items += 1).await, Error::Locked(_));
    travel(millis(200)).await;
    table.others.update_with("a", |it| it.items += 1).await.unwrap();
    expect_error!(dead.extend().await, Error::Lost(_));
    let row = table.raw.get("a").await.unwrap();
    assert!(!row.contains_key("_owner"), "{row:?}");
    assert!(row.contains_key("_fence"), "{row:?}");
}

#[tokio::test(start_paused = true)]
async fn where_clocks_are_not_asked_a_writer_waits_for_the_release() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Crate>().await;
    table.others.create(Crate::new("a", 5)).await.unwrap();
    kill(table.items.lock("a").await.unwrap());
    travel(secs(1000)).await;
    let observing = table.others.clone().expiry(Expiry::Observed);
    expect_error!(observing.update_with("a", |it| it.items += 1).await, Error::Locked(_));
    let next = observing.lock("a").wait(secs(60)).await.unwrap();
    next.release().await.unwrap();
    observing.update_with("a", |it| it.items += 1).await.unwrap();
}

/// The same items, for a program that knows less of them.
#[derive(Debug, serde::Serialize, serde::Deserialize, dynalock::Versioned)]
#[dynalock(table = "crates")]
#[lockable]
struct Lenient {
    #[dynalock(partition_key)]
    id: String,
    items: u32,
    label: Option<String>,
}

#[tokio::test(start_paused = true)]
async fn replace_removes_what_the_struct_does_not_know_and_keeps_the_fence() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Crate>().await;
    let lenient = dynalock::Repository::<Lenient>::new(&shop.client).table(table.name());
    table.others.create(Crate::new("a", 5)).await.unwrap();
    let fence = table.items.lock("a").await.unwrap().fence();
    travel(secs(1)).await;
    table.raw.set("a", "foreign", s("x")).await;
    let stored = lenient.get("a").await.unwrap().unwrap();
    let stored = lenient.replace(stored).await.unwrap();
    assert_eq!(stored.version(), 2);
    let row = table.raw.get("a").await.unwrap();
    assert!(!row.contains_key("foreign"), "{row:?}");
    assert_eq!(row["_fence"], crate::support::n(fence));
    let mut tx = Transaction::new(&shop.client);
    table.raw.set("a", "foreign", s("x")).await;
    let replaced = tx.replace(&lenient, stored);
    let stored = tx.commit().await.unwrap().get(replaced).unwrap();
    assert_eq!(stored.version(), 3);
    assert!(!table.raw.get("a").await.unwrap().contains_key("foreign"));
}

#[tokio::test(start_paused = true)]
async fn a_type_that_is_not_lockable_asks_for_nothing() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    table.items.create(Product::new("a", 1)).await.unwrap();
    table.items.update_with("a", |it| it.stock += 1).await.unwrap();
    let sent = shop.sent("UpdateItem");
    let names = sent[0]["ExpressionAttributeNames"].to_string();
    assert!(!names.contains("_owner") && !names.contains("_until"), "{names}");
}

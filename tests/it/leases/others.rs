use super::separate::{action, actions};
use dynalock::{Error, Expiry, Transaction};

use crate::support::{
    Crate, Kept, Product, SKEW, Shop, TTL, expect_error, for_both_kinds, kept::WRITES, kept::nobody_writes,
    kept::write_by, kill, millis, s, secs, travel,
};

for_both_kinds![
    writes_of_other_callers_are_refused_and_name_the_holder,
    a_write_that_ignores_the_lease_passes_and_the_holder_continues_from_it,
    a_write_after_the_end_of_a_lease_removes_it_so_that_no_late_heartbeat_renews_it,
    an_observing_writer_waits_for_the_release_of_an_expired_lease,
];

async fn writes_of_other_callers_are_refused_and_name_the_holder<T: Kept>() {
    let (shop, table) = Shop::with_two::<T>().await;
    let others = &table.others;
    let mut changed = others.get("a").await.unwrap().unwrap();
    let lease = table.items.lock("a").owner("packer").await.unwrap();
    assert_eq!(lease.owner(), "packer");
    let locked = expect_error!(others.update_with("a", |it| *it.items() = 0).await, Error::Locked(locked) => locked);
    assert_eq!((&*locked.owner, locked.fence), (lease.owner(), lease.fence()));
    assert!(locked.remaining <= TTL + SKEW && locked.remaining > secs(9) + SKEW, "{locked:?}");
    nobody_writes(&shop, others).await;
    lease.release().await.unwrap();
    *changed.items() = 0;
    assert_eq!(others.update(changed).await.unwrap().version(), 2);
}

async fn a_write_that_ignores_the_lease_passes_and_the_holder_continues_from_it<T: Kept>() {
    let (_, table) = Shop::with_two::<T>().await;
    let mut lease = table.items.lock("a").await.unwrap();
    table.others.update_with("a", |it| *it.items() += 100).ignoring_lease().await.unwrap();
    lease.update(|it| *it.items() -= 1).await.unwrap();
    assert_eq!((lease.count(), lease.version()), (104, 3));
    travel(TTL * 3).await;
    assert!(lease.remaining() > secs(5), "{lease:?}");
    lease.release().await.unwrap();
}

async fn a_write_after_the_end_of_a_lease_removes_it_so_that_no_late_heartbeat_renews_it<T: Kept>() {
    for kind in ["touch", "replace in a transaction"].into_iter().chain(WRITES) {
        let (shop, table) = Shop::with_two::<T>().await;
        let items = &table.items;
        let stored = items.get("a").await.unwrap().unwrap();
        let dead = table.others.lock("a").heartbeat(false).await.unwrap();
        travel(millis(11_900)).await;
        expect_error!(items.update_with("a", |it| *it.items() += 1).await, Error::Locked(_));
        travel(millis(200)).await;
        match kind {
            "touch" => drop(items.touch(stored).exactly_once().await.unwrap()),
            "replace in a transaction" => {
                let mut tx = Transaction::new(&shop.client);
                tx.replace(items, stored);
                tx.create(items, T::new("c", 1));
                tx.commit().await.unwrap();
            }
            _ => write_by(&shop, items, kind).await.unwrap(),
        }
        if T::IS_SEPARATE {
            assert_eq!(actions(&shop)[1], action("Update", "a#lock"), "{kind}");
        }
        expect_error!(dead.extend().await, Error::Lost(_));
        let Some(row) = table.raw.get(T::ROW).await else {
            assert!(kind == "delete" && !T::IS_SEPARATE, "{kind}");
            continue;
        };
        assert!(!row.contains_key("_owner") && row.contains_key("_fence"), "{kind}: {row:?}");
    }
}

async fn an_observing_writer_waits_for_the_release_of_an_expired_lease<T: Kept>() {
    let (_, table) = Shop::with_two::<T>().await;
    kill(table.items.lock("a").await.unwrap());
    travel(secs(1000)).await;
    let observing = table.others.clone().expiry(Expiry::Observed);
    expect_error!(observing.update_with("a", |it| *it.items() += 1).await, Error::Locked(_));
    let next = observing.lock("a").wait(secs(60)).await.unwrap();
    next.release().await.unwrap();
    observing.update_with("a", |it| *it.items() += 1).await.unwrap();
}

/// The items of the test, for a program that knows fewer attributes.
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
    let (shop, table) = Shop::with_table::<Crate>().await;
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
    let (shop, table) = Shop::with_table::<Product>().await;
    table.items.create(Product::new("a", 1)).await.unwrap();
    table.items.update_with("a", |it| it.stock += 1).await.unwrap();
    let sent = shop.sent("UpdateItem");
    let names = sent[0]["ExpressionAttributeNames"].to_string();
    assert!(!names.contains("_owner") && !names.contains("_until"), "{names}");
}

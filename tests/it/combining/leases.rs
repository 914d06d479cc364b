//! Combined calls on items with a lease.

use dynalock::Error;

use crate::support::{Kept, Shop, expect_error, for_both_kinds, kill, secs, together, travel};

for_both_kinds! {
    a_leased_item_refuses_all_calls_of_a_batch,
    calls_after_a_release_are_one_write,
    calls_after_the_lease_of_a_dead_holder_are_written,
}

async fn a_leased_item_refuses_all_calls_of_a_batch<T: Kept>() {
    let (_, table) = Shop::with_two::<T>().await;
    let items = table.items.combining();
    let lease = table.others.lock("a").await.unwrap();
    for result in together((0..3).map(|_| items.update_with("a", |it| *it.items() += 1))).await {
        expect_error!(result, Error::Locked(_));
    }
    lease.release().await.unwrap();
    assert_eq!(table.others.get("a").await.unwrap().unwrap().count(), 5);
}

async fn calls_after_a_release_are_one_write<T: Kept>() {
    let (shop, table) = Shop::with_two::<T>().await;
    let items = table.items.combining();
    table.others.lock("a").await.unwrap().release().await.unwrap();
    let [before] = shop.counts([T::WRITE]);
    let version = table.others.get("a").await.unwrap().unwrap().version();
    for result in together((0..150).map(|_| items.update_with("a", |it| *it.items() += 1))).await {
        result.unwrap();
    }
    let stored = table.others.get("a").await.unwrap().unwrap();
    assert_eq!((stored.count(), stored.version()), (155, version + 2));
    assert_eq!(shop.counts([T::WRITE]), [before + 2]);
}

async fn calls_after_the_lease_of_a_dead_holder_are_written<T: Kept>() {
    let (_, table) = Shop::with_two::<T>().await;
    let items = table.items.combining();
    kill(table.others.lock("a").await.unwrap());
    travel(secs(60)).await;
    for result in together((0..3).map(|_| items.update_with("a", |it| *it.items() += 1))).await {
        assert_eq!(result.unwrap().count(), 8);
    }
}

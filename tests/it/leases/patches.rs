//! Patches of leased items: a patch of the holder proves the lease and renews it.

use dynalock::{Error, error::Lost};

use crate::support::{Kept, LOST_REPLIES, Shop, TTL, expect_error, for_both_kinds, kill, millis, n, secs, travel};

for_both_kinds![
    a_patch_of_the_holder_renews_the_lease_and_replaces_the_value,
    a_patch_of_a_holder_that_lost_its_lease_is_refused,
    a_patch_of_the_holder_finds_itself_after_a_lost_reply,
    a_false_condition_leaves_the_holder_its_lease,
    a_patch_of_another_caller_that_ignores_the_lease_passes,
    a_patch_of_a_deleted_item_tells_the_holder,
];

async fn a_patch_of_the_holder_renews_the_lease_and_replaces_the_value<T: Kept>() {
    let (_, table) = Shop::with_two::<T>().await;
    let mut lease = table.items.lock("a").heartbeat(false).await.unwrap();
    travel(secs(8)).await;
    lease.patch().add(T::ITEMS, 3).when(T::ITEMS.eq(5)).await.unwrap();
    assert_eq!((lease.count(), lease.version()), (8, 2));
    travel(secs(8)).await;
    // Without the renewal, the lease would have ended.
    lease.update(|it| *it.items() += 1).await.unwrap();
    lease.patch().add(T::ITEMS, -4).await.unwrap();
    assert_eq!((lease.count(), lease.version()), (5, 4));
    let stored = lease.release().await.unwrap();
    assert_eq!(table.others.get("a").await.unwrap().unwrap(), stored);
    assert_eq!(table.others.patch("a").add(T::ITEMS, 1).await.unwrap().count(), 6);
}

async fn a_patch_of_a_holder_that_lost_its_lease_is_refused<T: Kept>() {
    let (_, table) = Shop::with_two::<T>().await;
    let mut lease = table.items.lock("a").heartbeat(false).await.unwrap();
    travel(TTL + secs(3)).await;
    let second = table.others.lock("a").await.unwrap();
    expect_error!(lease.patch().add(T::ITEMS, 1).await, Error::Lost(_));
    assert_eq!(second.release().await.unwrap().count(), 5);
}

async fn a_patch_of_the_holder_finds_itself_after_a_lost_reply<T: Kept>() {
    for fault in LOST_REPLIES {
        let (shop, table) = Shop::with_two::<T>().await;
        let mut lease = table.items.lock("a").heartbeat(false).await.unwrap();
        shop.faults.script_on(T::WRITE, shop.faults.count(T::WRITE), fault.clone());
        lease.patch().add(T::ITEMS, 1).await.unwrap();
        assert_eq!((lease.count(), lease.version()), (6, 2), "{fault:?}");
        lease.update(|it| *it.items() += 1).await.unwrap();
        assert_eq!(lease.release().await.unwrap().count(), 7, "{fault:?}");
    }
}

async fn a_false_condition_leaves_the_holder_its_lease<T: Kept>() {
    let (_, table) = Shop::with_two::<T>().await;
    let mut lease = table.items.lock("a").await.unwrap();
    expect_error!(lease.patch().add(T::ITEMS, 1).when(T::ITEMS.eq(0)).await, Error::ConditionFailed(_));
    expect_error!(lease.patch().add(T::ITEMS, -6).await, Error::OutOfRange { .. });
    lease.patch().add(T::ITEMS, 1).await.unwrap();
    assert_eq!(lease.release().await.unwrap().count(), 6);
}

async fn a_patch_of_another_caller_that_ignores_the_lease_passes<T: Kept>() {
    let (_, table) = Shop::with_two::<T>().await;
    let mut lease = table.items.lock("a").await.unwrap();
    expect_error!(table.others.patch("a").add(T::ITEMS, 1).await, Error::Locked(_));
    table.others.patch("a").add(T::ITEMS, 100).ignoring_lease().await.unwrap();
    lease.update(|it| *it.items() += 1).await.unwrap();
    assert_eq!(lease.count(), 106);
    // A patch after the end of a lease removes it.
    let fence = kill(lease);
    travel(TTL + secs(3)).await;
    assert_eq!(table.others.patch("a").add(T::ITEMS, 1).await.unwrap().count(), 107);
    let row = table.raw.get(T::ROW).await.unwrap();
    assert!(!row.contains_key("_owner") && row["_fence"] == n(fence), "{row:?}");
}

async fn a_patch_of_a_deleted_item_tells_the_holder<T: Kept>() {
    let (_, table) = Shop::with_two::<T>().await;
    let mut lease = table.items.lock("a").await.unwrap();
    table.others.delete_unchecked("a").await.unwrap();
    expect_error!(lease.patch().add(T::ITEMS, 1).await, Error::Lost(Lost::Deleted));
    travel(millis(1)).await;
}

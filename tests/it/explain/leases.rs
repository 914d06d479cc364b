//! Explained writes of items with a lease.

use super::wire::{SECRET, sends, sends_explained, shows_no_secret};
use crate::support::{Archive, Kept, Parcel, Shop, Table, changed, expect_error, for_both_kinds, kill, settle};

async fn with_secret<T: Kept>() -> (Shop, Table<T>) {
    let shop = Shop::without_faults();
    let table = shop.table_of([changed(T::new(SECRET, 5), |it| *it.label() = Some(SECRET.to_owned()))]).await;
    (shop, table)
}

for_both_kinds![
    writes_without_the_lease_send_what_they_explain,
    writes_under_the_lease_show_its_condition,
    the_writes_of_a_lost_lease_are_not_explained,
];

async fn writes_without_the_lease_send_what_they_explain<T: Kept>() {
    let (shop, Table { items, .. }) = with_secret::<T>().await;
    let get = || async { items.get(SECRET).await.unwrap().unwrap() };
    sends(&shop, items.create(T::new("s3cret-2", 1)), |call| call.explain()).await;
    sends(&shop, items.update(changed(get().await, |it| *it.items() += 1)), |call| call.explain()).await;
    sends(&shop, items.touch(get().await).ignoring_lease(), |call| call.explain()).await;
    sends(&shop, items.replace(changed(get().await, |it| *it.items() += 1)), |call| call.explain()).await;
    sends(&shop, items.patch(SECRET).add(T::ITEMS, 1), |call| call.explain()).await;
    let stored = get().await;
    sends(&shop, items.update_with(SECRET, |it| *it.items() += 1), |call| call.explain_on(&stored)).await;
    sends(&shop, items.delete(get().await), |call| call.explain()).await;
}

async fn writes_under_the_lease_show_its_condition<T: Kept>() {
    let (shop, Table { items, .. }) = with_secret::<T>().await;
    let mut held = items.lock(SECRET).owner("s3cret-owner").heartbeat(false).await.unwrap();
    let before = shop.requests();
    let update = held.explain_update(|it| *it.items() += 1).unwrap();
    let patch = held.patch().add(T::ITEMS, 1).explain().unwrap();
    let nothing = held.explain_update(|_| ()).unwrap();
    assert_eq!((shop.requests(), nothing.requests()), (before, [].as_slice()));
    assert_eq!(held.count(), 5, "the value in the guard stays as it is");
    for explained in [&update, &patch] {
        shows_no_secret(explained);
        let row = usize::from(T::IS_SEPARATE);
        let condition = explained.requests()[0].actions()[row].condition().unwrap();
        let fence = format!("_fence = {}", held.fence());
        assert!(format!("{condition:#}").contains(&fence), "{explained:#}");
        assert!(format!("{condition:#}").contains("_owner = \"s3cret-owner"), "{explained:#}");
    }
    // Each request has its own beat, so only the types are compared.
    let sent = |from: usize| shop.faults.requests().split_off(from).into_iter().map(|request| request.operation);
    held.update(|it| *it.items() += 1).await.unwrap();
    held.patch().add(T::ITEMS, 1).await.unwrap();
    let explained = update.requests().iter().chain(patch.requests()).map(|request| request.operation().to_owned());
    assert_eq!(explained.collect::<Vec<_>>(), sent(before).collect::<Vec<_>>());
    kill(held);
}

async fn the_writes_of_a_lost_lease_are_not_explained<T: Kept>() {
    let (shop, Table { items, others, .. }) = with_secret::<T>().await;
    let held = items.lock(SECRET).heartbeat(false).await.unwrap();
    settle().await;
    let thief = others.lock(SECRET).await.unwrap();
    let _ = held.extend().await;
    let before = shop.requests();
    expect_error!(held.explain_update(|it| *it.items() += 1), dynalock::Error::Lost(_));
    assert_eq!(shop.requests(), before);
    kill(held);
    thief.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_replace_over_a_lease_in_the_item_explains_its_read() {
    let (_, Table { items, .. }) = with_secret::<Parcel>().await;
    let stored = items.get(SECRET).await.unwrap().unwrap();
    let explained = items.replace(stored).explain().unwrap();
    assert_eq!((explained.requests()[0].operation(), explained.is_complete()), ("GetItem", false));
    assert!(explained.to_string().ends_with("\nthen a write that depends on what was read"), "{explained}");
}

#[tokio::test(start_paused = true)]
async fn a_count_leaves_out_the_rows_of_leases_by_a_projection() {
    let (shop, Table { items, .. }) = with_secret::<Archive>().await;
    let count = items.query(SECRET).explain_count().unwrap();
    assert_eq!(count.requests()[0].actions()[0].projection().unwrap().to_string(), "id");
    sends_explained(&shop, &count, items.query(SECRET).count()).await;
}

//! The rules of empty queues for items, and for the separate rows of items.

use crate::support::{Item, Kept, SKEW, Shop, TTL, for_both_kinds, kill, secs, travel};

/// The names of the attributes of a lease in a row.
async fn lease_in(row: impl Future<Output = Option<Item>>) -> Vec<String> {
    let row = row.await.unwrap();
    let of_item = ["id", "items", "label", "_version", "_writes"];
    let mut names: Vec<_> = row.into_keys().filter(|name| !of_item.contains(&&**name)).collect();
    names.sort_unstable();
    names
}

for_both_kinds![a_queue_leaves_nothing_but_the_fence];

async fn a_queue_leaves_nothing_but_the_fence<T: Kept>() {
    let (_, table) = Shop::with_items([T::new("a", 0)]).await;
    let (items, others) = (&table.items, &table.others);

    let mut lease = items.lock("a").fair().await.unwrap();
    lease.update(|it| *it.items() += 1).await.unwrap();
    lease.release().await.unwrap();
    assert_eq!(lease_in(table.raw.get(T::ROW)).await, ["_fence"]);

    let lease = items.lock("a").fair().await.unwrap();
    lease.commit(|it| *it.items() += 1).await.unwrap();
    travel(secs(1)).await;
    assert_eq!(lease_in(table.raw.get(T::ROW)).await, ["_fence"]);

    let first = items.lock("a").fair().await.unwrap();
    let next = others.lock("a").fair().enter().await.unwrap();
    first.commit(|it| *it.items() += 1).await.unwrap();
    travel(secs(1)).await;
    assert_eq!(next.position(), 0);
    next.await.unwrap().commit(|it| *it.items() += 1).await.unwrap();
    travel(secs(1)).await;
    assert_eq!(lease_in(table.raw.get(T::ROW)).await, ["_fence"]);

    // The holder has crashed, and any caller may write.
    let fence = kill(items.lock("a").fair().await.unwrap());
    travel(TTL + SKEW + secs(1)).await;
    others.update_with("a", |it| *it.items() += 1).await.unwrap();
    assert_eq!(lease_in(table.raw.get(T::ROW)).await, ["_fence"]);
    let next = others.lock("a").fair().await.unwrap();
    assert_eq!((next.count(), next.fence(), next.acquired_after_crash()), (5, fence + 1, None));
    next.release().await.unwrap();
    assert_eq!(lease_in(table.raw.get(T::ROW)).await, ["_fence"]);
}

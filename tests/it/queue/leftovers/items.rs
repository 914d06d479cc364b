//! The same of queues in items, and in the rows beside them.

use dynalock::{Versioned, local::Faults};
use serde::{Deserialize, Serialize};

use super::super::{SKEW, TTL};
use crate::support::{Item, Shop, secs, travel};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "parcels")]
#[lockable(ttl = "10s")]
struct Parcel {
    #[dynalock(partition_key)]
    id: String,
    scans: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "letters")]
#[lockable(ttl = "10s", separate)]
struct Letter {
    #[dynalock(partition_key)]
    id: String,
    scans: u32,
}

/// The names of the attributes of a lease in a row.
async fn lease_in(row: impl Future<Output = Option<Item>>) -> Vec<String> {
    let row = row.await.unwrap();
    let of_item = ["id", "scans", "_version", "_writes"];
    let mut names: Vec<_> = row.into_keys().filter(|name| !of_item.contains(&&**name)).collect();
    names.sort_unstable();
    names
}

macro_rules! items {
    ($name:ident, $type:ident, $row:literal) => {
        #[tokio::test(start_paused = true)]
        async fn $name() {
            let shop = Shop::in_process(Faults::none());
            let table = shop.table::<$type>().await;
            table.others.create($type { id: "a".to_owned(), scans: 0 }).await.unwrap();
            let (items, others) = (&table.items, &table.others);

            let mut lease = items.lock("a").fair().await.unwrap();
            lease.update(|it| it.scans += 1).await.unwrap();
            lease.release().await.unwrap();
            assert_eq!(lease_in(table.raw.get($row)).await, ["_fence"]);

            let lease = items.lock("a").fair().await.unwrap();
            lease.commit(|it| it.scans += 1).await.unwrap();
            travel(secs(1)).await;
            assert_eq!(lease_in(table.raw.get($row)).await, ["_fence"]);

            let first = items.lock("a").fair().await.unwrap();
            let next = others.lock("a").fair().enter().await.unwrap();
            first.commit(|it| it.scans += 1).await.unwrap();
            travel(secs(1)).await;
            assert_eq!(next.position(), 0);
            next.await.unwrap().commit(|it| it.scans += 1).await.unwrap();
            travel(secs(1)).await;
            assert_eq!(lease_in(table.raw.get($row)).await, ["_fence"]);

            // Of one that has died, whoever writes.
            let dead = items.lock("a").fair().await.unwrap();
            let fence = dead.fence();
            drop(dead.detach());
            travel(TTL + SKEW + secs(1)).await;
            others.update_with("a", |it| it.scans += 1).await.unwrap();
            assert_eq!(lease_in(table.raw.get($row)).await, ["_fence"]);
            let next = others.lock("a").fair().await.unwrap();
            assert_eq!((next.scans, next.fence(), next.acquired_after_crash()), (5, fence + 1, None));
            next.release().await.unwrap();
            assert_eq!(lease_in(table.raw.get($row)).await, ["_fence"]);
        }
    };
}

items!(of_a_queue_in_an_item, Parcel, "a");
items!(of_a_queue_beside_an_item, Letter, "a#lock");

//! Items that still contain the reserved attribute `crashed`. No value shows this attribute, and no
//! request writes it.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

use crate::support::{SKEW, Shop, TTL, commit, item, kill, millis, n, s, travel};

/// A struct that refuses attributes that it does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(deny_unknown_fields)]
#[dynalock(table = "barrels")]
#[lockable(ttl = "10s")]
struct Barrel {
    #[dynalock(partition_key)]
    id: String,
    litres: u32,
}

/// A strict struct whose lease is in a separate row, and whose reserved attribute has another name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(deny_unknown_fields)]
#[dynalock(table = "tanks")]
#[lockable(ttl = "10s", crashed = "died", separate)]
struct Tank {
    #[dynalock(partition_key)]
    id: String,
    litres: u32,
}

macro_rules! carries {
    ($test:ident, $type:ident, $name:literal, $row:literal) => {
        #[tokio::test(start_paused = true)]
        async fn $test() {
            let (shop, table) = Shop::with_table::<$type>().await;
            let (items, raw) = (&table.items, &table.raw);
            // This item was written by another program, without a version.
            raw.put(item([("id", s("a")), ("litres", n(1)), ($name, n(7))])).await;
            items.update_with("a", |it| it.litres += 1).await.unwrap();

            let mut lease = items.lock("a").await.unwrap();
            assert_eq!((lease.litres, lease.acquired_after_crash()), (2, None));
            raw.set($row, $name, n(7)).await;
            lease.update(|it| it.litres += 1).await.unwrap();
            lease.extend().await.unwrap();
            lease.commit(|it| it.litres += 1).await.unwrap();
            let lease = items.lock("a").fair().await.unwrap();
            assert_eq!((lease.litres, lease.acquired_after_crash()), (4, None));
            let stored = lease.release().await.unwrap();

            let stored = items.replace(stored).await.unwrap();
            commit(&shop.client, |tx| tx.update(items, stored)).await.unwrap();
            assert_eq!(raw.get($row).await.unwrap()[$name], n(7), "no request removes it");

            let fence = kill(items.lock("a").heartbeat(false).await.unwrap());
            travel(TTL + SKEW + millis(100)).await;
            let next = items.lock("a").await.unwrap();
            assert_eq!((next.litres, next.acquired_after_crash()), (4, Some(fence)));
            let stored = next.release().await.unwrap();
            items.delete(stored).await.unwrap();
        }
    };
}

carries!(an_item_that_carries_it_is_read_written_and_leased, Barrel, "_crashed", "a");
carries!(a_row_that_carries_it_is_leased, Tank, "died", "a#lock");

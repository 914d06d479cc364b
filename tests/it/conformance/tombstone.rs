//! Fences over delete and recreate: what the engine makes of the requests that remember them. Clocks are set, and not waited for.

use dynalock::{Error, Transaction, Versioned};
use serde::{Deserialize, Serialize};

use crate::support::{Digest, Shop, b, expect_error, n};

cases![fences_grow_over_delete_and_recreate, a_queue_begins_above_the_earlier_lives];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "parts")]
#[lockable(fence = "grant", tombstone)]
struct Part {
    #[dynalock(partition_key)]
    machine: u32,
    #[dynalock(sort_key)]
    digest: Digest,
    hours: u32,
}

const HOUR: i64 = 3_600_000;

fn part() -> Part {
    Part { machine: 7, digest: Digest(b"a".to_vec()), hours: 0 }
}

fn key() -> PartKey {
    (7, Digest(b"a".to_vec())).into()
}

async fn fences_grow_over_delete_and_recreate(shop: &Shop) {
    let table = shop.table::<Part>().await;
    let ahead = table.items.clone().clock_ahead_by_millis(HOUR);
    table.items.create(part()).await.unwrap();
    let mut lease = ahead.lock(key()).await.unwrap();
    lease.update(|it| it.hours += 1).await.unwrap();
    let first = lease.fence();
    expect_error!(table.others.delete(table.others.get(key()).await.unwrap().unwrap()).await, Error::Locked(_));
    let stored = lease.release().await.unwrap();
    assert_eq!(stored.version(), 2);
    table.items.delete(stored).await.unwrap();
    let row = table.raw.get_by([("machine", n(7)), ("digest", b(*b"a#lock"))]).await.unwrap();
    assert_eq!((row.len(), &row["grant"]), (3, &n(first - 1 + (1 << 32))));

    table.items.create(part()).await.unwrap();
    let second = table.items.lock(key()).await.unwrap();
    assert!(second.fence() > first, "{} after {first}", second.fence());
    second.release().await.unwrap();
}

async fn a_queue_begins_above_the_earlier_lives(shop: &Shop) {
    let table = shop.table::<Part>().await;
    let behind = table.items.clone().clock_ahead_by_millis(-HOUR);
    table.items.create(part()).await.unwrap();
    let first = table.items.lock(key()).fair().await.unwrap();
    let fence = first.fence();
    let mut tx = Transaction::new(&shop.client);
    tx.guard(&first);
    tx.delete(&table.items, table.items.get(key()).await.unwrap().unwrap());
    tx.commit().await.unwrap();
    table.items.create(part()).await.unwrap();
    let second = behind.lock(key()).fair().await.unwrap();
    assert!(second.fence() > fence, "{} after {fence}", second.fence());
    second.release().await.unwrap();
}

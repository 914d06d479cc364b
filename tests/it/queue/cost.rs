//! The cost of a queue, by its requests. A write costs one unit for each kilobyte of the row, even
//! if it is refused.

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use dynalock::{Error, Locks, private::ClockAhead as _};
use tokio::task::JoinSet;

use crate::support::{Item, Shop, TTL, expect_error, kill, millis, secs, travel};

/// Returns the size of a row in bytes, as DynamoDB counts it.
fn size(row: &Item) -> usize {
    let of = |value: &AttributeValue| match value {
        AttributeValue::S(text) => text.len(),
        // A number takes one byte for two digits, and one more byte.
        AttributeValue::N(digits) => digits.len().div_ceil(2) + 1,
        AttributeValue::L(list) => 3 + list.iter().map(|entry| 1 + entry.as_s().unwrap().len()).sum::<usize>(),
        other => panic!("a row of a lock has no {other:?}"),
    };
    row.iter().map(|(name, value)| name.len() + of(value)).sum()
}

async fn row(shop: &Shop) -> Item {
    shop.raw("locks", "name").get("printer").await.unwrap()
}

/// Runs this number of clients. Each client waits, holds the lock for a moment, and waits again.
/// Returns the write units of a hundred acquisitions.
async fn busy(clients: usize, rounds: usize) -> (Shop, usize) {
    let (shop, locks, _) = Shop::with_locks().await;
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let locks = locks.clone();
        tasks.spawn(async move {
            travel(millis(client as u64 * 7)).await;
            for _ in 0..rounds {
                let held = locks.acquire("printer").fair().await.unwrap();
                travel(millis(20)).await;
                held.release().await.unwrap();
                // Two clocks in the same millisecond show the same time.
                travel(millis(1)).await;
            }
        });
    }
    let mut largest = 0;
    while !tasks.is_empty() {
        if let Ok(done) = tokio::time::timeout(millis(333), tasks.join_next()).await {
            done.unwrap().unwrap();
        }
        largest = largest.max(size(&row(&shop).await));
    }
    assert!(largest < 1024, "{largest}");
    let [writes, transactions, queries, scans] = shop.counts(["UpdateItem", "TransactWriteItems", "Query", "Scan"]);
    assert_eq!([transactions, queries, scans], [0; 3]);
    (shop, (100 * writes).div_ceil(clients * rounds))
}

#[tokio::test(start_paused = true)]
async fn a_free_lock_costs_two_writes_and_a_cheap_read() {
    let (shop, units) = busy(1, 50).await;
    assert_eq!(units, 200);
    let reads = shop.faults.requests().into_iter().filter(|request| request.operation == "GetItem");
    let reads: Vec<_> = reads.map(|read| read.json()["ConsistentRead"] == true).collect();
    assert_eq!((reads, shop.requests()), (vec![false; 50], 150));
}

#[tokio::test(start_paused = true)]
async fn two_sixteen_and_twenty_waiting_clients_cost_two_writes_each() {
    for (clients, rounds) in [(2, 50), (16, 12), (20, 12)] {
        let (_, units) = busy(clients, rounds).await;
        assert!(units <= 210, "{clients} clients: {units}");
    }
}

/// Returns the units of the last enqueue and of the first dequeue, by the larger size of the row
/// before and after.
async fn units(waiters: usize) -> (usize, usize) {
    let (shop, locks, others) = Shop::with_locks().await;
    let first = others.acquire("printer").fair().await.unwrap();
    let mut queued = Vec::new();
    for _ in 0..waiters {
        queued.push(locks.acquire("printer").fair().max_queue(1_000).enter().await.unwrap());
    }
    assert_eq!(shop.counts(["UpdateItem"]), [waiters]);
    first.extend().await.unwrap();
    let bytes = size(&row(&shop).await);
    (bytes, 2 * bytes.div_ceil(1024))
}

#[tokio::test(start_paused = true)]
async fn a_row_with_twenty_five_waiters_is_below_a_kilobyte_and_each_kilobyte_more_costs_two_units() {
    for (waiters, expected) in [(1, 2), (25, 2), (50, 4), (90, 8)] {
        let (bytes, units) = units(waiters).await;
        assert_eq!(units, expected, "{waiters} who wait: {bytes} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_try_costs_one_write() {
    let (shop, locks, others) = Shop::with_locks().await;
    let _held = others.acquire("printer").fair().await.unwrap();
    assert!(locks.try_acquire("printer").fair().await.unwrap().is_none());
    assert_eq!(shop.counts(["UpdateItem"]), [1]);
    let full = locks.acquire("printer").fair().max_queue(1).await;
    expect_error!(full, Error::QueueFull { waiting: 0, .. });
    assert_eq!(shop.counts(["UpdateItem"]), [2]);
}

#[tokio::test(start_paused = true)]
async fn clocks_that_are_apart_cost_no_more_than_a_third_write() {
    let (shop, locks, _) = Shop::with_locks().await;
    let mut tasks = JoinSet::new();
    for ahead in [-900, -300, 0, 300, 900] {
        let locks: Arc<Locks> = Arc::new(locks.clone().clock_ahead_by_millis(ahead));
        tasks.spawn(async move {
            for _ in 0..20 {
                let held = locks.acquire("printer").fair().await.unwrap();
                travel(millis(50)).await;
                held.release().await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    let [writes] = shop.counts(["UpdateItem"]);
    assert!((200..=300).contains(&writes), "{writes}");
}

#[tokio::test(start_paused = true)]
async fn an_expired_head_costs_each_waiter_at_most_one_write() {
    let (shop, locks, others) = Shop::with_locks().await;
    kill(others.acquire("printer").fair().await.unwrap());
    let mut queued = Vec::new();
    for _ in 0..20 {
        queued.push(locks.acquire("printer").fair().enter().await.unwrap());
    }
    travel(TTL + secs(5)).await;
    assert_eq!(queued[0].position(), 0);
    // These are the enqueues, the dequeues, and the heartbeats of the new holders.
    let [writes] = shop.counts(["UpdateItem"]);
    assert!(writes <= 20 + 20 + 2, "{writes}");
}

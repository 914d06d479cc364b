//! The time from a write that releases a lease to the next grant, in one process.

use std::time::Duration;

use dynalock::{Error, LeaseGuard, Repository, Result, Wait, local::Fault};
use tokio::task::JoinSet;

use crate::support::{Kept, Shop, Table, expect_error, for_both_kinds, millis, now, secs, travel};

/// The time that a request takes.
const ROUND_TRIP: Duration = millis(5);
const HOLD: Duration = millis(20);

async fn lock<T: Kept>(items: &Repository<T>, is_fair: bool) -> Result<LeaseGuard<T>> {
    let request = items.lock("a").ttl(secs(20)).wait(Wait::Forever);
    if is_fair { request.fair().await } else { request.await }
}

async fn table_behind_delays<T: Kept>() -> (Shop, Table<T>) {
    let (shop, table) = Shop::with_two::<T>().await;
    shop.faults.always(Fault::Delay(ROUND_TRIP));
    (shop, table)
}

async fn a_commit_wakes_the_waiters_of_its_process<T: Kept>() {
    for is_fair in [false, true] {
        let (_shop, table) = table_behind_delays::<T>().await;
        let started = now();
        let mut tasks = JoinSet::new();
        for _ in 0..32 {
            let items = table.items.clone();
            tasks.spawn(async move {
                let lease = lock(&items, is_fair).await.unwrap();
                travel(HOLD).await;
                lease.commit(|it| *it.items() += 1).await.unwrap();
            });
        }
        tasks.join_all().await;
        let each = started.elapsed() / 32;
        assert_eq!(table.others.get("a").await.unwrap().unwrap().count(), 5 + 32);
        assert!(each < HOLD + 6 * ROUND_TRIP, "{is_fair}: {each:?}");
    }
}

async fn a_delete_wakes_the_waiters_of_its_process<T: Kept>() {
    let (_shop, table) = table_behind_delays::<T>().await;
    let lease = lock(&table.items, false).await.unwrap();
    let mut waiting = JoinSet::new();
    for _ in 0..2 {
        let items = table.items.clone();
        waiting.spawn(async move { lock(&items, false).await });
    }
    travel(secs(10)).await;
    lease.delete().await.unwrap();
    let started = now();
    expect_error!(waiting.join_next().await.unwrap().unwrap(), Error::NotFound { .. });
    assert!(started.elapsed() < 6 * ROUND_TRIP, "{:?}", started.elapsed());
}

for_both_kinds![a_commit_wakes_the_waiters_of_its_process, a_delete_wakes_the_waiters_of_its_process];

//! Many writers on one item.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use aws_sdk_dynamodb::Client;
use dynalock::{
    Error, Repository, Result,
    local::{Database, Fault, Faults},
    transact,
};

use crate::support::{Product, Shop, expect_error, millis, now, secs};

#[tokio::test(flavor = "multi_thread")]
async fn update_with_by_64_tasks_ends_at_the_exact_sum_and_version() {
    let (_, table) = Shop::with_table::<Product>().await;
    table.items.create(Product::new("85123A", 0)).await.unwrap();
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let items = table.items.clone();
            tokio::spawn(async move {
                for _ in 0..200 {
                    items.update_with("85123A", |product| product.stock += 1).deadline(secs(120)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let product = table.items.get("85123A").await.unwrap().unwrap();
    assert_eq!((product.stock, product.version()), (12_800, 12_801));
}

/// The round trip of the calls that wait on the paused clock.
const ROUND_TRIP: Duration = millis(5);

#[tokio::test(start_paused = true)]
async fn a_call_that_has_waited_long_never_sleeps_longer_than_a_round_trip() {
    let faults = Faults::none();
    let shop = Shop::in_process(faults.clone());
    let table = shop.table_of([Product::new("a", 0)]).await;
    faults.always(Fault::Delay(ROUND_TRIP));
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let (others, times) = (table.others.clone(), Arc::clone(&attempts));
    // Another writer writes the item before each attempt.
    shop.rival.before_each("UpdateItem", move || {
        let (others, times) = (others.clone(), Arc::clone(&times));
        async move {
            times.lock().unwrap().push(now());
            others.update_with("a", |product| product.stock += 1).await.unwrap();
        }
    });
    let started = now();
    let update = table.items.update_with("a", |product| product.stock += 1).attempts(300);
    expect_error!(update.await, Error::Exhausted { .. });
    let attempts = attempts.lock().unwrap();
    let late: Vec<_> = attempts.iter().filter(|at| at.duration_since(started) > millis(100)).collect();
    // Between two attempts, there may be a sleep and a read.
    for pair in late.windows(2) {
        let gap = pair[1].duration_since(*pair[0]);
        assert!(gap <= 3 * ROUND_TRIP + millis(1), "{gap:?}");
    }
    assert!(late.len() > 200, "{}", late.len());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_gives_up_has_used_its_whole_time() {
    const DEADLINE: Duration = secs(5);
    const SLOW: Duration = millis(250);
    let faults = Faults::none();
    let shop = Shop::in_process(faults.clone());
    let table = shop.table_of([Product::new("a", 0)]).await;
    faults.always(Fault::Delay(SLOW));
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let items = table.items.clone();
            tokio::spawn(async move {
                let started = now();
                let result = items.update_with("a", |product| product.stock += 1).deadline(DEADLINE).await;
                (result.map(drop), started.elapsed())
            })
        })
        .collect();
    let mut written = 0;
    for call in calls {
        match call.await.unwrap() {
            (Ok(()), _) => written += 1,
            // The remaining time is too short for a last read and a last write.
            (Err(Error::Exhausted { .. }), time) => assert!(time + 3 * SLOW > DEADLINE, "{time:?}"),
            (Err(other), _) => panic!("{other:?}"),
        }
    }
    let product = table.others.get("a").await.unwrap().unwrap();
    assert_eq!(product.stock, written);
}

/// Lets four processes write without a pause between their calls. A request takes 2 to 16 ms.
/// Returns the time of the slowest call.
async fn slowest_of_four_writers<F>(write: impl Fn(Client, Repository<Product>) -> F) -> Duration
where
    F: Future<Output = Result<()>>,
{
    let database = Database::in_memory().unwrap();
    let table = Shop::on(&database, Faults::none()).table_of(["a", "b"].map(|sku| Product::new(sku, 0))).await;
    let writer = async |seed| {
        let delays = [2, 6, 11, 16].map(|time| Fault::Delay(millis(time)));
        let faults = delays.into_iter().fold(Faults::seeded(seed), |faults, delay| faults.rate(delay, 0.25));
        let shop = Shop::on(&database, faults);
        let mut slowest = Duration::ZERO;
        for _ in 0..150 {
            let started = now();
            write(shop.client.clone(), shop.named(table.name())).await.unwrap();
            slowest = slowest.max(started.elapsed());
        }
        slowest
    };
    let slowest = tokio::join!(writer(1), writer(2), writer(3), writer(4));
    slowest.0.max(slowest.1).max(slowest.2).max(slowest.3)
}

#[tokio::test(start_paused = true)]
async fn no_update_with_starves_beside_three_busy_writers() {
    let slowest =
        slowest_of_four_writers(async |_, items| items.update_with("a", |product| product.stock += 1).await.map(drop));
    let slowest = slowest.await;
    assert!(slowest < millis(500), "{slowest:?}");
}

#[tokio::test(start_paused = true)]
async fn no_transact_starves_beside_three_busy_writers() {
    let slowest = slowest_of_four_writers(async |client, items| {
        let items = &items;
        let transfer = transact(&client, |tx| async move {
            for (sku, change) in [("a", -1), ("b", 1)] {
                let mut product = tx.get(items, sku).await?.expect("an item");
                product.stock += change;
                tx.update(items, product);
            }
            Ok(())
        });
        transfer.await
    });
    let slowest = slowest.await;
    assert!(slowest < millis(500), "{slowest:?}");
}

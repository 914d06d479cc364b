//! All faults at once, over many seeds.

use dynalock::{
    Error,
    local::{Fault, Faults},
};

use super::tally::increment;
use crate::support::{FAULTS, Product, Shop, millis, secs, settle};

/// A third of all requests meets a fault.
fn storm(seed: u64) -> Faults {
    let more = [
        Fault::EmptyAfterApply,
        Fault::Delay(millis(20)),
        Fault::DeliverLate(millis(1)),
        Fault::DeliverLate(millis(50)),
    ];
    FAULTS.into_iter().chain(more).fold(Faults::seeded(seed), |faults, fault| faults.rate(fault, 0.02))
}

#[tokio::test(start_paused = true)]
async fn increments_in_a_storm_are_applied_once_or_not_at_all() {
    let mut done = 0;
    for seed in 0..30 {
        let shop = Shop::in_process(storm(seed));
        let table = shop.table::<Product>().await;
        let tally =
            increment(&table, 4, 15, |items| items.update_with("a", |product| product.stock += 1).deadline(secs(60)))
                .await;
        settle().await;
        tally.agrees_with(&table).await;
        done += tally.done;
    }
    assert!(done > 30 * 60 * 9 / 10, "{done} of 1,800");
}

#[tokio::test(start_paused = true)]
async fn increments_exactly_once_in_a_storm_are_all_done() {
    for seed in 0..10 {
        let shop = Shop::in_process(storm(seed));
        let table = shop.table::<Product>().await;
        let tally = increment(&table, 4, 15, |items| {
            items.update_with("a", |product| product.stock += 1).exactly_once().deadline(secs(600))
        })
        .await;
        settle().await;
        tally.agrees_with(&table).await;
        assert_eq!((tally.done, tally.open, tally.given_up), (60, 0, 0), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn late_deliveries_among_deletes_and_creates_never_undo_an_acknowledged_write() {
    for seed in 0..30 {
        let shop = Shop::in_process(storm(seed));
        let table = shop.table::<Product>().await;
        for life in 0..8 {
            let created = match table.items.create(Product::new("a", life)).deadline(secs(60)).await {
                Ok(created) => created,
                // A late create of an earlier incarnation may have stored this item.
                Err(Error::AlreadyExists(_) | Error::Indeterminate { .. }) => {
                    settle().await;
                    table.others.delete_unchecked("a").await.unwrap();
                    continue;
                }
                Err(other) => panic!("seed {seed}: {other:?}"),
            };
            match table.items.update_with("a", |product| product.stock += 100).deadline(secs(60)).await {
                Ok(updated) => {
                    settle().await;
                    let stored = table.others.get("a").await.unwrap().unwrap();
                    assert_eq!((stored.stock, stored.version()), (life + 100, 2), "seed {seed}");
                    assert_eq!(stored.etag(), updated.etag());
                    match table.items.delete(stored).deadline(secs(60)).await {
                        Ok(_) => assert_eq!(table.raw.get("a").await, None),
                        Err(Error::Indeterminate { .. }) => {}
                        Err(other) => panic!("seed {seed}: {other:?}"),
                    }
                }
                Err(Error::Indeterminate { .. } | Error::NotFound { .. }) => drop(created),
                Err(other) => panic!("seed {seed}: {other:?}"),
            }
            settle().await;
            table.others.delete_unchecked("a").await.unwrap();
        }
    }
}

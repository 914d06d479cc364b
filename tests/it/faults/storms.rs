//! All faults at once, over many seeds.

use dynalock::{
    Error,
    local::{Fault, Faults},
};

use crate::{
    storms::{Tally, seeds, survives},
    support::{FAULTS, Product, Shop, Table, millis, secs, settle, tally::increment},
};

/// Makes a table behind faults. A third of all requests meets a fault.
async fn table(seed: u64) -> Table<Product> {
    let more = [
        Fault::EmptyAfterApply,
        Fault::Delay(millis(20)),
        Fault::DeliverLate(millis(1)),
        Fault::DeliverLate(millis(50)),
    ];
    let faults = FAULTS.into_iter().chain(more).fold(Faults::seeded(seed), |faults, fault| faults.rate(fault, 0.02));
    Shop::in_process(faults).table().await
}

async fn increments(seed: u64) -> Tally {
    let table = table(seed).await;
    let write = |_| table.items.update_with("a", |product| product.stock += 1).deadline(secs(60));
    let tally = increment(&table, 4, 15, write).await;
    settle().await;
    tally.agrees_with(&table).await;
    Tally { writes: tally.done as u64, refused: tally.given_up as u64, ..Tally::default() }
}

async fn increments_exactly_once(seed: u64) -> Tally {
    let table = table(seed).await;
    let write = |_| table.items.update_with("a", |product| product.stock += 1).exactly_once().deadline(secs(600));
    let tally = increment(&table, 4, 15, write).await;
    settle().await;
    tally.agrees_with(&table).await;
    assert_eq!((tally.done, tally.open, tally.given_up), (60, 0, 0), "seed {seed}");
    Tally { writes: 60, ..Tally::default() }
}

/// Creates, updates and deletes an item 8 times.
async fn lives(seed: u64) -> Tally {
    let table = table(seed).await;
    let mut tally = Tally::default();
    for life in 0..8 {
        tally.lives += 1;
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
                tally.writes += 1;
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
    tally
}

#[test]
fn increments_in_a_storm_are_applied_once_or_not_at_all() {
    let tally = survives("increments", seeds(30), increments);
    assert!(tally.writes > seeds(30) * 60 * 9 / 10, "{tally:?}");
}

#[test]
fn increments_exactly_once_in_a_storm_are_all_done() {
    let tally = survives("increments exactly once", seeds(10), increments_exactly_once);
    assert_eq!(tally.writes, seeds(10) * 60, "{tally:?}");
}

#[test]
fn late_deliveries_among_deletes_and_creates_never_undo_an_acknowledged_write() {
    let tally = survives("deletes and creates", seeds(30), lives);
    assert_eq!(tally.lives, seeds(30) * 8, "{tally:?}");
}

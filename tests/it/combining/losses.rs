//! Increments through two handles while replies are lost. No increment is lost, and no increment is
//! applied twice.

use dynalock::local::{Fault, Faults};

use super::{add, delay, far_away, stock};
use crate::{
    storms::{self, seeds, survives},
    support::{
        FAULTS, LOST_REPLIES, Product, Shop, Table, millis, secs, settle, start,
        tally::{Tally, increment},
        together, travel,
    },
};

/// A call that enters while the outcome of the batch is unknown waits for the next batch.
#[tokio::test(start_paused = true)]
async fn a_batch_whose_reply_is_lost_keeps_its_calls() {
    for lost in LOST_REPLIES {
        let (shop, table) = far_away(0).await;
        let products = table.items.combining();
        shop.faults.script_on("UpdateItem", 0, lost.clone());
        let first = start((0..8).map(|_| add(&products, 1)));
        // The write is applied after 10 ms.
        travel(millis(11)).await;
        let late = add(&products, 1).await.unwrap();
        assert_eq!((late.stock, late.version()), (9, 3), "{lost:?}");
        for call in first {
            let product = call.await.unwrap().unwrap();
            assert_eq!((product.stock, product.version()), (8, 2), "{lost:?}");
        }
    }
}

/// The item of the last batch may be outdated after a pause.
#[tokio::test(start_paused = true)]
async fn the_batch_after_a_pause_reads_the_item() {
    for paused in [Fault::Throttle, Fault::LoseReply] {
        let (shop, table) = far_away(0).await;
        let products = table.items.combining();
        shop.faults.script_on("UpdateItem", 0, paused.clone());
        for result in together((0..150).map(|_| add(&products, 1))).await {
            result.unwrap();
        }
        assert_eq!((stock(&table).await, shop.counts(["GetItem", "UpdateItem"])), (150, [2, 3]), "{paused:?}");
    }
}

/// Lets 4 writers send increments of the item `a`, two writers through each of two handles.
async fn increments(table: &Table<Product>, each: usize) -> Tally {
    let items = table.items.clone().deadline(secs(120));
    let handles = [items.combining(), items.combining()];
    increment(table, 4, each, |writer| add(&handles[writer % 2], 1)).await
}

/// 4 writers make 500 increments each. At most this number may be indeterminate.
async fn survive_losses(shop: &Shop, open: usize) {
    let table = shop.table().await;
    let tally = increments(&table, 500).await;
    tally.agrees_with_combined(&table).await;
    assert_eq!(tally.done + tally.open, 2_000, "{tally:?}");
    assert!(tally.open <= open, "{tally:?}");
}

/// The share of lost replies, and the number of 2,000 increments that may be indeterminate.
fn losses() -> [(Faults, usize); 3] {
    let losses = |seed, rate| Faults::seeded(seed).rate(Fault::LoseReply, rate);
    [(losses(1, 0.01), 2), (losses(5, 0.05), 6), (losses(20, 0.2), 24)]
}

#[tokio::test]
async fn increments_at_1_5_and_20_percent_lost_replies_are_applied_once_each() {
    for (faults, open) in losses() {
        survive_losses(&Shop::in_process(faults), open).await;
    }
}

#[tokio::test(start_paused = true)]
async fn increments_far_away_at_1_5_and_20_percent_lost_replies_are_applied_once_each() {
    for (faults, open) in losses() {
        let shop = Shop::in_process(faults);
        delay(&shop);
        survive_losses(&shop, open).await;
    }
}

async fn storm(seed: u64) -> storms::Tally {
    let faults = FAULTS.into_iter().fold(Faults::seeded(seed), |faults, fault| faults.rate(fault, 0.02));
    let table = Shop::in_process(faults).table().await;
    let tally = increments(&table, 15).await;
    settle().await;
    tally.agrees_with_combined(&table).await;
    storms::Tally { writes: tally.done as u64, refused: tally.given_up as u64, ..storms::Tally::default() }
}

#[test]
fn increments_in_a_storm_are_applied_once_or_not_at_all() {
    let tally = survives("combined increments", seeds(30), storm);
    assert!(tally.writes > seeds(30) * 60 * 9 / 10, "{tally:?}");
}

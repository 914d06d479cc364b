//! Increments through two handles while replies are lost. No increment is lost, and no increment is
//! applied twice.

use dynalock::{
    Error, Repository,
    local::{Fault, Faults},
};

use super::{add, delay, far_away, stock};
use crate::support::{FAULTS, LOST_REPLIES, Product, Shop, Table, millis, secs, settle, start, together, travel};

/// A call that enters while the batch is in doubt waits for the next batch.
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

/// The results of all increments.
#[derive(Debug, Default)]
struct Tally {
    done: usize,
    open: usize,
    given_up: usize,
}

/// Lets 4 writers send increments of the item `a`, two writers through each of two handles.
async fn increments(table: &Table<Product>, each: usize) -> Tally {
    table.others.create(Product::new("a", 0)).await.unwrap();
    let items: Repository<Product> = table.items.clone().deadline(secs(120));
    let handles = [items.combining(), items.combining()];
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let products = handles[writer % 2].clone();
            tokio::spawn(async move {
                let mut results = Vec::new();
                for _ in 0..each {
                    results.push(add(&products, 1).await.map(drop));
                }
                results
            })
        })
        .collect();
    let mut tally = Tally::default();
    for writer in writers {
        for result in writer.await.unwrap() {
            match result {
                Ok(()) => tally.done += 1,
                Err(Error::Indeterminate { .. }) => tally.open += 1,
                Err(Error::Exhausted { .. }) => tally.given_up += 1,
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    tally
}

impl Tally {
    async fn agrees_with(&self, table: &Table<Product>) {
        let counter = table.others.get("a").await.unwrap().unwrap();
        let applied = usize::try_from(counter.stock).unwrap();
        assert!((self.done..=self.done + self.open).contains(&applied), "{applied} applied, {self:?}");
        assert!(counter.version() <= 1 + u64::try_from(counter.stock).unwrap());
    }
}

/// The share of lost replies, and the number of 2,000 increments that may be indeterminate.
fn losses() -> [(Faults, usize); 3] {
    let losses = |seed, rate| Faults::seeded(seed).rate(Fault::LoseReply, rate);
    [(losses(1, 0.01), 2), (losses(5, 0.05), 6), (losses(20, 0.2), 24)]
}

#[tokio::test]
async fn increments_at_1_5_and_20_percent_lost_replies_are_applied_once_each() {
    for (faults, open) in losses() {
        let shop = Shop::in_process(faults);
        let table = shop.table().await;
        let tally = increments(&table, 500).await;
        tally.agrees_with(&table).await;
        assert_eq!(tally.done + tally.open, 2_000, "{tally:?}");
        assert!(tally.open <= open, "{tally:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn increments_far_away_at_1_5_and_20_percent_lost_replies_are_applied_once_each() {
    for (faults, open) in losses() {
        let shop = Shop::in_process(faults);
        delay(&shop);
        let table = shop.table().await;
        let tally = increments(&table, 500).await;
        tally.agrees_with(&table).await;
        assert_eq!(tally.done + tally.open, 2_000, "{tally:?}");
        assert!(tally.open <= open, "{tally:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn increments_in_a_storm_are_applied_once_or_not_at_all() {
    let mut done = 0;
    for seed in 0..30 {
        let faults = FAULTS.into_iter().fold(Faults::seeded(seed), |faults, fault| faults.rate(fault, 0.02));
        let shop = Shop::in_process(faults);
        let table = shop.table().await;
        let tally = increments(&table, 15).await;
        settle().await;
        tally.agrees_with(&table).await;
        done += tally.done;
    }
    assert!(done > 30 * 60 * 9 / 10, "{done} of 1,800");
}

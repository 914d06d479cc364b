//! Replies that are lost at random. No write is lost, and no write is applied twice.

use dynalock::{
    Error,
    local::{Fault, Faults},
};

use crate::support::{Product, Shop, expect_error, millis, secs, tally::increment, travel};

const WRITES: [&str; 3] = ["PutItem", "UpdateItem", "DeleteItem"];

/// 4 writers make 500 increments each. At most this number of 10,000 may be indeterminate.
async fn increments(shop: &Shop, indeterminate: usize) {
    let table = shop.table::<Product>().await;
    let write = |_| table.items.update_with("a", |product| product.stock += 1).deadline(secs(120));
    let tally = increment(&table, 4, 500, write).await;
    tally.agrees_with(&table).await;
    assert_eq!(tally.done + tally.open, 2_000, "{tally:?}");
    assert!(tally.open * 10_000 <= 2_000 * indeterminate, "{tally:?}");
}

/// The share of lost replies, for all requests or only for writes, and the number of 10,000 calls
/// that may be indeterminate.
fn losses() -> [(Faults, usize); 3] {
    let losses = |seed, rate| Faults::seeded(seed).rate(Fault::LoseReply, rate);
    [(losses(1, 0.01), 5), (losses(5, 0.05).only(WRITES), 25), (losses(20, 0.2), 100)]
}

/// The engine in the process answers immediately, so the largest possible number of writes happens
/// between two attempts of one write.
#[tokio::test]
async fn increments_at_1_5_and_20_percent_lost_replies_are_applied_once_each() {
    for (faults, indeterminate) in losses() {
        increments(&Shop::in_process(faults), indeterminate).await;
    }
}

/// The round trip is 5 ms.
#[tokio::test(start_paused = true)]
async fn increments_far_away_at_1_5_and_20_percent_lost_replies_are_applied_once_each() {
    for (faults, indeterminate) in losses() {
        let shop = Shop::in_process(faults);
        for operation in ["GetItem", "PutItem", "UpdateItem"] {
            shop.rival.before_each(operation, || travel(millis(5)));
        }
        increments(&shop, indeterminate).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_uncontended_create_is_never_reported_as_one_that_met_its_own_item() {
    for (seed, rate) in [(5, 0.05), (20, 0.2)] {
        let faults = Faults::seeded(seed).rate(Fault::LoseReply, rate);
        let shop = Shop::in_process(faults);
        let table = shop.table::<Product>().await;
        for number in 0..1_000 {
            let key = number.to_string();
            let created = table.items.create(Product::new(&key, number)).deadline(secs(60)).await.unwrap();
            assert_eq!((created.version(), created.stock), (1, number));
        }
        assert!(shop.requests() > 1_000, "some replies were lost");
    }
}

#[tokio::test(start_paused = true)]
async fn an_uncontended_write_is_never_reported_as_a_conflict_with_itself() {
    let faults = Faults::seeded(7).rate(Fault::LoseReply, 0.2);
    let shop = Shop::in_process(faults);
    let table = shop.table::<Product>().await;
    let mut uncertain = 0;
    for number in 0..150 {
        let mut product = table.items.create(Product::new("a", 0)).deadline(secs(60)).await.unwrap();
        product.stock = number + 1;
        let product = table.items.update(product).deadline(secs(60)).await.unwrap();
        let product = table.items.touch(product).deadline(secs(60)).await.unwrap();
        table.items.replace(product).deadline(secs(60)).await.unwrap();
        let upsert = table.items.upsert_with("a", || Product::new("a", 0), |product| product.stock += 1);
        let product = upsert.deadline(secs(60)).await.unwrap();
        assert_eq!((product.version(), product.stock), (5, number + 2));
        assert_eq!(table.others.get("a").await.unwrap().as_ref(), Some(&product));
        uncertain += usize::from(!table.items.delete(product).deadline(secs(60)).await.unwrap().certain);
        assert_eq!(table.raw.get("a").await, None);
    }
    assert!(uncertain > 0, "some replies of deletes were lost");
}

/// No condition distinguishes the second creation from the first creation. Still, no caller takes
/// the second incarnation for the first incarnation.
#[tokio::test(start_paused = true)]
async fn a_create_that_arrives_again_after_a_delete_begins_another_life() {
    let (shop, table) = Shop::with_table::<Product>().await;
    shop.faults.script_on("PutItem", 0, Fault::DeliverLate(secs(1)));
    let product = table.items.create(Product::new("a", 1)).await.unwrap();
    let of_the_first_life = product.clone();
    table.items.delete(product).await.unwrap();
    travel(secs(2)).await;
    assert_eq!(table.items.get("a").await.unwrap().unwrap().version(), of_the_first_life.version());
    expect_error!(table.items.touch(of_the_first_life).await, Error::Conflict(_));
}

#[tokio::test(start_paused = true)]
async fn of_many_creates_of_one_key_one_wins_or_none_can_tell() {
    for seed in 0..60 {
        let shop = Shop::in_process(Faults::seeded(seed).rate(Fault::LoseReply, 0.2).rate(Fault::LoseRequest, 0.2));
        let table = shop.table::<Product>().await;
        let creates: Vec<_> =
            (0..4).map(|stock| tokio::spawn(table.items.create(Product::new("a", stock)).into_future())).collect();
        let mut won = Vec::new();
        for (stock, create) in (0..).zip(creates) {
            match create.await.unwrap() {
                Ok(product) => won.push((product.stock, stock)),
                Err(Error::AlreadyExists(_) | Error::Indeterminate { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        let stored = table.others.get("a").await.unwrap().unwrap().stock;
        assert!(won.is_empty() || won == [(stored, stored)], "{won:?}, stored {stored}, seed {seed}");
    }
}

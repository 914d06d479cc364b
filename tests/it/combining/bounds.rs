//! The bounds of a batch: calls that wait for the next batch.

use std::{
    pin::pin,
    task::{Context, Waker},
    time::Duration,
};

use dynalock::{Error, Pace, Stored, request::Combining};

use super::{add, far_away, stock};
use crate::support::{Product, Shop, expect_error, millis, start, together, travel};

/// Lets time pass inside of a closure.
fn spend(time: Duration) {
    let passed = pin!(tokio::time::advance(time));
    // The first poll moves the clock.
    assert!(passed.poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

#[tokio::test(start_paused = true)]
async fn a_batch_ends_after_100_milliseconds_of_closures() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    let calls = (0..6).map(|_| {
        products.update_with("a", |product| {
            spend(millis(40));
            product.stock += 1;
        })
    });
    let results = together(calls).await.into_iter().map(Result::unwrap);
    let seen: Vec<_> = results.map(|product| (product.stock, product.version())).collect();
    // The third closure of a batch ends after 120 milliseconds.
    assert_eq!(seen, [(3, 2), (3, 2), (3, 2), (6, 3), (6, 3), (6, 3)]);
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 2]);
}

/// Adds 40,000 bytes to the note. The third of these calls in a batch exceeds the bound.
fn write(
    products: &Combining<Product>,
) -> impl IntoFuture<Output = Result<Stored<Product>, Error>, IntoFuture: Send> + use<> {
    products.update_with("a", |product| {
        product.note = Some(product.note.take().unwrap_or_default() + &"x".repeat(40_000));
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_behind_a_full_batch_has_no_effect_at_its_deadline() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    let first = start((0..3).map(|_| write(&products)));
    travel(millis(1)).await;
    // The batch is written from 5 to 10 milliseconds.
    let late = products.update_with("a", |product| product.stock += 1).deadline(millis(7)).await;
    expect_error!(late, Error::Exhausted { .. });
    for call in first {
        assert_eq!(call.await.unwrap().unwrap().version(), 2);
    }
    assert_eq!((stock(&table).await, shop.counts(["UpdateItem"])), (0, [1]));
}

#[tokio::test(start_paused = true)]
async fn batches_grow_again_after_a_call_has_failed_alone() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    let large = start([products.update_with("a", |product| product.note = Some("x".repeat(500_000)))]).remove(0);
    for result in together((0..99).map(|_| add(&products, 1))).await {
        result.unwrap();
    }
    expect_error!(large.await.unwrap(), Error::ItemTooLarge { .. });
    // Batches of 100, 50, 25, 12, 6, 3 and 1 calls fail. Batches of 1, 2, 4, 8, 16, 32 and 36 calls
    // are written.
    assert_eq!((stock(&table).await, shop.counts(["UpdateItem"])), (99, [14]));
}

/// With four conflicts, `Pace::Balanced` sleeps and reads the item again, and `Pace::Latency` does
/// not.
#[tokio::test(start_paused = true)]
async fn the_pace_of_the_repository_is_the_pace_of_the_batches() {
    for (pace, reads) in [(None, 1), (Some(Pace::Latency), 1), (Some(Pace::Balanced), 2)] {
        let (shop, table) = Shop::with_items([Product::new("a", 0)]).await;
        for nth in 0..4 {
            shop.rival.before_through(&table.others, "UpdateItem", nth, async |others| {
                others.update_with("a", |product| product.stock += 100).await.unwrap();
            });
        }
        let products = pace.map_or(table.items.clone(), |pace| table.items.clone().pace(pace)).combining();
        add(&products, 1).await.unwrap();
        assert_eq!(stock(&table).await, 401, "{pace:?}");
        assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [reads, 5], "{pace:?}");
    }
}

//! A create that is refused, and that the network repeats after another writer has deleted the item.

use dynalock::{Error, Pace, Stored, request::Combining};

use super::{delay, stock};
use crate::support::{Product, Shop, Table, expect_error, millis, repeats::RepeatedCreate, start, travel};

/// Adds to the stock of the item `a`, or creates it.
fn upsert(
    products: &Combining<Product>,
    count: i64,
) -> impl IntoFuture<Output = Result<Stored<Product>, Error>, IntoFuture: Send> + use<> {
    products.upsert_with("a", || Product::new("a", 0), move |product| product.stock += count)
}

/// Starts two calls. The second one waits while the create of the first one is refused.
async fn two_calls(products: &Combining<Product>) -> [Result<Stored<Product>, Error>; 2] {
    let first = start([upsert(products, 1)]).remove(0);
    // The read takes 5 ms.
    travel(millis(7)).await;
    let second = start([upsert(products, 10)]).remove(0);
    [first.await.unwrap(), second.await.unwrap()]
}

/// Deletes the item before the `nth` request of `operation` arrives.
fn delete(shop: &Shop, table: &Table<Product>, operation: &str, nth: usize) {
    shop.rival.before_through(&table.others, operation, nth, async |others| {
        travel(millis(5)).await;
        others.delete_unchecked("a").await.unwrap();
    });
}

/// Returns whether a caller learned that the outcome of its call is unknown.
fn is_open(result: &Result<Stored<Product>, Error>) -> bool {
    matches!(result, Err(Error::Indeterminate { .. }))
}

#[tokio::test(start_paused = true)]
async fn a_repeated_create_is_not_taken_for_the_update_of_the_next_run() {
    let (copy, shop, table) = RepeatedCreate::of_refused_create().await;
    delay(&shop);
    shop.rival.before_through(&table.others, "UpdateItem", 0, async |others| {
        travel(millis(5)).await;
        others.delete_unchecked("a").await.unwrap();
        copy.arrive().await;
    });
    let results = two_calls(&table.items.combining()).await;
    assert!(results.iter().all(is_open), "{results:?}");
    assert_eq!(stock(&table).await, 1, "the first call was applied once, and the second one was not applied");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_create_is_not_taken_for_the_create_of_the_next_run() {
    let (copy, shop, table) = RepeatedCreate::of_refused_create().await;
    delay(&shop);
    // This pace reads again after the conflict.
    let products = table.items.clone().pace(Pace::Economy).combining();
    delete(&shop, &table, "GetItem", 1);
    shop.rival.before("PutItem", 1, || copy.arrive());
    let results = two_calls(&products).await;
    assert!(results.iter().all(is_open), "{results:?}");
    assert_eq!(stock(&table).await, 1);
}

/// The second call joins the batch only after the read, so it is in the next batch.
#[tokio::test(start_paused = true)]
async fn a_read_that_finds_a_repeated_create_ends_the_batch() {
    let (copy, shop, table) = RepeatedCreate::of_refused_create().await;
    delay(&shop);
    let products = table.items.clone().pace(Pace::Economy).combining();
    shop.rival.before_through(&table.others, "GetItem", 1, async |others| {
        others.delete_unchecked("a").await.unwrap();
        copy.arrive().await;
    });
    let [first, second] = two_calls(&products).await;
    expect_error!(first, Error::Indeterminate { .. });
    assert_eq!((second.unwrap().stock, stock(&table).await), (11, 11));
}

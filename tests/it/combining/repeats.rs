//! A create that is refused, and that the network repeats after another writer has deleted the
//! item.

use std::time::{SystemTime, UNIX_EPOCH};

use dynalock::{Error, Pace, Stored, Versioned, local::Faults, request::Combining};
use serde::{Deserialize, Serialize};

use super::{delay, stock};
use crate::support::{Product, Shop, Table, expect_error, millis, repeats::Repeated, start, travel};

#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "coupons")]
struct Coupon {
    #[dynalock(partition_key)]
    code: String,
    uses: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[dynalock(expires)]
    until: Option<u64>,
}

impl Coupon {
    fn new() -> Self {
        Self { code: "a".to_owned(), uses: 0, until: None }
    }

    #[expect(clippy::disallowed_methods, reason = "a time to live is a time of day")]
    fn expired() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Self { until: Some(now.as_secs() - 100), ..Self::new() }
    }
}

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
    let (copy, shop, table) = Repeated::of_refused_create().await;
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
    let (copy, shop, table) = Repeated::of_refused_create().await;
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
    let (copy, shop, table) = Repeated::of_refused_create().await;
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

/// The second run of the closures changes nothing, so the batch reads the item again.
#[tokio::test(start_paused = true)]
async fn a_repeated_create_is_found_by_the_read_after_a_run_without_changes() {
    let (copy, shop, table) = Repeated::of_refused_create().await;
    delay(&shop);
    shop.rival.before_through(&table.others, "GetItem", 1, async |others| {
        others.delete_unchecked("a").await.unwrap();
        copy.arrive().await;
    });
    let products = table.items.combining();
    // The item of the other writer has a stock of 100.
    let refill = |limit| {
        let add = move |product: &mut Product| product.stock += i64::from(product.stock < limit);
        start([products.upsert_with("a", || Product::new("a", 0), add)]).remove(0)
    };
    let first = refill(50);
    // The second call waits while the create of the first call is refused.
    travel(millis(7)).await;
    let second = refill(50);
    let results = [first.await.unwrap(), second.await.unwrap()];
    assert!(results.iter().all(is_open), "{results:?}");
    assert_eq!(stock(&table).await, 1, "the first call was applied once, and the second one was not applied");
}

/// An expired item refuses the create, and another one refuses the write over it. Another writer
/// changes the item of the repeated create, so the next batch may not start from the create.
#[tokio::test(start_paused = true)]
async fn the_batch_after_a_repeated_create_starts_from_the_newest_item() {
    let copy = Repeated::first("PutItem");
    let shop = Shop::below(Faults::none(), &copy);
    let table = shop.table::<Coupon>().await;
    delay(&shop);
    for nth in 0..2 {
        shop.rival.before_through(&table.others, "PutItem", nth, async |others| {
            travel(millis(5)).await;
            others.create(Coupon::expired()).await.unwrap();
        });
    }
    shop.rival.before_through(&table.others, "GetItem", 1, async |others| {
        others.delete_unchecked("a").await.unwrap();
        copy.arrive().await;
        others.update_with("a", |coupon| coupon.uses += 100).await.unwrap();
    });
    let coupons = table.items.clone().pace(Pace::Economy).combining();
    let upsert = |uses| coupons.upsert_with("a", Coupon::new, move |coupon| coupon.uses += uses);
    let first = start([upsert(1)]).remove(0);
    travel(millis(7)).await;
    let second = upsert(10).await.unwrap();
    assert_eq!(first.await.unwrap().unwrap().uses, 101);
    assert_eq!((second.uses, second.version()), (111, 3));
}

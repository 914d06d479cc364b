//! Combined calls whose callers stop waiting, whose deadline ends, or whose runtime ends.

use dynalock::{Error, Pace, Repository, error::Unavailable, local::Fault};
use tokio::runtime::{Builder, Runtime};

use super::{add, far_away, stock};
use crate::support::{Product, Shop, Table, expect_error, millis, secs, settle, start, travel};

/// Lets another writer change the item before the first write.
fn conflict(shop: &Shop, table: &Table<Product>) {
    shop.rival.before_through(&table.others, "UpdateItem", 0, async |others| {
        travel(millis(5)).await;
        others.update_with("a", |product| product.stock += 100).await.unwrap();
    });
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_before_the_write_leaves_nothing() {
    let (_, table) = far_away(0).await;
    let products = table.items.combining();
    let mut calls = start([1, 10].map(|count| add(&products, count)));
    // The read takes 5 ms.
    travel(millis(2)).await;
    calls[1].abort();
    assert_eq!(calls.remove(0).await.unwrap().unwrap().stock, 1);
    assert_eq!(stock(&table).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_during_the_write_leaves_its_effect() {
    let (_, table) = far_away(0).await;
    let products = table.items.combining();
    let mut calls = start([1, 10].map(|count| add(&products, count)));
    travel(millis(7)).await;
    calls[1].abort();
    assert_eq!(calls.remove(0).await.unwrap().unwrap().stock, 11);
    assert_eq!(stock(&table).await, 11);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_left_during_a_refused_write_leaves_nothing() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    conflict(&shop, &table);
    let mut calls = start([1, 10].map(|count| add(&products, count)));
    travel(millis(7)).await;
    calls[1].abort();
    assert_eq!(calls.remove(0).await.unwrap().unwrap().stock, 101);
    assert_eq!(stock(&table).await, 101);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_leaves_after_a_conflict_leaves_nothing() {
    let (shop, table) = far_away(0).await;
    // This pace sleeps after each conflict, and reads again.
    let products = table.items.clone().pace(Pace::Economy).combining();
    conflict(&shop, &table);
    let mut calls = start([1, 10].map(|count| add(&products, count)));
    travel(millis(12)).await;
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 1]);
    calls[1].abort();
    assert_eq!(calls.remove(0).await.unwrap().unwrap().stock, 101);
    assert_eq!(stock(&table).await, 101);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_if_all_callers_leave() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    let calls = start([1, 10].map(|count| add(&products, count)));
    travel(millis(2)).await;
    for call in calls {
        call.abort();
    }
    settle().await;
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 0]);
    assert_eq!(add(&products, 5).await.unwrap().stock, 5);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_deadline_ends_before_the_write_was_not_applied() {
    let (_, table) = far_away(0).await;
    let products = table.items.combining();
    let patient = start([add(&products, 1)]);
    let late = products.update_with("a", |product| product.stock += 10).deadline(millis(2)).await;
    let (spent, last) = expect_error!(late, Error::Exhausted { spent, last, .. } => (spent, last));
    assert_eq!((spent.attempts, spent.elapsed), (0, millis(2)));
    assert!(matches!(*last, Error::Unavailable(Unavailable::TooLate)));
    for call in patient {
        assert_eq!(call.await.unwrap().unwrap().stock, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_deadline_ends_during_the_write_is_indeterminate() {
    let (_, table) = far_away(0).await;
    let products = table.items.combining();
    let patient = start([add(&products, 1)]);
    let late = products.update_with("a", |product| product.stock += 10).deadline(millis(7)).await;
    let spent = expect_error!(late, Error::Indeterminate { spent, .. } => spent);
    assert_eq!((spent.attempts, spent.elapsed), (1, millis(7)));
    for call in patient {
        assert_eq!(call.await.unwrap().unwrap().stock, 11);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_deadline_ends_after_a_conflict_was_not_applied() {
    let (shop, table) = far_away(0).await;
    // This pace sleeps after each conflict, and reads again.
    let products = table.items.clone().pace(Pace::Economy).combining();
    conflict(&shop, &table);
    let patient = start([add(&products, 1)]).remove(0);
    // The write is refused after 10 ms.
    let late = products.update_with("a", |product| product.stock += 10).deadline(millis(12)).await;
    let spent = expect_error!(late, Error::Exhausted { spent, .. } => spent);
    assert_eq!((spent.attempts, spent.elapsed), (1, millis(12)));
    assert_eq!(patient.await.unwrap().unwrap().stock, 101);
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_deadline_while_nothing_answers() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    shop.faults.always(Fault::NeverAnswer);
    let calls =
        start([1, 2, 3].map(|seconds| products.update_with("a", |product| product.stock += 1).deadline(secs(seconds))));
    for (seconds, call) in (1..).zip(calls) {
        let error = call.await.unwrap().unwrap_err();
        let spent = expect_error!(Err::<(), _>(error), Error::Exhausted { spent, .. } => spent);
        assert!(spent.elapsed <= secs(seconds), "{spent}");
    }
    shop.faults.clear();
    assert_eq!(add(&products, 5).await.unwrap().stock, 5);
}

#[tokio::test(start_paused = true)]
async fn a_batch_has_the_time_of_its_most_patient_call() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    shop.faults.always(Fault::ServerError);
    let mut calls =
        start([1, 10].map(|seconds| products.update_with("a", |product| product.stock += 1).deadline(secs(seconds))));
    travel(secs(2)).await;
    shop.faults.clear();
    assert_eq!(calls.remove(1).await.unwrap().unwrap().stock, 1);
    expect_error!(calls.remove(0).await.unwrap(), Error::Exhausted { .. });
}

#[tokio::test(start_paused = true)]
async fn the_read_of_a_batch_has_the_time_of_its_call() {
    let (shop, table) = far_away(0).await;
    let products = table.items.clone().deadline(secs(1)).combining();
    shop.faults.always(Fault::ServerError);
    let call = start([products.update_with("a", |product| product.stock += 1).deadline(secs(10))]).remove(0);
    travel(secs(2)).await;
    shop.faults.clear();
    assert_eq!(call.await.unwrap().unwrap().stock, 1);
}

#[tokio::test(start_paused = true)]
async fn a_batch_has_the_time_of_a_call_that_joins_it() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    let update = |seconds| products.update_with("a", |product| product.stock += 1).deadline(secs(seconds));
    let hasty = start([update(1)]).remove(0);
    travel(millis(2)).await;
    let patient = start([update(10)]).remove(0);
    // The read is answered after 5 ms.
    travel(millis(4)).await;
    shop.faults.always(Fault::ServerError);
    travel(secs(2)).await;
    shop.faults.clear();
    assert_eq!(patient.await.unwrap().unwrap().stock, 2);
    expect_error!(hasty.await.unwrap(), Error::Indeterminate { .. });
}

/// The second call enters after the read of the first call, and neither call changes the item. The
/// batch therefore reads the item again.
#[tokio::test(start_paused = true)]
async fn a_call_whose_deadline_ends_during_a_second_read_was_not_applied() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    let early = start([products.update_with("a", |_| ())]).remove(0);
    travel(millis(2)).await;
    let late = products.update_with("a", |_| ()).deadline(millis(6)).await;
    expect_error!(late, Error::Exhausted { .. });
    assert_eq!(early.await.unwrap().unwrap().version(), 1);
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [2, 0]);
}

/// A handle whose worker runs in one runtime, and whose second caller waits in another runtime.
struct TwoRuntimes {
    shop: Shop,
    items: Repository<Product>,
    first: Runtime,
    second: Runtime,
}

impl TwoRuntimes {
    fn new() -> Self {
        let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
        let (first, second) = (runtime(), runtime());
        let (shop, table) = second.block_on(Shop::with_items([Product::new("a", 0)]));
        Self { shop, items: table.items, first, second }
    }

    /// Ends the runtime of the worker while `operation` has no answer. Returns the result of the
    /// second caller.
    fn end_during(self, operation: &str) -> Error {
        let Self { shop, items, first, second } = self;
        let products = items.combining();
        shop.faults.script_on(operation, 0, Fault::NeverAnswer);
        let worker = first.spawn(add(&products, 1).into_future());
        first.block_on(tokio::task::yield_now());
        let waiting = second.spawn(add(&products, 10).into_future());
        second.block_on(tokio::task::yield_now());
        while shop.faults.count(operation) == 0 {
            first.block_on(tokio::task::yield_now());
        }
        drop((first, worker));
        let error = second.block_on(waiting).unwrap().unwrap_err();
        // The next call starts another worker.
        assert_eq!(second.block_on(add(&products, 5).into_future()).unwrap().stock, 5);
        error
    }
}

#[test]
fn a_call_whose_worker_ends_before_the_write_was_not_applied() {
    let error = TwoRuntimes::new().end_during("GetItem");
    expect_error!(Err::<(), _>(error), Error::Unavailable(Unavailable::WorkerEnded));
}

#[test]
fn a_call_whose_worker_ends_during_the_write_is_indeterminate() {
    let error = TwoRuntimes::new().end_during("UpdateItem");
    expect_error!(Err::<(), _>(error), Error::Indeterminate { .. });
}

/// After a refused batch, the worker pauses on the runtime of its first caller.
#[test]
fn a_worker_that_pauses_on_a_runtime_that_stands_still_blocks_nobody() {
    let runtime = || Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (first, second) = (runtime(), runtime());
    let products = first.block_on(async {
        let (shop, table) = Shop::with_items([Product::new("a", 0)]).await;
        let products = table.items.combining();
        shop.rival.before_through(&table.others, "UpdateItem", 0, async |others| {
            others.update_with("a", |product| product.stock += 100).await.unwrap();
        });
        assert_eq!(add(&products, 1).await.unwrap().stock, 101);
        products
    });
    assert_eq!(second.block_on(async { add(&products, 10).await }).unwrap().stock, 111);
    // The worker of the first runtime leaves the queue to its new worker.
    let (one, other) = first.block_on(async {
        travel(secs(1)).await;
        tokio::join!(add(&products, 1), add(&products, 1))
    });
    assert_eq!((one.unwrap().stock, other.unwrap().stock), (113, 113));
}

//! The budget limits the load of retries during an outage.

use dynalock::{Error, Stored, error::Spent, local::Fault};
use tokio::task::JoinSet;

use crate::support::{Product, Shop, Table, expect_error, secs, travel};

/// Reads an item by many concurrent calls.
async fn get_at_once(table: &Table<Product>, calls: usize) -> Vec<Result<Option<Stored<Product>>, Error>> {
    let mut tasks = JoinSet::new();
    for _ in 0..calls {
        tasks.spawn(table.items.get("a").into_future());
    }
    tasks.join_all().await
}

#[tokio::test(start_paused = true)]
async fn many_calls_in_an_outage_send_little_more_than_one_request_each() {
    const CALLS: usize = 1_000;
    for fault in [Fault::LoseRequest, Fault::Refused, Fault::Throttle, Fault::ServerError] {
        let (shop, table) = Shop::with_table::<Product>().await;
        shop.faults.always(fault.clone());
        for result in get_at_once(&table, CALLS).await {
            expect_error!(result, Error::Exhausted { .. });
        }
        let more = shop.requests() - CALLS;
        // The budget allows 100 retries at once, and ten retries per second in the five seconds of
        // the calls.
        assert!(more <= 150, "{more} retries in {CALLS} calls with {fault:?}");
    }
}

/// A program with one call at a time keeps its retries, because the budget regains ten per second.
#[tokio::test(start_paused = true)]
async fn few_calls_in_an_outage_retry_until_their_deadlines() {
    let (shop, table) = Shop::with_table::<Product>().await;
    shop.faults.always(Fault::LoseRequest);
    for _ in 0..20 {
        let spent = expect_error!(table.items.get("a").await, Error::Exhausted { spent, .. } => spent);
        assert!(spent.attempts > 5 && !spent.out_of_retries, "{spent}");
    }
}

/// Uses up the budget by an outage.
async fn spend(shop: &Shop, table: &Table<Product>) {
    shop.faults.always(Fault::LoseRequest);
    for result in get_at_once(table, 200).await {
        result.unwrap_err();
    }
    shop.faults.clear();
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_retries_come_back_with_successes() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    spend(&shop, &table).await;
    for _ in 0..50 {
        table.items.get("a").await.unwrap();
    }
    for _ in 0..10 {
        shop.faults.script(0, Fault::LoseRequest);
        assert_eq!(table.items.get("a").await.unwrap().unwrap().stock, 5);
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_retries_come_back_with_time() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    spend(&shop, &table).await;
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    let error = table.items.touch(table.others.get("a").await.unwrap().unwrap()).await.unwrap_err();
    let text = "with an empty retry budget";
    assert!(error.to_string().contains(text), "{error}");
    expect_error!(Err::<(), _>(error), Error::Indeterminate { spent: Spent { out_of_retries: true, .. }, .. });
    travel(secs(1)).await;
    for nth in 0..10 {
        let stored = table.others.get("a").await.unwrap().unwrap();
        shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
        assert_eq!(table.items.touch(stored).await.unwrap().version(), nth + 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_spent_budget_leaves_conflicts_their_retries() {
    let (shop, table) = Shop::with_items([Product::new("a", 0)]).await;
    spend(&shop, &table).await;
    for nth in 0..5 {
        shop.rival.before_through(&table.others, "UpdateItem", nth, async |others| {
            others.update_with("a", |product| product.stock += 100).await.unwrap();
        });
    }
    let product = table.items.update_with("a", |product| product.stock += 1).await.unwrap();
    assert_eq!((product.stock, product.version()), (501, 7));
}

#[tokio::test(start_paused = true)]
async fn each_repository_has_a_budget_of_its_own() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    spend(&shop, &table).await;
    shop.faults.script(0, Fault::LoseRequest);
    expect_error!(table.items.clone().get("a").await, Error::Exhausted { spent: Spent { attempts: 1, .. }, .. });
    shop.faults.script(0, Fault::LoseRequest);
    assert_eq!(shop.named::<Product>(table.name()).get("a").await.unwrap().unwrap().stock, 5);
}

//! The budget limits the load of retries during an outage.

use dynalock::{Error, error::Spent, local::Fault};

use crate::support::{Product, Shop, Table, expect_error};

#[tokio::test(start_paused = true)]
async fn many_calls_in_an_outage_send_little_more_than_one_request_each() {
    const CALLS: usize = 1_000;
    for fault in [Fault::LoseRequest, Fault::Refused, Fault::Throttle, Fault::ServerError] {
        let (shop, table) = Shop::with_table::<Product>().await;
        shop.faults.always(fault.clone());
        for _ in 0..CALLS {
            expect_error!(table.items.get("a").await, Error::Exhausted { .. });
        }
        let more = shop.requests() - CALLS;
        assert!(more <= CALLS / 10, "{more} retries in {CALLS} calls with {fault:?}");
    }
}

/// Uses up the budget by an outage.
async fn spend(shop: &Shop, table: &Table<Product>) {
    shop.faults.always(Fault::LoseRequest);
    for _ in 0..200 {
        table.items.get("a").await.unwrap_err();
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

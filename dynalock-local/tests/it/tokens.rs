use std::time::Duration;

use aws_sdk_dynamodb::{
    Client,
    error::SdkError,
    operation::transact_write_items::{TransactWriteItemsError, TransactWriteItemsOutput},
    types::TransactWriteItem,
};
use dynalock_local::{Database, Fault, Faults};

use crate::table::{Table, code, item, n, s};

async fn send(
    client: &Client,
    actions: Vec<TransactWriteItem>,
) -> Result<TransactWriteItemsOutput, SdkError<TransactWriteItemsError>> {
    client.transact_write_items().client_request_token("token").set_transact_items(Some(actions)).send().await
}

fn increment(table: &Table) -> Vec<TransactWriteItem> {
    let update = table.tx_update("a", "ADD n :one").expression_attribute_values(":one", n(1)).build().unwrap();

    vec![TransactWriteItem::builder().update(update).build()]
}

#[tokio::test(start_paused = true)]
async fn a_token_is_known_for_ten_minutes() {
    let table = Table::create(Database::in_memory().unwrap().client(), "table").await;

    send(&table.client, increment(&table)).await.unwrap();
    tokio::time::advance(Duration::from_secs(599)).await;
    send(&table.client, increment(&table)).await.unwrap();
    let within = table.n("a").await;
    tokio::time::advance(Duration::from_secs(1)).await;
    send(&table.client, increment(&table)).await.unwrap();

    assert_eq!(within, Some(n(1)));
    assert_eq!(table.n("a").await, Some(n(2)));
}

#[tokio::test]
async fn a_token_is_known_to_all_clients_of_a_database() {
    let database = Database::in_memory().unwrap();
    let table = Table::create(database.client(), "table").await;

    send(&database.client(), increment(&table)).await.unwrap();
    send(&database.clone().client(), increment(&table)).await.unwrap();

    assert_eq!(table.n("a").await, Some(n(1)));
}

#[tokio::test]
async fn the_order_of_attributes_makes_no_other_request() {
    let table = Table::create(Database::in_memory().unwrap().client(), "table").await;
    // Each map has its own order.
    let put = || {
        let names = ["b", "c", "d", "e", "f", "g", "h", "i"];
        let mut attributes = item(names.map(|name| (name, s(name))));
        attributes.insert("k".to_owned(), s("a"));
        vec![TransactWriteItem::builder().put(table.tx_put(attributes).build().unwrap()).build()]
    };

    for _ in 0..50 {
        let result = send(&table.client, put()).await;
        assert_eq!(code(&result), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_is_sent_again_is_applied_once() {
    for fault in [Fault::LoseReply, Fault::ErrorAfterApply, Fault::DeliverTwice] {
        let database = Database::in_memory().unwrap();
        let faults = Faults::none();
        let table = Table::create(database.client_with(&faults), "table").await;
        faults.script(0, fault.clone());

        send(&table.client, increment(&table)).await.unwrap();
        send(&table.client, increment(&table)).await.unwrap();

        assert_eq!(table.n("a").await, Some(n(1)), "{fault:?}");
    }
}

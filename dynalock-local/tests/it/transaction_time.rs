//! Transactions that take time, and other requests for their items.

use std::time::Duration;

use aws_sdk_dynamodb::{
    Client, Config,
    config::retry::RetryConfig,
    operation::transact_write_items::{TransactWriteItemsError, builders::TransactWriteItemsFluentBuilder},
    types::{CancellationReason, ConditionCheck, Get, PutRequest, TransactGetItem, TransactWriteItem, WriteRequest},
};
use dynalock_local::Database;
use tokio::{task::JoinHandle, time::advance};

use crate::table::{Table, code, item, n, s};

const TIME: Duration = Duration::from_millis(50);
const MILLISECOND: Duration = Duration::from_millis(1);
const CONFLICT: Option<&str> = Some("TransactionConflictException");
const CANCELED: Option<&str> = Some("TransactionCanceledException");

/// Creates a table whose transactions take time. No attempt is repeated.
async fn busy() -> (Database, Table) {
    let database = Database::in_memory().unwrap();
    let config: Config = database.client().config().to_builder().retry_config(RetryConfig::disabled()).build();
    let table = Table::create(Client::from_conf(config), "table").await;
    database.transaction_time(TIME);

    (database, table)
}

fn increment(table: &Table, key: &str) -> TransactWriteItem {
    let update = table.tx_update(key, "ADD n :one").expression_attribute_values(":one", n(1)).build().unwrap();
    TransactWriteItem::builder().update(update).build()
}

fn transaction(table: &Table, keys: &[&str]) -> TransactWriteItemsFluentBuilder {
    let actions = keys.iter().map(|key| increment(table, key)).collect();
    table.client.transact_write_items().set_transact_items(Some(actions))
}

/// Sends a transaction, and returns after its arrival.
async fn started(transaction: TransactWriteItemsFluentBuilder) -> JoinHandle<Option<String>> {
    let task = tokio::spawn(async move { code(&transaction.send().await).map(str::to_owned) });
    advance(MILLISECOND).await;
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    task
}

fn codes(reasons: Option<Vec<CancellationReason>>) -> Vec<String> {
    reasons.unwrap().into_iter().map(|reason| reason.code.unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_transaction_takes_its_time() {
    let (_database, table) = busy().await;
    let running = started(transaction(&table, &["a", "b"])).await;

    advance(TIME / 2).await;
    let early = (table.n("a").await, running.is_finished());
    assert_eq!(running.await.unwrap(), None);

    assert_eq!(early, (None, false));
    assert_eq!((table.n("a").await, table.n("b").await), (Some(n(1)), Some(n(1))));
    table.increment("a").send().await.unwrap();
    transaction(&table, &["a", "b"]).send().await.unwrap();
    assert_eq!(table.n("a").await, Some(n(3)));
}

#[tokio::test(start_paused = true)]
async fn single_writes_meet_a_transaction() {
    let (_database, table) = busy().await;
    let running = started(transaction(&table, &["a", "b"])).await;

    let put = table.put_request(item([("k", s("a"))])).send().await;
    let update = table.increment("b").send().await;
    let delete = table.delete("a").send().await;
    let free = table.increment("c").send().await;
    let read = table.get("a").await;

    assert_eq!((code(&put), code(&update), code(&delete)), (CONFLICT, CONFLICT, CONFLICT));
    assert_eq!((code(&free), read), (None, None));
    assert_eq!(running.await.unwrap(), None);
    assert_eq!((table.n("a").await, table.n("b").await), (Some(n(1)), Some(n(1))));
    assert_eq!(code(&table.increment("b").send().await), None);
}

#[tokio::test(start_paused = true)]
async fn a_transaction_meets_a_transaction_item_by_item() {
    let (_database, table) = busy().await;
    let running = started(transaction(&table, &["a", "b"])).await;

    let met = transaction(&table, &["c", "b", "d"]).send().await;
    let apart = started(transaction(&table, &["c", "d"])).await;

    let TransactWriteItemsError::TransactionCanceledException(met) = met.unwrap_err().into_service_error() else {
        panic!("not cancelled")
    };
    assert_eq!(codes(met.cancellation_reasons), ["None", "TransactionConflict", "None"]);
    assert_eq!((running.await.unwrap(), apart.await.unwrap()), (None, None));
    assert_eq!((table.n("b").await, table.n("c").await), (Some(n(1)), Some(n(1))));
}

#[tokio::test(start_paused = true)]
async fn what_is_checked_is_busy_too() {
    let (_database, table) = busy().await;
    let check = ConditionCheck::builder().table_name(&table.name).key("k", s("checked"));
    let check = check.condition_expression("attribute_not_exists(k)").build().unwrap();
    let check = TransactWriteItem::builder().condition_check(check).build();
    let running = started(transaction(&table, &["a"]).transact_items(check)).await;

    let write = table.increment("checked").send().await;

    assert_eq!(code(&write), CONFLICT);
    assert_eq!(running.await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn items_are_busy_for_a_transaction_that_is_refused() {
    let (_database, table) = busy().await;
    let update = table.tx_update("a", "SET n = :n").condition_expression("attribute_exists(k)");
    let update = update.expression_attribute_values(":n", n(1)).build().unwrap();
    let refused = table.client.transact_write_items();
    let refused = refused.transact_items(TransactWriteItem::builder().update(update).build());
    let running = started(refused).await;

    let meanwhile = table.increment("a").send().await;

    assert_eq!(code(&meanwhile), CONFLICT);
    assert_eq!(running.await.unwrap().as_deref(), CANCELED);
    assert_eq!(code(&table.increment("a").send().await), None);
}

#[tokio::test(start_paused = true)]
async fn a_transactional_read_meets_a_transaction() {
    let (_database, table) = busy().await;
    let get = |key| {
        let get = Get::builder().table_name(&table.name).key("k", s(key)).build().unwrap();
        table.client.transact_get_items().transact_items(TransactGetItem::builder().get(get).build()).send()
    };
    let running = started(transaction(&table, &["a"])).await;

    assert_eq!(code(&get("a").await), CANCELED);
    assert_eq!(code(&get("b").await), None);
    assert_eq!(running.await.unwrap(), None);
    assert_eq!(code(&get("a").await), None);
}

#[tokio::test(start_paused = true)]
async fn a_batch_leaves_the_writes_of_busy_items() {
    let (_database, table) = busy().await;
    let put = |key| {
        let put = PutRequest::builder().item("k", s(key)).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let send = |writes| table.client.batch_write_item().request_items(&table.name, writes).send();
    let running = started(transaction(&table, &["a"])).await;

    let some = send(vec![put("a"), put("b")]).await.unwrap().unprocessed_items.unwrap();
    let all = send(vec![put("a")]).await.unwrap().unprocessed_items.unwrap();

    assert_eq!((&some["table"], &all["table"]), (&vec![put("a")], &vec![put("a")]));
    assert_eq!(table.get("b").await, Some(item([("k", s("b"))])));
    assert_eq!(running.await.unwrap(), None);
    assert_eq!(table.n("a").await, Some(n(1)));
}

#[tokio::test(start_paused = true)]
async fn a_token_is_in_progress_and_then_known() {
    let (_database, table) = busy().await;
    let with_token = || transaction(&table, &["a"]).client_request_token("token");
    let running = started(with_token()).await;

    let meanwhile = with_token().send().await;
    assert_eq!(running.await.unwrap(), None);
    let other = started(transaction(&table, &["a"])).await;
    let afterwards = with_token().send().await;

    assert_eq!(code(&meanwhile), Some("TransactionInProgressException"));
    assert_eq!(code(&afterwards), None);
    assert_eq!(other.await.unwrap(), None);
    assert_eq!(table.n("a").await, Some(n(2)));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_stops_waiting_does_not_end_its_transaction() {
    let (_database, table) = busy().await;
    let running = started(transaction(&table, &["a"])).await;

    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    assert_eq!(code(&table.increment("a").send().await), CONFLICT);
    advance(TIME).await;
    while table.n("a").await.is_none() {
        tokio::task::yield_now().await;
    }

    assert_eq!(code(&table.increment("a").send().await), None);
    assert_eq!(table.n("a").await, Some(n(2)));
}

#[tokio::test(start_paused = true)]
async fn one_number_written_in_two_ways_is_one_item() {
    let database = Database::in_memory().unwrap();
    let keys = [("k", aws_sdk_dynamodb::types::ScalarAttributeType::N)];
    let table = Table::create_keyed(database.client(), "numbers", &keys).await;
    database.transaction_time(TIME);
    let put = |number| table.tx_put(item([("k", n(number))])).build().unwrap();
    let transaction = table.client.transact_write_items();
    let running = started(transaction.transact_items(TransactWriteItem::builder().put(put("1")).build())).await;

    let other = table.put_request(item([("k", n("1.0"))])).send().await;

    assert_eq!(code(&other), CONFLICT);
    assert_eq!(running.await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn zero_ends_it() {
    let (database, table) = busy().await;
    let running = started(transaction(&table, &["a"])).await;

    database.transaction_time(Duration::ZERO);
    let meanwhile = table.increment("a").send().await;
    assert_eq!(running.await.unwrap(), None);
    let next = started(transaction(&table, &["a"])).await;

    assert_eq!(code(&meanwhile), CONFLICT);
    assert!(next.is_finished());
    assert_eq!(next.await.unwrap(), None);
}

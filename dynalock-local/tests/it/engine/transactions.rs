use aws_sdk_dynamodb::{
    Client,
    error::SdkError,
    operation::transact_write_items::{TransactWriteItemsError, TransactWriteItemsOutput},
    types::{
        CancellationReason, ConditionCheck, Delete, Get, ReturnValuesOnConditionCheckFailure::AllOld, TransactGetItem,
        TransactWriteItem,
    },
};

use super::table;
use crate::table::{Table, code, item, n, s};

const INVALID: Option<&str> = Some("ValidationException");

type Result = std::result::Result<TransactWriteItemsOutput, SdkError<TransactWriteItemsError>>;

async fn commit<const N: usize>(client: &Client, actions: [TransactWriteItem; N]) -> Result {
    client.transact_write_items().set_transact_items(Some(actions.to_vec())).send().await
}

fn reasons(result: Result) -> Vec<CancellationReason> {
    match result.unwrap_err().into_service_error() {
        TransactWriteItemsError::TransactionCanceledException(cancelled) => {
            cancelled.cancellation_reasons.unwrap_or_default()
        }
        other => panic!("not cancelled: {other:?}"),
    }
}

fn codes(reasons: &[CancellationReason]) -> Vec<&str> {
    reasons.iter().map(|reason| reason.code().unwrap()).collect()
}

fn increment(table: &Table, key: &str) -> TransactWriteItem {
    let update = table.tx_update(key, "ADD n :one").expression_attribute_values(":one", n(1));
    TransactWriteItem::builder().update(update.build().unwrap()).build()
}

fn increment_from(table: &Table, key: &str, from: i64) -> TransactWriteItem {
    let update = table
        .tx_update(key, "ADD n :one")
        .condition_expression("n = :from")
        .expression_attribute_values(":one", n(1))
        .expression_attribute_values(":from", n(from))
        .return_values_on_condition_check_failure(AllOld);
    TransactWriteItem::builder().update(update.build().unwrap()).build()
}

#[tokio::test]
async fn all_kinds_of_actions_are_applied_together() {
    let table = table("all_kinds_of_actions_are_applied_together").await;
    for key in ["checked", "updated", "deleted"] {
        table.put(item([("k", s(key)), ("n", n(1))])).await;
    }
    let check = ConditionCheck::builder().table_name(&table.name).key("k", s("checked"));
    let check = check.condition_expression("n = :n").expression_attribute_values(":n", n(1)).build().unwrap();
    let delete = Delete::builder().table_name(&table.name).key("k", s("deleted")).build().unwrap();
    let put = table.tx_put(item([("k", s("put"))])).build().unwrap();

    let actions = [
        TransactWriteItem::builder().condition_check(check).build(),
        increment(&table, "updated"),
        TransactWriteItem::builder().delete(delete).build(),
        TransactWriteItem::builder().put(put).build(),
    ];
    commit(&table.client, actions).await.unwrap();

    assert_eq!(table.n("checked").await, Some(n(1)));
    assert_eq!(table.n("updated").await, Some(n(2)));
    assert_eq!(table.get("deleted").await, None);
    assert_eq!(table.get("put").await, Some(item([("k", s("put"))])));
}

#[tokio::test]
async fn reasons_stand_in_the_order_of_the_actions_with_the_items() {
    let table = table("reasons_stand_in_the_order_of_the_actions_with_the_items").await;
    let stored = item([("k", s("a")), ("n", n(5))]);
    table.put(stored.clone()).await;

    let actions = [increment(&table, "b"), increment_from(&table, "a", 4), increment_from(&table, "absent", 1)];
    let reasons = reasons(commit(&table.client, actions).await);

    assert_eq!(codes(&reasons), ["None", "ConditionalCheckFailed", "ConditionalCheckFailed"]);
    assert_eq!(reasons[0].item, None);
    assert_eq!(reasons[1].item, Some(stored.clone()));
    assert_eq!(reasons[2].item.clone().unwrap_or_default(), item([]));
    assert_eq!(table.get("a").await, Some(stored));
    assert_eq!(table.get("b").await, None);
}

#[tokio::test]
async fn a_reason_holds_no_item_unless_asked() {
    let table = table("a_reason_holds_no_item_unless_asked").await;
    table.put(item([("k", s("a"))])).await;
    let put = table.tx_put(item([("k", s("a"))])).condition_expression("attribute_not_exists(k)").build().unwrap();

    let reasons = reasons(commit(&table.client, [TransactWriteItem::builder().put(put).build()]).await);

    assert_eq!(codes(&reasons), ["ConditionalCheckFailed"]);
    assert_eq!(reasons[0].item.clone().unwrap_or_default(), item([]));
}

#[tokio::test]
async fn an_action_that_cannot_be_applied_is_a_reason() {
    let table = table("an_action_that_cannot_be_applied_is_a_reason").await;
    table.put(item([("k", s("a")), ("n", s("text"))])).await;

    let reasons = reasons(commit(&table.client, [increment(&table, "b"), increment(&table, "a")]).await);

    assert_eq!(codes(&reasons), ["None", "ValidationError"]);
}

#[tokio::test]
async fn two_actions_on_one_item_are_refused() {
    let table = table("two_actions_on_one_item_are_refused").await;
    let check = ConditionCheck::builder().table_name(&table.name).key("k", s("a"));
    let check = check.condition_expression("attribute_not_exists(k)").build().unwrap();

    let updates = commit(&table.client, [increment(&table, "a"), increment(&table, "a")]).await;
    let checked =
        commit(&table.client, [TransactWriteItem::builder().condition_check(check).build(), increment(&table, "a")])
            .await;

    assert_eq!(code(&updates), INVALID);
    assert_eq!(code(&checked), INVALID);
    assert_eq!(table.get("a").await, None);
}

#[tokio::test]
async fn a_malformed_transaction_is_refused_as_a_whole() {
    let table = table("a_malformed_transaction_is_refused_as_a_whole").await;
    let broken = table.tx_update("b", "SET n = = :v").expression_attribute_values(":v", n(1)).build().unwrap();
    let elsewhere = Table { client: table.client.clone(), name: "no_such_table".to_owned() };

    let broken =
        commit(&table.client, [increment(&table, "a"), TransactWriteItem::builder().update(broken).build()]).await;
    let missing = commit(&table.client, [increment(&table, "a"), increment(&elsewhere, "a")]).await;
    let empty = commit(&table.client, []).await;

    assert_eq!(code(&broken), INVALID);
    assert_eq!(code(&missing), Some("ResourceNotFoundException"));
    assert_eq!(code(&empty), INVALID);
    assert_eq!(table.get("a").await, None);
}

#[tokio::test]
async fn a_token_is_applied_once_and_belongs_to_its_request() {
    let table = table("a_token_is_applied_once_and_belongs_to_its_request").await;
    let send = |key| {
        let transaction = table.client.transact_write_items().client_request_token("token");
        transaction.transact_items(increment(&table, key)).send()
    };

    send("a").await.unwrap();
    send("a").await.unwrap();
    let other = send("b").await;

    assert_eq!(table.n("a").await, Some(n(1)));
    assert_eq!(code(&other), Some("IdempotentParameterMismatchException"));
    assert_eq!(table.get("b").await, None);
}

#[tokio::test]
async fn a_token_of_a_cancelled_transaction_is_free() {
    let table = table("a_token_of_a_cancelled_transaction_is_free").await;
    let send = |key| {
        let transaction = table.client.transact_write_items().client_request_token("token-of-a-cancelled-one");
        transaction.transact_items(increment_from(&table, key, 1)).send()
    };

    let early = send("a").await;
    let other = send("b").await;
    table.put(item([("k", s("a")), ("n", n(1))])).await;
    let late = send("a").await;

    assert_eq!([code(&early), code(&other)], [Some("TransactionCanceledException"); 2]);
    assert_eq!(code(&late), None);
    assert_eq!(table.n("a").await, Some(n(2)));
}

#[tokio::test]
async fn a_token_has_at_most_36_characters() {
    let table = table("a_token_has_at_most_36_characters").await;
    let transaction = table.client.transact_write_items().client_request_token("x".repeat(37));

    let result = transaction.transact_items(increment(&table, "a")).send().await;

    assert_eq!(code(&result), INVALID);
    assert_eq!(table.get("a").await, None);
}

#[tokio::test]
async fn the_length_of_a_token_counts_characters_and_not_bytes() {
    let table = table("the_length_of_a_token_counts_characters_and_not_bytes").await;
    for _ in 0..2 {
        let transaction = table.client.transact_write_items().client_request_token("é".repeat(36));
        transaction.transact_items(increment(&table, "a")).send().await.unwrap();
    }
    assert_eq!(table.get("a").await.unwrap()["n"], n(1));
}

#[tokio::test]
async fn a_transactional_read_answers_in_order() {
    let table = table("a_transactional_read_answers_in_order").await;
    table.put(item([("k", s("a"))])).await;
    let get = |key| {
        let get = Get::builder().table_name(&table.name).key("k", s(key)).build().unwrap();
        TransactGetItem::builder().get(get).build()
    };

    let read = table.client.transact_get_items().transact_items(get("absent")).transact_items(get("a"));
    let items: Vec<_> = read.send().await.unwrap().responses.unwrap_or_default().into_iter().map(|r| r.item).collect();

    assert_eq!(items, [None, Some(item([("k", s("a"))]))]);
}

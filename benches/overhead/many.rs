//! Reads of 100 items in one request.

use std::collections::HashMap;

use aws_sdk_dynamodb::{
    Client,
    types::{AttributeValue, KeysAndAttributes},
};

use crate::{
    canned::{Answer, Canned},
    case::{Ring, Side},
    order::{Order, ReadOrder, id, json, text},
};

const ITEMS: usize = 100;

/// A page of a query. By hand, `serde_dynamo` reads the items.
pub(crate) async fn query(side: Side, ring: Ring, runs: u64) {
    let answer = Answer::success(format!(r#"{{"Count":{ITEMS},"ScannedCount":{ITEMS},"Items":[{}]}}"#, items(ring)));
    let (client, id) = (Canned::default().answering("Query", [answer]).client(), id(0));
    let orders = Order::repository(&client);
    for _ in 0..runs {
        let read = match side {
            Side::Hand => query_by_hand(&client, &id).await.len(),
            Side::Library => orders.query(&id).page(None).await.expect("a page").items.len(),
        };
        assert_eq!(read, ITEMS);
    }
}

async fn query_by_hand(client: &Client, id: &str) -> Vec<ReadOrder> {
    let request = client
        .query()
        .table_name("orders")
        .key_condition_expression("#k = :k")
        .expression_attribute_names("#k", "id")
        .expression_attribute_values(":k", text(id))
        .consistent_read(true);
    let answer = request.send().await.expect("an answer");
    answer.items.unwrap_or_default().into_iter().map(ReadOrder::by_serde).collect()
}

/// A read of 100 items by their keys. DynamoDB returns the items in any order, and both sides
/// return them in the order of the keys.
pub(crate) async fn get_many(side: Side, ring: Ring, runs: u64) {
    let answer = Answer::success(format!(r#"{{"Responses":{{"orders":[{}]}},"UnprocessedKeys":{{}}}}"#, items(ring)));
    let client = Canned::default().answering("BatchGetItem", [answer]).client();
    let orders = Order::repository(&client);
    let ids: Vec<String> = (0..ITEMS).map(id).collect();
    for _ in 0..runs {
        let read = match side {
            Side::Hand => get_many_by_hand(&client, &ids).await.into_iter().flatten().count(),
            Side::Library => orders.get_many(&ids).await.expect("an answer").into_iter().flatten().count(),
        };
        assert_eq!(read, ITEMS);
    }
}

async fn get_many_by_hand(client: &Client, ids: &[String]) -> Vec<Option<ReadOrder>> {
    let keys = ids.iter().map(|id| HashMap::from([("id".to_owned(), text(id))])).collect();
    let keys = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build().expect("keys");
    let answer = client.batch_get_item().request_items("orders", keys).send().await.expect("an answer");
    let items = answer.responses.unwrap_or_default().remove("orders").unwrap_or_default();
    let mut orders: HashMap<String, HashMap<String, AttributeValue>> = items
        .into_iter()
        .map(|item| match &item["id"] {
            AttributeValue::S(id) => (id.clone(), item),
            _ => panic!("the id is no string"),
        })
        .collect();
    ids.iter().map(|id| orders.remove(id).map(ReadOrder::by_serde)).collect()
}

/// The orders, the last one first.
fn items(ring: Ring) -> String {
    (0..ITEMS).rev().map(|number| json(number, ring)).collect::<Vec<_>>().join(",")
}

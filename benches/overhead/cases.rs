//! The same work twice: hand-written on the raw SDK, and with the library.

use std::collections::HashMap;

use aws_sdk_dynamodb::{
    Client,
    primitives::Blob,
    types::{AttributeValue, ReturnValuesOnConditionCheckFailure::AllOld},
};
use dynalock::{Repository, Versioned};
use serde::{Deserialize, Serialize};

use crate::{canned::Canned, transaction::Orders};

/// Name, by hand, with the library.
pub(crate) const PAIRS: [(&str, &str, &str); 4] = [
    ("`update_with`, 3 of 9 attributes", "update_by_hand", "update_with"),
    ("`get`", "get_by_hand", "get"),
    ("`create`", "create_by_hand", "create"),
    ("transaction of 25 updates", "transaction_by_hand", "transaction"),
];

#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
pub(crate) struct Order {
    #[dynalock(partition_key)]
    pub(crate) id: String,
    pub(crate) customer: String,
    pub(crate) status: String,
    pub(crate) total_cents: u64,
    pub(crate) currency: String,
    pub(crate) lines: u32,
    pub(crate) note: Option<String>,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
}

pub(crate) const ID: &str = "01JD3X5T9QK7W2M4N6P8R0S1T3";

/// What DynamoDB answers to a read of the order.
pub(crate) const ANSWER: &str = r#"{"Item":{
    "id":{"S":"01JD3X5T9QK7W2M4N6P8R0S1T3"},"customer":{"S":"customer-17850-united-kingdom"},"status":{"S":"placed"},
    "total_cents":{"N":"13912"},"currency":{"S":"GBP"},"lines":{"N":"7"},
    "note":{"S":"Please leave the parcel with the neighbours at number 12 if nobody is at home."},
    "created_at":{"S":"2026-03-01T08:26:00.000Z"},"updated_at":{"S":"2026-03-01T08:26:00.000Z"},
    "_version":{"N":"3"},"_writes":{"B":"AQIDBAUGBwgRERERERERESIiIiIiIiIiMzMzMzMzMzM="}}}"#;

/// Runs a case so many times, on a client that is made once.
pub(crate) fn run(case: &str, runs: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let client = Canned::answering("GetItem", ANSWER.to_owned()).client();
    let orders = Order::repository(&client);
    runtime.block_on(async {
        let read = if case.starts_with("transaction") { Some(Orders::read().await) } else { None };
        for _ in 0..runs {
            match (case, &read) {
                ("update_by_hand", _) => update_by_hand(&client).await,
                ("update_with", _) => update_with(&orders).await,
                ("get_by_hand", _) => drop(get_by_hand(&client).await),
                ("get", _) => drop(orders.get(ID).await.expect("an answer").expect("an order")),
                ("create_by_hand", _) => create_by_hand(&client).await,
                ("create", _) => drop(orders.create(order()).await.expect("an answer")),
                ("transaction_by_hand", Some(read)) => read.commit_by_hand(&client).await,
                ("transaction", Some(read)) => read.commit(&client, &orders).await,
                (other, _) => panic!("no case is called {other}"),
            }
        }
    });
}

fn order() -> Order {
    Order {
        id: ID.to_owned(),
        customer: "customer-17850-united-kingdom".to_owned(),
        status: "placed".to_owned(),
        total_cents: 13_912,
        currency: "GBP".to_owned(),
        lines: 7,
        note: Some("Please leave the parcel with the neighbours at number 12 if nobody is at home.".to_owned()),
        created_at: "2026-03-01T08:26:00.000Z".to_owned(),
        updated_at: "2026-03-01T08:26:00.000Z".to_owned(),
    }
}

pub(crate) fn ship(order: &mut Order) {
    "shipped".clone_into(&mut order.status);
    order.total_cents += 350;
    "2026-03-02T10:00:00.000Z".clone_into(&mut order.updated_at);
}

async fn update_with(orders: &Repository<Order>) {
    orders.update_with(ID, ship).await.expect("an answer");
}

/// An order and its bookkeeping.
pub(crate) async fn get_by_hand(client: &Client) -> (Order, u64, Vec<u8>) {
    let answer = client.get_item().table_name("orders").key("id", text(ID)).consistent_read(true).send().await;
    let mut item = answer.expect("an answer").item.expect("an order");
    let version = number(&mut item, "_version");
    let Some(AttributeValue::B(writes)) = item.remove("_writes") else { panic!("no write ids") };
    let order = Order {
        id: string(&mut item, "id"),
        customer: string(&mut item, "customer"),
        status: string(&mut item, "status"),
        total_cents: number(&mut item, "total_cents"),
        currency: string(&mut item, "currency"),
        lines: u32::try_from(number(&mut item, "lines")).expect("a small number"),
        note: item.contains_key("note").then(|| string(&mut item, "note")),
        created_at: string(&mut item, "created_at"),
        updated_at: string(&mut item, "updated_at"),
    };
    (order, version, writes.into_inner())
}

async fn update_by_hand(client: &Client) {
    let (mut order, version, mut writes) = get_by_hand(client).await;
    ship(&mut order);
    let incarnation = writes[..8].to_vec();
    writes.splice(8..8, *b"write-id");
    writes.truncate(8 * 17);
    client
        .update_item()
        .table_name("orders")
        .key("id", text(&order.id))
        .update_expression("SET #s = :s, #t = :t, #u = :u, #v = :n, #w = :w")
        .condition_expression("#v = :v AND begins_with(#w, :i)")
        .expression_attribute_names("#s", "status")
        .expression_attribute_names("#t", "total_cents")
        .expression_attribute_names("#u", "updated_at")
        .expression_attribute_names("#v", "_version")
        .expression_attribute_names("#w", "_writes")
        .expression_attribute_values(":s", text(&order.status))
        .expression_attribute_values(":t", AttributeValue::N(order.total_cents.to_string()))
        .expression_attribute_values(":u", text(&order.updated_at))
        .expression_attribute_values(":v", AttributeValue::N(version.to_string()))
        .expression_attribute_values(":n", AttributeValue::N((version + 1).to_string()))
        .expression_attribute_values(":w", AttributeValue::B(Blob::new(writes)))
        .expression_attribute_values(":i", AttributeValue::B(Blob::new(incarnation)))
        .return_values_on_condition_check_failure(AllOld)
        .send()
        .await
        .expect("an answer");
}

async fn create_by_hand(client: &Client) {
    let order = order();
    let mut request = client
        .put_item()
        .table_name("orders")
        .item("id", text(&order.id))
        .item("customer", text(&order.customer))
        .item("status", text(&order.status))
        .item("total_cents", AttributeValue::N(order.total_cents.to_string()))
        .item("currency", text(&order.currency))
        .item("lines", AttributeValue::N(order.lines.to_string()))
        .item("created_at", text(&order.created_at))
        .item("updated_at", text(&order.updated_at))
        .item("_version", AttributeValue::N("1".to_owned()))
        .item("_writes", AttributeValue::B(Blob::new(*b"the-lifewrite-id")))
        .condition_expression("attribute_not_exists(#k)")
        .expression_attribute_names("#k", "id")
        .return_values_on_condition_check_failure(AllOld);
    if let Some(note) = &order.note {
        request = request.item("note", text(note));
    }
    request.send().await.expect("an answer");
}

pub(crate) fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

fn string(item: &mut HashMap<String, AttributeValue>, name: &str) -> String {
    match item.remove(name) {
        Some(AttributeValue::S(text)) => text,
        _ => panic!("{name} is not a string"),
    }
}

fn number(item: &mut HashMap<String, AttributeValue>, name: &str) -> u64 {
    match item.remove(name) {
        Some(AttributeValue::N(digits)) => digits.parse().expect("a number"),
        _ => panic!("{name} is not a number"),
    }
}

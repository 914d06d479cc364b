//! Calls on one item.

use aws_sdk_dynamodb::{
    Client,
    error::SdkError,
    operation::update_item::UpdateItemError,
    primitives::Blob,
    types::{AttributeValue, ReturnValuesOnConditionCheckFailure::AllOld},
};
use dynalock::Repository;

use crate::{
    canned::{Answer, Canned},
    case::{Ring, Side},
    order::{self, Order, ReadOrder, SET, UNCHANGED, answer, id, json, shipped},
};

pub(crate) async fn get(side: Side, ring: Ring, runs: u64) {
    let (client, id) = (order::client(ring), id(0));
    let orders = Order::repository(&client);
    for _ in 0..runs {
        match side {
            Side::Hand => drop(ReadOrder::get(&client, &id).await),
            Side::Library => drop(orders.get(&id).await.expect("an answer").expect("an order")),
        }
    }
}

pub(crate) async fn create(side: Side, runs: u64) {
    let client = Canned::default().client();
    let orders = Order::repository(&client);
    for _ in 0..runs {
        match side {
            Side::Hand => order::create(&client, Order::new()).await,
            Side::Library => drop(orders.create(Order::new()).await.expect("an answer")),
        }
    }
}

pub(crate) async fn update_with(side: Side, ring: Ring, runs: u64) {
    let client = order::client(ring);
    read_modify_write(&client, &Order::repository(&client), side, runs).await;
}

/// The hand-written code does not ask for the consumed capacity.
pub(crate) async fn metered_update_with(side: Side, ring: Ring, runs: u64) {
    let client = order::client(ring);
    read_modify_write(&client, &Order::repository(&client).metered(), side, runs).await;
}

/// Each write finds an order that another caller has written before.
pub(crate) async fn conflict(side: Side, ring: Ring, runs: u64) {
    let item = json(0, ring).replace(r#""_version":{"N":"3"}"#, r#""_version":{"N":"4"}"#);
    let refusal = Answer::refusal(format!(
        r#"{{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"The conditional request failed","Item":{item}}}"#
    ));
    let client = Canned::default()
        .answering("GetItem", [answer(0, ring)])
        .answering("UpdateItem", [refusal, Answer::EMPTY])
        .client();
    read_modify_write(&client, &Order::repository(&client), side, runs).await;
}

async fn read_modify_write(client: &Client, orders: &Repository<Order>, side: Side, runs: u64) {
    let id = id(0);
    for _ in 0..runs {
        match side {
            Side::Hand => update_by_hand(client, &id).await,
            Side::Library => drop(orders.update_with(&id, Order::ship).await.expect("an answer")),
        }
    }
}

async fn update_by_hand(client: &Client, id: &str) {
    loop {
        let mut read = ReadOrder::get(client, id).await;
        read.order.ship();
        match write_by_hand(client, &read).await {
            Ok(()) => return,
            Err(SdkError::ServiceError(refused)) if refused.err().is_conditional_check_failed_exception() => {}
            Err(error) => panic!("{error}"),
        }
    }
}

async fn write_by_hand(client: &Client, read: &ReadOrder) -> Result<(), SdkError<UpdateItemError>> {
    let update = shipped!(client.update_item(), read);
    update.update_expression(SET).condition_expression(UNCHANGED).send().await.map(drop)
}

/// An update of an order that was read before. Both sides start from a copy of the order.
pub(crate) async fn update(side: Side, ring: Ring, runs: u64) {
    let (client, id) = (order::client(ring), id(0));
    match side {
        Side::Hand => {
            let read = ReadOrder::get(&client, &id).await;
            for _ in 0..runs {
                let mut read = read.clone();
                read.order.ship();
                write_by_hand(&client, &read).await.expect("an answer");
            }
        }
        Side::Library => {
            let orders: Repository<Order> = Order::repository(&client);
            let read = orders.get(&id).await.expect("an answer").expect("an order");
            for _ in 0..runs {
                let mut read = read.clone();
                read.ship();
                orders.update(read).await.expect("an answer");
            }
        }
    }
}

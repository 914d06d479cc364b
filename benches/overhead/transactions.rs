//! Calls on several items.

use aws_sdk_dynamodb::{
    Client,
    primitives::Blob,
    types::{AttributeValue, ReturnValuesOnConditionCheckFailure::AllOld, TransactWriteItem, Update},
};
use dynalock::{Error, Repository, Transaction};

use crate::{
    canned::Canned,
    case::{Ring, Side},
    order::{Order, ReadOrder, SET, UNCHANGED, answer, id, shipped},
};

/// A client for which reads show the first orders in turn.
fn client(orders: usize, ring: Ring) -> Client {
    let answers: Vec<_> = (0..orders).map(|number| answer(number, ring)).collect();
    Canned::default().answering("GetItem", answers).client()
}

/// A transaction of updates of orders that were read before. Both sides start from copies of the
/// orders.
pub(crate) async fn updates(number: usize, side: Side, ring: Ring, runs: u64) {
    let client = client(number, ring);
    match side {
        Side::Hand => {
            let read = read_by_hand(&client, number).await;
            for _ in 0..runs {
                commit_by_hand(&client, read.clone()).await;
            }
        }
        Side::Library => {
            let orders = Order::repository(&client);
            let mut read = Vec::new();
            for number in 0..number {
                read.push(orders.get(id(number)).await.expect("an answer").expect("an order"));
            }
            for _ in 0..runs {
                let mut tx = Transaction::new(&client);
                for mut order in read.iter().cloned() {
                    order.ship();
                    tx.update(&orders, order);
                }
                tx.commit().await.expect("an answer");
            }
        }
    }
}

/// A unit of work that reads and writes two orders.
pub(crate) async fn unit_of_work(side: Side, ring: Ring, runs: u64) {
    let client = client(2, ring);
    let orders = Order::repository(&client);
    for _ in 0..runs {
        match side {
            Side::Hand => commit_by_hand(&client, read_by_hand(&client, 2).await).await,
            Side::Library => ship_two(&client, &orders).await.expect("an answer"),
        }
    }
}

async fn ship_two(client: &Client, orders: &Repository<Order>) -> Result<(), Error> {
    dynalock::transact(client, |tx| async move {
        let mut first = tx.get(orders, id(0)).await?.expect("an order");
        let mut second = tx.get(orders, id(1)).await?.expect("an order");
        first.ship();
        second.ship();
        tx.update(orders, first);
        tx.update(orders, second);
        Ok(())
    })
    .await
}

async fn read_by_hand(client: &Client, number: usize) -> Vec<ReadOrder> {
    let mut read = Vec::with_capacity(number);
    for number in 0..number {
        read.push(ReadOrder::get(client, &id(number)).await);
    }
    read
}

async fn commit_by_hand(client: &Client, read: Vec<ReadOrder>) {
    let updates = read.into_iter().map(|mut read| {
        read.order.ship();
        let update = shipped!(Update::builder(), &read).update_expression(SET).condition_expression(UNCHANGED);
        TransactWriteItem::builder().update(update.build().expect("an update")).build()
    });
    client
        .transact_write_items()
        .set_transact_items(Some(updates.collect()))
        .client_request_token("0123456789abcdef0123456789abcdef")
        .send()
        .await
        .expect("an answer");
}

//! Leases of items and of names.

use std::time::Duration;

use aws_sdk_dynamodb::{
    Client,
    primitives::Blob,
    types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure::AllOld},
};
use dynalock::Locks;
use tokio::task::JoinHandle;

use crate::{
    canned::{Answer, Canned},
    case::{Ring, Side},
    order::{LeasedOrder, ReadOrder, SET, UNCHANGED, id, json, shipped, text},
};

const TTL: Duration = Duration::from_secs(20);
const OWNER: &str = "worker-7/0123456789abcdef";
/// Epoch milliseconds of the hand-written side, which reads no clock.
const NOW: u64 = 1_772_352_000_000;

/// A lease of an item, one update under the lease, and a last update that ends the lease.
pub(crate) async fn item(side: Side, ring: Ring, runs: u64) {
    let granted = Answer::success(format!(r#"{{"Attributes":{}}}"#, json(0, ring)));
    let client = Canned::default().answering("UpdateItem", [granted, Answer::EMPTY, Answer::EMPTY]).client();
    let (orders, id) = (LeasedOrder::repository(&client), id(0));
    for _ in 0..runs {
        match side {
            Side::Hand => lease_by_hand(&client, &id).await,
            Side::Library => {
                let mut order = orders.lock(&id).owner("worker-7").await.expect("a lease");
                order.update(LeasedOrder::ship).await.expect("an answer");
                order.commit(LeasedOrder::ship).await.expect("an answer");
            }
        }
    }
}

/// A lock by name, and its release.
pub(crate) async fn name(side: Side, runs: u64) {
    let client = Canned::default().client();
    let locks = Locks::new(&client, "locks");
    for _ in 0..runs {
        match side {
            Side::Hand => lock_by_hand(&client).await,
            Side::Library => {
                let held = locks.acquire("nightly-report").owner("worker-7").await.expect("a lock");
                held.release().await.expect("an answer");
            }
        }
    }
}

/// Describes a grant of a free lease, for the builder of a request.
macro_rules! granted {
    ($builder:expr) => {
        $builder
            .update_expression("SET #o = :o, #b = :b, #e = :e, #f = if_not_exists(#f, :now) + :one")
            .expression_attribute_names("#o", "_owner")
            .expression_attribute_names("#b", "_beat")
            .expression_attribute_names("#e", "_until")
            .expression_attribute_names("#f", "_fence")
            .expression_attribute_values(":o", text(OWNER))
            .expression_attribute_values(":b", number(0))
            .expression_attribute_values(":e", number(NOW + 20_000))
            .expression_attribute_values(":now", number(NOW))
            .expression_attribute_values(":one", number(1))
            .return_values(ReturnValue::AllOld)
            .return_values_on_condition_check_failure(AllOld)
    };
}

async fn lease_by_hand(client: &Client, id: &str) {
    let grant = granted!(client.update_item().table_name("orders").key("id", text(id)))
        .condition_expression("attribute_exists(#k) AND (attribute_not_exists(#o) OR #e < :now)")
        .expression_attribute_names("#k", "id");
    let answer = grant.send().await.expect("an answer");
    let heartbeat = heartbeat(client.clone(), id.to_owned());
    let mut read = ReadOrder::of(answer.attributes.expect("an order"));
    read.order.ship();
    write_by_hand(client, &read, &format!("{SET}, #b = :b, #e = :e")).await;
    (read.version, read.writes) = (read.version + 1, read.next_writes().into_inner());
    read.order.ship();
    write_by_hand(client, &read, &format!("{SET}, #b = :b REMOVE #o, #e")).await;
    heartbeat.abort();
}

/// A write under the lease.
async fn write_by_hand(client: &Client, read: &ReadOrder, update: &str) {
    let mut request = shipped!(client.update_item(), read)
        .update_expression(update)
        .condition_expression(format!("{UNCHANGED} AND #o = :o AND #f = :f"))
        .expression_attribute_names("#o", "_owner")
        .expression_attribute_names("#b", "_beat")
        .expression_attribute_names("#e", "_until")
        .expression_attribute_names("#f", "_fence")
        .expression_attribute_values(":o", text(OWNER))
        .expression_attribute_values(":b", number(1))
        .expression_attribute_values(":f", number(NOW + 1));
    if update.contains(":e") {
        request = request.expression_attribute_values(":e", number(NOW + 20_000));
    }
    request.send().await.expect("an answer");
}

async fn lock_by_hand(client: &Client) {
    let grant = granted!(client.update_item().table_name("locks").key("name", text("nightly-report")))
        .condition_expression("attribute_not_exists(#o) OR #e < :now");
    grant.send().await.expect("an answer");
    let heartbeat = heartbeat(client.clone(), "nightly-report".to_owned());
    heartbeat.abort();
    let release = client.update_item().table_name("locks").key("name", text("nightly-report"));
    release
        .update_expression("REMOVE #o, #e")
        .condition_expression("#o = :o")
        .expression_attribute_names("#o", "_owner")
        .expression_attribute_names("#e", "_until")
        .expression_attribute_values(":o", text(OWNER))
        .return_values_on_condition_check_failure(AllOld)
        .send()
        .await
        .expect("an answer");
}

/// A task that renews the lease every third of its ttl. Each lease here ends before its first
/// renewal.
#[expect(clippy::disallowed_methods, reason = "a hand-written program has no clock of ours")]
fn heartbeat(client: Client, key: String) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut beat = 0;
        loop {
            tokio::time::sleep(TTL / 3).await;
            beat += 1;
            let renewal = client.update_item().table_name("locks").key("name", text(&key));
            let renewal = renewal
                .update_expression("SET #b = :b, #e = :e")
                .condition_expression("#o = :o")
                .expression_attribute_names("#o", "_owner")
                .expression_attribute_names("#b", "_beat")
                .expression_attribute_names("#e", "_until")
                .expression_attribute_values(":o", text(OWNER))
                .expression_attribute_values(":b", number(beat))
                .expression_attribute_values(":e", number(NOW + 20_000));
            if renewal.send().await.is_err() {
                return;
            }
        }
    })
}

fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

//! The item: an order of nine attributes, and the hand-written requests for an order.

use std::collections::HashMap;

use aws_sdk_dynamodb::{
    Client,
    primitives::Blob,
    types::{AttributeValue, ReturnValuesOnConditionCheckFailure::AllOld},
};
use aws_smithy_types::base64;
use dynalock::Versioned;
use serde::{Deserialize, Serialize};

use crate::{
    canned::{Answer, Canned},
    case::Ring,
};

macro_rules! orders {
    ($($(#[$attribute:meta])* $name:ident),*) => {$(
        #[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
        #[dynalock(table = "orders")]
        $(#[$attribute])*
        pub(crate) struct $name {
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

        impl $name {
            pub(crate) fn ship(&mut self) {
                "shipped".clone_into(&mut self.status);
                self.total_cents += 350;
                "2026-03-02T10:00:00.000Z".clone_into(&mut self.updated_at);
            }
        }
    )*};
}

orders!(
    Order,
    #[lockable]
    LeasedOrder
);

impl Order {
    pub(crate) fn new() -> Self {
        Self {
            id: id(0),
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
}

/// The key of one of the orders.
pub(crate) fn id(number: usize) -> String {
    format!("01JD3X5T9QK7W2M4N6P8R0S{number:03}")
}

/// An order as DynamoDB shows it, at version 3.
pub(crate) fn json(number: usize, ring: Ring) -> String {
    let id = id(number);
    let ids = match ring {
        Ring::Short => 3,
        Ring::Full => 16,
    };
    // The incarnation and the time stand before the ids. A ring with a time in the future keeps its
    // ids.
    let head = [0; 8].into_iter().chain([0xff; 4]);
    let writes = base64::encode(head.chain((1..=ids).flat_map(|id: u8| [id; 8])).collect::<Vec<u8>>());
    format!(
        r#"{{"id":{{"S":"{id}"}},"customer":{{"S":"customer-17850-united-kingdom"}},"status":{{"S":"placed"}},
        "total_cents":{{"N":"13912"}},"currency":{{"S":"GBP"}},"lines":{{"N":"7"}},
        "note":{{"S":"Please leave the parcel with the neighbours at number 12 if nobody is at home."}},
        "created_at":{{"S":"2026-03-01T08:26:00.000Z"}},"updated_at":{{"S":"2026-03-01T08:26:00.000Z"}},
        "_version":{{"N":"3"}},"_writes":{{"B":"{writes}"}}}}"#
    )
}

/// The answer to a read of an order.
pub(crate) fn answer(number: usize, ring: Ring) -> Answer {
    Answer::success(format!(r#"{{"Item":{}}}"#, json(number, ring)))
}

/// A client for which every read shows the first order.
pub(crate) fn client(ring: Ring) -> Client {
    Canned::default().answering("GetItem", [answer(0, ring)]).client()
}

/// An order that was read by hand, and its bookkeeping.
#[derive(Debug, Clone)]
pub(crate) struct ReadOrder {
    pub(crate) order: Order,
    pub(crate) version: u64,
    pub(crate) writes: Vec<u8>,
}

impl ReadOrder {
    pub(crate) async fn get(client: &Client, id: &str) -> Self {
        let answer = client.get_item().table_name("orders").key("id", text(id)).consistent_read(true).send().await;
        Self::of(answer.expect("an answer").item.expect("an order"))
    }

    pub(crate) fn of(mut item: HashMap<String, AttributeValue>) -> Self {
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
        Self { order, version, writes: writes.into_inner() }
    }

    /// Like [`of`](Self::of), by serde.
    pub(crate) fn by_serde(mut item: HashMap<String, AttributeValue>) -> Self {
        let version = number(&mut item, "_version");
        let Some(AttributeValue::B(writes)) = item.remove("_writes") else { panic!("no write ids") };
        Self { order: serde_dynamo::from_item(item).expect("an order"), version, writes: writes.into_inner() }
    }

    /// The ring of write ids after one more write.
    pub(crate) fn next_writes(&self) -> Blob {
        let mut writes = self.writes.clone();
        writes.splice(12..12, *b"write-id");
        writes.truncate(12 + 8 * 16);
        Blob::new(writes)
    }
}

/// Describes a checked write of the three attributes that `ship` changes, for the builder of a
/// request or of an action.
macro_rules! shipped {
    ($builder:expr, $read:expr) => {{
        let read: &$crate::order::ReadOrder = $read;
        let (incarnation, writes) = (read.writes[..8].to_vec(), read.next_writes());
        $builder
            .table_name("orders")
            .key("id", $crate::order::text(&read.order.id))
            .expression_attribute_names("#s", "status")
            .expression_attribute_names("#t", "total_cents")
            .expression_attribute_names("#u", "updated_at")
            .expression_attribute_names("#v", "_version")
            .expression_attribute_names("#w", "_writes")
            .expression_attribute_values(":s", $crate::order::text(&read.order.status))
            .expression_attribute_values(":t", AttributeValue::N(read.order.total_cents.to_string()))
            .expression_attribute_values(":u", $crate::order::text(&read.order.updated_at))
            .expression_attribute_values(":v", AttributeValue::N(read.version.to_string()))
            .expression_attribute_values(":n", AttributeValue::N((read.version + 1).to_string()))
            .expression_attribute_values(":w", AttributeValue::B(writes))
            .expression_attribute_values(":i", AttributeValue::B(Blob::new(incarnation)))
            .return_values_on_condition_check_failure(AllOld)
    }};
}

pub(crate) use shipped;

/// The text of an update that `shipped` describes.
pub(crate) const SET: &str = "SET #s = :s, #t = :t, #u = :u, #v = :n, #w = :w";
/// The condition of an update that `shipped` describes.
pub(crate) const UNCHANGED: &str = "#v = :v AND begins_with(#w, :i)";

/// Writes a new order, whose parts are moved.
pub(crate) async fn create(client: &Client, order: Order) {
    let mut request = client
        .put_item()
        .table_name("orders")
        .item("id", AttributeValue::S(order.id))
        .item("customer", AttributeValue::S(order.customer))
        .item("status", AttributeValue::S(order.status))
        .item("total_cents", AttributeValue::N(order.total_cents.to_string()))
        .item("currency", AttributeValue::S(order.currency))
        .item("lines", AttributeValue::N(order.lines.to_string()))
        .item("created_at", AttributeValue::S(order.created_at))
        .item("updated_at", AttributeValue::S(order.updated_at))
        .item("_version", AttributeValue::N("1".to_owned()))
        .item("_writes", AttributeValue::B(Blob::new(*b"the-lifetimewrite-id")))
        .condition_expression("attribute_not_exists(#k)")
        .expression_attribute_names("#k", "id")
        .return_values_on_condition_check_failure(AllOld);
    if let Some(note) = order.note {
        request = request.item("note", AttributeValue::S(note));
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

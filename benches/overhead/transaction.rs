//! A transaction of 25 updates of orders that were read before, each of 3 of 9 attributes.

use aws_sdk_dynamodb::{
    Client,
    primitives::Blob,
    types::{AttributeValue, ReturnValuesOnConditionCheckFailure::AllOld, TransactWriteItem, Update},
};
use dynalock::{Repository, Stored, Transaction};

use crate::{
    canned::Canned,
    cases::{ANSWER, ID, Order, get_by_hand, ship, text},
};

const ORDERS: usize = 25;

type Read = (Order, u64, Vec<u8>);

/// The same orders for both sides.
pub(crate) struct Orders {
    by_hand: Vec<Read>,
    stored: Vec<Stored<Order>>,
}

impl Orders {
    pub(crate) async fn read() -> Self {
        let mut orders = Self { by_hand: Vec::new(), stored: Vec::new() };
        for number in 0..ORDERS {
            let id = format!("{}{number:02}", &ID[..24]);
            let client = Canned::answering("GetItem", ANSWER.replace(ID, &id)).client();
            orders.by_hand.push(get_by_hand(&client).await);
            let stored = Order::repository(&client).get(id.as_str()).await.expect("an answer");
            orders.stored.push(stored.expect("an order"));
        }
        orders
    }

    pub(crate) async fn commit(&self, client: &Client, orders: &Repository<Order>) {
        let mut tx = Transaction::new(client);
        for mut order in self.stored.iter().cloned() {
            ship(&mut order);
            tx.update(orders, order);
        }
        tx.commit().await.expect("an answer");
    }

    pub(crate) async fn commit_by_hand(&self, client: &Client) {
        let updates =
            self.by_hand.iter().cloned().map(|read| TransactWriteItem::builder().update(update(read)).build());
        client
            .transact_write_items()
            .set_transact_items(Some(updates.collect()))
            .client_request_token("0123456789abcdef0123456789abcdef")
            .send()
            .await
            .expect("an answer");
    }
}

fn update((mut order, version, mut writes): Read) -> Update {
    ship(&mut order);
    let incarnation = writes[..8].to_vec();
    writes.splice(8..8, *b"write-id");
    writes.truncate(8 * 17);
    Update::builder()
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
        .build()
        .expect("an update")
}

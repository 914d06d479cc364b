//! The Lambda function: places the orders of a queue of Amazon SQS.
//!
//! SQS delivers a message at least once, and delivers it again if the function fails. The message
//! contains the idempotency key of its order, so the order is placed once.

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

use crate::{
    Shop,
    id::Id,
    order::{NewOrder, Refused, place},
};

/// A batch of messages, as Lambda gives it to the function.
#[derive(Debug, Deserialize)]
pub struct Batch {
    #[serde(rename = "Records")]
    messages: Vec<Message>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    message_id: String,
    body: String,
}

/// The content of a message.
#[derive(Debug, Deserialize)]
struct Placement {
    id: Id,
    order: NewOrder,
}

/// The messages that SQS has to deliver again. The event source mapping needs the function response
/// type `ReportBatchItemFailures`; otherwise Lambda ignores this answer.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failures {
    batch_item_failures: Vec<Failure>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Failure {
    item_identifier: String,
}

/// Places the orders of a batch at the same time.
pub async fn handle(shop: &Shop, batch: Batch) -> Failures {
    let done = join_all(batch.messages.iter().map(|message| place_one(shop, message))).await;
    let failed = batch.messages.into_iter().zip(done).filter(|(_, is_done)| !is_done);
    let batch_item_failures = failed.map(|(message, _)| Failure { item_identifier: message.message_id }).collect();
    Failures { batch_item_failures }
}

/// Places the order of one message. Returns `false` if SQS has to deliver the message again.
async fn place_one(shop: &Shop, message: &Message) -> bool {
    let message_id = &message.message_id;
    let Placement { id, order } = match serde_json::from_str(&message.body) {
        Ok(placement) => placement,
        Err(error) => {
            // After some deliveries, SQS moves the message to its dead-letter queue, where
            // a person can look at the message.
            tracing::error!(message_id, %error, "this message is no order");
            return false;
        }
    };
    match place(shop, &id, &order).await {
        Ok(order) => {
            tracing::info!(message_id, %order.id, "placed");
            true
        }
        // After `Indeterminate`, SQS delivers the message again. If the order was placed, the next
        // delivery finds the order.
        Err(Refused::Database(error)) => {
            tracing::warn!(message_id, %error, "the message has to be delivered again");
            false
        }
        // The service would refuse the order again at the next delivery. A real shop informs the
        // customer.
        Err(refused) => {
            tracing::warn!(message_id, %refused, "refused");
            true
        }
    }
}

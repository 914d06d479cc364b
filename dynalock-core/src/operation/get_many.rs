use std::{pin::pin, sync::Arc};

use aws_sdk_dynamodb::{
    Client,
    operation::{batch_get_item::BatchGetItemError, transact_get_items::TransactGetItemsError},
    types::{Get, KeysAndAttributes, TransactGetItem},
};

use super::{
    ActionReasons,
    classify::{Failure, ServiceFailure, classify, refusal},
    transact::table_names,
};
use crate::{codec::Item, error::Refusal, telemetry::request};

/// A BatchGetItem on one table, with strongly consistent reads. DynamoDB may read the items at
/// different moments.
pub(crate) struct BatchGet {
    pub(crate) table: Arc<str>,
    /// At most [`MOST`](Self::MOST) different keys.
    pub(crate) keys: Vec<Item>,
}

impl BatchGet {
    pub(crate) const MOST: usize = 100;

    pub(crate) fn taking_from(table: &Arc<str>, unread: &mut Vec<Item>) -> Self {
        let keys = unread.split_off(unread.len().saturating_sub(Self::MOST));
        Self { table: Arc::clone(table), keys }
    }

    /// Returns the items in any order, and the keys that DynamoDB has not processed. If DynamoDB has
    /// processed no key, the request counts as throttled.
    pub(crate) async fn send(&self, client: &Client) -> Result<(Vec<Item>, Vec<Item>), Failure> {
        let keys = KeysAndAttributes::builder().set_keys(Some(self.keys.clone())).consistent_read(true);
        let keys = keys.build().map_err(|error| Failure::not_constructed(&error))?;
        let get = client.batch_get_item().request_items(&*self.table, keys);
        let output = request("BatchGetItem", &self.table, pin!(get.send())).await.map_err(classify)?;
        // The answer contains the name or the ARN of the table. A BatchGetItem of the library names
        // only one table, so the code ignores the name in the answer.
        let items = output.responses.into_iter().flatten().flat_map(|(_, items)| items).collect();
        let left: Vec<Item> = output.unprocessed_keys.into_iter().flatten().flat_map(|(_, keys)| keys.keys).collect();
        if left.len() >= self.keys.len() {
            return Err(Failure::Capacity(Refusal::new("UnprocessedKeys", "none of the keys was read", None)));
        }
        Ok((items, left))
    }
}

pub(crate) struct TransactGet {
    pub(crate) item_refs: Vec<(Arc<str>, Item)>,
}

impl TransactGet {
    pub(crate) fn tables(&self) -> Arc<str> {
        table_names(self.item_refs.iter().map(|(table, _)| table))
    }

    pub(crate) async fn send(&self, client: &Client) -> Result<Vec<Option<Item>>, Failure> {
        let get = |(table, key): &(Arc<str>, Item)| {
            let get = Get::builder().table_name(&**table).set_key(Some(key.clone())).build()?;
            Ok(TransactGetItem::builder().get(get).build())
        };
        let gets = self.item_refs.iter().map(get).collect::<Result<_, _>>();
        let gets = gets.map_err(|error: aws_sdk_dynamodb::error::BuildError| Failure::not_constructed(&error))?;
        let get = client.transact_get_items().set_transact_items(Some(gets));
        let output = request("TransactGetItems", &self.tables(), pin!(get.send())).await.map_err(classify)?;
        let items: Vec<_> = output.responses.unwrap_or_default().into_iter().map(|response| response.item).collect();
        // Only the position of an item in the answer shows its key, so the number of items must be
        // right.
        match items.len() == self.item_refs.len() {
            true => Ok(items),
            false => {
                let message = format!("{} items were read with {} answers", self.item_refs.len(), items.len());
                Err(Failure::Permanent(Refusal::new("TransactGetItems", message, None)))
            }
        }
    }
}

impl ServiceFailure for BatchGetItemError {}

impl ServiceFailure for TransactGetItemsError {
    /// No reason contains an item, because a TransactGetItems has no conditions.
    fn modelled(&mut self) -> Option<Failure> {
        let whole = refusal(self);
        let Self::TransactionCanceledException(cancelled) = self else { return None };
        Some(Failure::of_cancelled(ActionReasons::read(cancelled.cancellation_reasons.take(), whole)))
    }
}

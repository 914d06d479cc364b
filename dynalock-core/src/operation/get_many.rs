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

/// A BatchGetItem on one table. A BatchGetItem of the library reads each item strongly
/// consistently, but DynamoDB may read the items at different moments.
pub(crate) struct GetMany {
    pub(crate) table: Arc<str>,
    /// The keys of the request: at most 100 different keys.
    pub(crate) keys: Vec<Item>,
}

impl GetMany {
    /// The maximum number of keys in one BatchGetItem.
    pub(crate) const MOST: usize = 100;

    /// Removes up to 100 keys from `unread`, and returns a request for these keys.
    pub(crate) fn taking_from(table: &Arc<str>, unread: &mut Vec<Item>) -> Self {
        let keys = unread.split_off(unread.len().saturating_sub(Self::MOST));
        Self { table: Arc::clone(table), keys }
    }

    /// Returns the items that DynamoDB has read, in any order, and the keys that DynamoDB has not
    /// processed.
    pub(crate) async fn send(&self, client: &Client) -> Result<(Vec<Item>, Vec<Item>), Failure> {
        let keys = KeysAndAttributes::builder().set_keys(Some(self.keys.clone())).consistent_read(true);
        let keys = keys.build().map_err(|error| Failure::not_constructed(&error))?;
        let get = client.batch_get_item().request_items(&*self.table, keys);
        let output = request("BatchGetItem", &self.table, pin!(get.send())).await.map_err(classify)?;
        // The answer of DynamoDB contains the name or the ARN of the table. A BatchGetItem of the
        // library names only one table, so all items in the answer are items of this table.
        let items = output.responses.into_iter().flatten().flat_map(|(_, items)| items).collect();
        let left = output.unprocessed_keys.into_iter().flatten().flat_map(|(_, keys)| keys.keys).collect();
        Ok((items, left))
    }
}

/// A TransactGetItems request. DynamoDB reads all items of a TransactGetItems at the same moment.
pub(crate) struct TransactGet {
    /// The table and the key of each item.
    pub(crate) item_refs: Vec<(Arc<str>, Item)>,
}

impl TransactGet {
    pub(crate) fn tables(&self) -> Arc<str> {
        table_names(self.item_refs.iter().map(|(table, _)| table))
    }

    /// Sends the request, and returns the items in the order of the keys.
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
        // Only the position of an item in the answer shows its key. The library refuses an answer
        // with a wrong number of items.
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
    /// Returns the most severe reason of a cancelled transaction as the failure. A TransactGetItems
    /// has no conditions, so no cancellation reason contains an item.
    fn modelled(&mut self) -> Option<Failure> {
        let whole = refusal(self);
        let Self::TransactionCanceledException(cancelled) = self else { return None };
        Some(ActionReasons::read(cancelled.cancellation_reasons.take(), whole).into_failure())
    }
}

//! Requests that are safe to repeat: reads, and writes whose own condition makes a repetition
//! harmless.

use std::sync::Arc;

use super::Attempts;
use crate::{
    codec::Item,
    error::{Error, Refusal},
    operation::{Failure, GetItem, GetMany, TransactGet, Write},
    retry::Backoff,
};

/// The result of a write that is safe to repeat.
pub(crate) enum Answered {
    /// The write was applied. The field is the item before an update.
    Applied(Option<Item>),
    /// The condition was false. The field is the item with which DynamoDB evaluated the condition.
    Refused(Option<Item>),
}

impl Attempts {
    /// Reads an item until DynamoDB answers. An answered read does not count as an attempt.
    pub(crate) async fn read(&mut self, get: &GetItem) -> Result<Option<Item>, Error> {
        let client = self.connection.client.clone();
        let item = self.repeat(&get.table, || Box::pin(get.send(&client))).await?;
        self.count -= 1;
        Ok(item)
    }

    /// Reads several items of a table until DynamoDB has processed all keys. Returns the existing
    /// items, in any order.
    pub(crate) async fn read_many(&mut self, table: &Arc<str>, keys: Vec<Item>) -> Result<Vec<Item>, Error> {
        let client = self.connection.client.clone();
        let mut items = Vec::with_capacity(keys.len());
        let mut backoff = Backoff::default();
        let mut unread = keys;
        while !unread.is_empty() {
            let get = GetMany::taking_from(table, &mut unread);
            let (found, unprocessed) = self.repeat_of(get.keys.len(), table, || Box::pin(get.send(&client))).await?;
            self.count -= 1;
            items.extend(found);
            // DynamoDB leaves keys out if the answer exceeds 16 MB or a partition is throttled. The
            // pause gives a throttled partition time.
            if !unprocessed.is_empty() {
                let rest = Refusal::new("UnprocessedKeys", "some of the keys were not read", None);
                self.wait(&mut backoff, Error::Throttled(rest.after(self.spent()))).await?;
            }
            unread.extend(unprocessed);
        }
        Ok(items)
    }

    /// Reads several items in one transaction, so that all items are from the same moment.
    pub(crate) async fn snapshot(&mut self, snapshot: &TransactGet) -> Result<Vec<Option<Item>>, Error> {
        let client = self.connection.client.clone();
        let tables = snapshot.tables();
        let items = self.repeat_of(snapshot.item_refs.len(), &tables, || Box::pin(snapshot.send(&client))).await?;
        self.count -= 1;
        Ok(items)
    }

    /// Sends a write until DynamoDB answers. Each attempt builds a new request. The condition of the
    /// write must make a repetition harmless.
    pub(crate) async fn write(&mut self, mut make: impl FnMut() -> Write) -> Result<Answered, Error> {
        let client = self.connection.client.clone();
        loop {
            let write = make();
            let (table, key) = (Arc::clone(&write.table), write.key.clone());
            match self.attempt(Box::pin(write.send(&client))).await {
                Ok(before) => return Ok(Answered::Applied(before)),
                Err(Failure::Condition(Some(item))) => return Ok(Answered::Refused(Some(item))),
                // Either no item exists, or the server did not return the item. The read shows
                // which of the two is the case.
                Err(Failure::Condition(None)) => {
                    return Ok(Answered::Refused(self.read(&GetItem { table, key, consistent: true }).await?));
                }
                Err(failure) => self.pause(&table, failure).await?,
            }
        }
    }
}

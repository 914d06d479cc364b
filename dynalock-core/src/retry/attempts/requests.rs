use std::sync::Arc;

use super::Attempts;
use crate::{
    codec::Item,
    error::{Error, Refusal},
    operation::{BatchGet, Failure, GetItem, TransactGet, Write},
    retry::Backoff,
};

pub(crate) enum Answered {
    /// For an update, `Applied` contains the item before the update.
    Applied(Option<Item>),
    /// `Refused` contains the stored item for which the condition of the write was false.
    Refused(Option<Item>),
}

impl Attempts {
    pub(crate) async fn read(&mut self, get: &GetItem) -> Result<Option<Item>, Error> {
        let client = self.connection.client.clone();
        let item = self.repeat(&get.table, || Box::pin(get.send(&client))).await?;
        self.count -= 1;
        Ok(item)
    }

    pub(crate) async fn read_once(&mut self, get: &GetItem) -> Result<Option<Item>, Failure> {
        let client = self.connection.client.clone();
        let item = self.attempt(Box::pin(get.send(&client))).await?;
        self.count -= 1;
        Ok(item)
    }

    /// Returns the stored items under `keys`, in any order.
    pub(crate) async fn read_many(&mut self, table: &Arc<str>, keys: Vec<Item>) -> Result<Vec<Item>, Error> {
        let client = self.connection.client.clone();
        let mut items = Vec::with_capacity(keys.len());
        let mut backoff = Backoff::default();
        let mut unread = keys;
        while !unread.is_empty() {
            let get = BatchGet::taking_from(table, &mut unread);
            let (found, unprocessed) = self.repeat_of(get.keys.len(), table, || Box::pin(get.send(&client))).await?;
            self.count -= 1;
            items.extend(found);
            // DynamoDB leaves keys unprocessed if the answer would exceed 16 MB, or if DynamoDB
            // throttles a partition. A request that reads a part of its keys does not count as an
            // attempt, because a call for large items needs several requests.
            if !unprocessed.is_empty() {
                let rest = Refusal::new("UnprocessedKeys", "some of the keys were not read", None);
                self.wait(&mut backoff, Error::Throttled(rest.after(self.spent()))).await?;
            }
            unread.extend(unprocessed);
        }
        Ok(items)
    }

    pub(crate) async fn snapshot(&mut self, snapshot: &TransactGet) -> Result<Vec<Option<Item>>, Error> {
        let client = self.connection.client.clone();
        let tables = snapshot.tables();
        let items = self.repeat_of(snapshot.item_refs.len(), &tables, || Box::pin(snapshot.send(&client))).await?;
        self.count -= 1;
        Ok(items)
    }

    /// `make` builds a new request for each attempt. The condition of the write must prevent a
    /// second change by a repeated request.
    pub(crate) async fn write(&mut self, mut make: impl FnMut() -> Write) -> Result<Answered, Error> {
        let client = self.connection.client.clone();
        loop {
            let write = make();
            let (table, key) = (Arc::clone(&write.table), write.key.clone());
            match self.attempt(Box::pin(write.send(&client))).await {
                Ok(before) => return Ok(Answered::Applied(before)),
                Err(Failure::Condition(Some(item))) => return Ok(Answered::Refused(Some(item))),
                // A refusal without an item is ambiguous: either the key has no item, or the server
                // omits the item. A read of the item shows whether the key has an item.
                Err(Failure::Condition(None)) => {
                    return Ok(Answered::Refused(self.read(&GetItem { table, key, consistent: true }).await?));
                }
                Err(failure) => self.pause(&table, failure).await?,
            }
        }
    }
}

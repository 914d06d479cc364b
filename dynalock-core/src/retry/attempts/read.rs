use std::sync::Arc;

use super::{Attempts, tables};
use crate::{
    codec::Item,
    error::{Error, Refusal},
    operation::{GetItem, GetMany, TransactGet},
    retry::Backoff,
};

impl Attempts {
    /// Reads an item, again until an answer comes. Reads that are answered do not count as attempts.
    pub(crate) async fn read(&mut self, get: &GetItem) -> Result<Option<Item>, Error> {
        let client = self.connection.client.clone();
        let item = self.repeat(&get.table, || Box::pin(get.send(&client))).await?;
        self.count -= 1;
        Ok(item)
    }

    /// Reads several items of a table, until all have been answered for: those that are there, in any order.
    pub(crate) async fn read_many(&mut self, table: &Arc<str>, keys: Vec<Item>) -> Result<Vec<Item>, Error> {
        let client = self.connection.client.clone();
        let mut items = Vec::with_capacity(keys.len());
        let mut backoff = Backoff::default();
        let mut left = keys;
        while !left.is_empty() {
            let keys = left.split_off(left.len().saturating_sub(GetMany::MOST));
            let get = GetMany { table: Arc::clone(table), keys };
            let (found, unprocessed) = self.repeat_of(get.keys.len(), table, || Box::pin(get.send(&client))).await?;
            self.count -= 1;
            items.extend(found);
            if !unprocessed.is_empty() {
                let rest = Refusal::new("UnprocessedKeys", "some of the keys were not read", None);
                self.wait(&mut backoff, Error::Throttled(rest.after(self.spent()))).await?;
            }
            left.extend(unprocessed);
        }
        Ok(items)
    }

    /// Reads several items as of one moment.
    pub(crate) async fn snapshot(&mut self, snapshot: &TransactGet) -> Result<Vec<Option<Item>>, Error> {
        let client = self.connection.client.clone();
        let tables = tables(snapshot.item_refs.iter().map(|(table, _)| table));
        let items = self.repeat_of(snapshot.item_refs.len(), &tables, || Box::pin(snapshot.send(&client))).await?;
        self.count -= 1;
        Ok(items)
    }
}

//! The requests of one read, before they are sent.

use std::{
    collections::{HashMap, HashSet},
    hash::Hasher,
    sync::Arc,
    time::Duration,
};

use siphasher::sip::SipHasher13;

use crate::{
    codec::{Item, digest_item, key_item, key_of},
    error::{Error, Result},
    key::Key,
    model::{ItemExpiry, KeyModel, Model},
    operation::{Access, ItemPage, PageRequest, PageStart},
    retry::{Attempts, Connection, Limits},
};

/// What is the same for all pages of a read.
pub(super) struct Plan {
    pub(super) connection: Arc<Connection>,
    pub(super) limits: Limits,
    pub(super) model: &'static Model,
    pub(super) request: PageRequest,
    /// The attributes that name a place in the order of the read.
    pub(super) keys: Vec<KeyModel>,
    /// Whether rows of leases stand between the items.
    pub(super) hides_lease_rows: bool,
    /// How expired items are recognised, which stand between the items. `None` if they are shown.
    pub(super) hides_expired: Option<ItemExpiry>,
    /// Whether the items are read by the keys that an index returns.
    pub(super) fetches: bool,
}

/// How many items DynamoDB evaluates for a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// How many items are still wanted, unless all are.
    pub(super) items: Option<usize>,
    /// The requests that have been sent for them so far.
    pub(super) requests: u32,
}

impl Wanted {
    /// The limit of the next request. DynamoDB counts the items before the filter. If a request did not bring enough items, the next
    /// one evaluates twice as many, so that few requests find rare items.
    fn limit(self) -> Option<i32> {
        const MOST_DOUBLINGS: u32 = 20;
        let items = u32::try_from(self.items?).unwrap_or(u32::MAX);
        let evaluated = u64::from(items) << self.requests.min(MOST_DOUBLINGS);
        Some(i32::try_from(evaluated).unwrap_or(i32::MAX))
    }
}

impl Plan {
    pub(super) fn table(&self) -> &Arc<str> {
        &self.request.table
    }

    /// Reads the page that begins at `start`. The rows of leases and expired items are taken out of it.
    pub(super) async fn read(&self, mut start: PageStart, wanted: Wanted, limits: Limits) -> Result<ItemPage> {
        start.limit = wanted.limit();
        let mut attempts = Attempts::new(&self.connection, limits);
        let client = self.connection.client.clone();
        let request = || Box::pin(self.request.send(&client, &start));
        let mut page = attempts.repeat(self.table(), request).await.map_err(|error| self.explained(error))?;
        if self.hides_lease_rows {
            page.items.retain(|item| !self.is_lease_row(item));
            page.count = page.items.len();
        }
        let returned = page.items.len();
        page.items.retain(|item| !self.is_expired(item));
        page.count -= returned - page.items.len();
        Ok(page)
    }

    /// Reads the items of the table that an index named, if they are asked for. An item that is gone is left out.
    pub(super) async fn fetch(&self, named: Vec<Item>, limits: Limits) -> Result<Vec<Item>> {
        if !self.fetches || named.is_empty() {
            return Ok(named);
        }
        let mut seen = HashSet::new();
        let keys: Vec<Key> = named.iter().filter_map(|item| key_of(self.model, item)).collect();
        let different = keys.iter().filter(|key| seen.insert(*key)).map(|key| key_item(self.model, key)).collect();
        let mut items = Attempts::new(&self.connection, limits).read_many(self.table(), different).await?;
        items.retain(|item| !self.is_expired(item));
        let keyed = items.into_iter().filter_map(|item| Some((key_of(self.model, &item)?, item)));
        let mut found: HashMap<Key, Item> = keyed.collect();
        Ok(keys.iter().filter_map(|key| found.remove(key)).collect())
    }

    /// DynamoDB's words for a missing index, as an error of its own.
    fn explained(&self, error: Error) -> Error {
        match (error, self.request.index) {
            (Error::Rejected(refusal), Some(index)) if refusal.is_of_missing_index() => {
                Error::IndexNotFound { table: Arc::clone(self.table()), index, spent: refusal.spent() }
            }
            (error, _) => error,
        }
    }

    fn is_expired(&self, item: &Item) -> bool {
        self.hides_expired.is_some_and(|expiry| expiry.is_over(self.model, item))
    }

    fn is_lease_row(&self, item: &Item) -> bool {
        key_of(self.model, item).is_some_and(|key| key.is_lease_row())
    }

    /// The place of an item in the order of the read.
    pub(super) fn place_of(&self, item: &Item) -> Item {
        let value = |key: &KeyModel| Some((key.name.to_owned(), item.get(key.name)?.clone()));
        self.keys.iter().filter_map(value).collect()
    }

    /// A digest of what is read: the table, the index, the partition, the range, the direction and the filter.
    pub(super) fn digest(&self) -> u64 {
        let PageRequest { table, index, access, filter, names, values, .. } = &self.request;
        let mut hash = SipHasher13::new();
        let mut text = |text: &str| {
            hash.write(&(text.len() as u64).to_be_bytes());
            hash.write(text.as_bytes());
        };
        text(table);
        text(index.unwrap_or_default());
        match access {
            Access::Query { condition, forward } => {
                text(if *forward { "forward" } else { "backward" });
                text(condition);
            }
            Access::Scan => text("scan"),
        }
        text(filter.as_deref().unwrap_or_default());
        let mut names: Vec<_> = names.iter().flatten().collect();
        names.sort_unstable();
        for (placeholder, name) in names {
            text(placeholder);
            text(name);
        }
        hash.write_u64(values.as_ref().map_or(0, digest_item));
        hash.finish()
    }

    /// The error of a token that cannot be used here.
    pub(super) fn token_error(&self, reason: &'static str) -> Error {
        Error::PageToken { table: Arc::clone(self.table()), reason }
    }

    /// The limits of a read that has already taken this long.
    pub(super) fn limits_after(&self, elapsed: Duration) -> Limits {
        Limits { deadline: self.limits.deadline.saturating_sub(elapsed), ..self.limits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_further_request_evaluates_twice_as_many_items() {
        let limit = |items, requests| Wanted { items, requests }.limit();
        assert_eq!([limit(None, 0), limit(None, 3)], [None, None]);
        assert_eq!([0, 1, 2, 10].map(|requests| limit(Some(20), requests)), [20, 40, 80, 20_480].map(Some));
        assert_eq!(limit(Some(usize::MAX), 0), Some(i32::MAX));
        assert_eq!(limit(Some(20_000), u32::MAX), Some(i32::MAX));
    }
}

//! The settings of a query or a scan, from which the library makes the request for each page.

use std::{
    collections::{HashMap, HashSet},
    hash::Hasher,
    sync::Arc,
};

use siphasher::sip::SipHasher13;

use crate::{
    clock::{self, Instant},
    codec::{Item, digest_item, key_item, key_of},
    error::{Error, Result},
    explain::ExplainedRequest,
    key::{Key, KeyValue},
    model::{ItemExpiry, KeyModel, Model},
    operation::{Access, ItemPage, PageRequest, PageStart, Segment},
    retry::{Attempts, CallCost, Connection, Limits},
};

pub(super) struct ReadPlan {
    pub(super) connection: Arc<Connection>,
    pub(super) limits: Limits,
    pub(super) call_cost: Option<Arc<CallCost>>,
    pub(super) model: &'static Model,
    pub(super) request: PageRequest,
    /// The partition that a query reads, or `None` for a scan.
    pub(super) partition: Option<Partition>,
    /// The key attributes whose values identify the position of an item in the order of a query.
    pub(super) keys: Vec<KeyModel>,
    /// `hides_expired` is `None` if the read returns expired items.
    pub(super) hides_expired: Option<ItemExpiry>,
    /// `true` if the query takes the keys from the index, and then reads the items from the table.
    pub(super) fetches: bool,
}

/// The partition that a query reads. A number in `value` is in canonical notation, so that two
/// notations of one number are equal.
pub(super) struct Partition {
    pub(super) key: KeyModel,
    pub(super) value: KeyValue,
}

/// `wanted` is the number of items that the caller still needs, or `None` for all items. `requests`
/// is the number of earlier requests for the same page or segment.
pub(super) fn request_limit(wanted: Option<usize>, requests: u32) -> Option<i32> {
    // DynamoDB applies the limit before the filter, so a request may find too few items. The limit
    // doubles with each request, so that a read needs few requests even if the filter leaves out
    // most items. After 20 doublings, the limit is at least a million items, and a DynamoDB page of
    // 1 MB holds no more.
    const MOST_DOUBLINGS: u32 = 20;
    let items = u32::try_from(wanted?).unwrap_or(u32::MAX);
    let evaluated = u64::from(items) << requests.min(MOST_DOUBLINGS);
    Some(i32::try_from(evaluated).unwrap_or(i32::MAX))
}

impl ReadPlan {
    pub(super) fn table(&self) -> &Arc<str> {
        &self.request.table
    }

    pub(super) fn operation(&self) -> &'static str {
        match self.request.access {
            Access::Query { .. } => "query",
            Access::Scan => "scan",
        }
    }

    pub(super) fn explain(&self, segment: Option<Segment>, limit: Option<usize>) -> ExplainedRequest {
        let start = PageStart { after: None, limit: request_limit(limit, 0), segment };
        ExplainedRequest::of_page(&self.request, &start)
    }

    fn attempts(&self, limits: Limits) -> Attempts {
        Attempts::on(self.call_cost.clone(), &self.connection, limits)
    }

    /// Reads one page, and leaves out lease rows. The page contains expired items only if the
    /// caller has set `including_expired`.
    pub(super) async fn read(&self, start: &PageStart, limits: Limits) -> Result<ItemPage> {
        let mut attempts = self.attempts(limits);
        let client = self.connection.client.clone();
        // The future of the SDK is large, so a box keeps the surrounding future small.
        let request = || Box::pin(self.request.send(&client, start));
        let mut page = attempts.repeat(self.table(), request).await.map_err(|error| self.explained(error))?;
        // DynamoDB refuses a key attribute in the filter of a query, so a filter cannot leave lease
        // rows out.
        if self.model.lock_in_row().is_some() {
            page.items.retain(|item| key_of(self.model, item).is_none_or(|key| !key.is_lease_row()));
            page.count = page.items.len();
        }
        let returned = page.items.len();
        page.items.retain(|item| !self.is_expired(item));
        page.count -= returned - page.items.len();
        Ok(page)
    }

    /// Reads the whole items whose keys are in `named`, a page of an index. Returns only the items
    /// that still exist in the table, in the order of the index.
    pub(super) async fn fetch(&self, named: Vec<Item>, limits: Limits) -> Result<Vec<Item>> {
        if !self.fetches || named.is_empty() {
            return Ok(named);
        }
        // DynamoDB refuses a BatchGetItem that names a key twice. If the index key of an item
        // changes between two requests, two pages of the index may contain the item.
        let mut seen = HashSet::new();
        let keys: Vec<Key> = named.iter().filter_map(|item| key_of(self.model, item)).collect();
        let different = keys.iter().filter(|key| seen.insert(*key)).map(|key| key_item(self.model, key)).collect();
        let mut items = self.attempts(limits).read_many(self.table(), different).await?;
        items.retain(|item| !self.is_expired(item));
        let keyed = items.into_iter().filter_map(|item| Some((key_of(self.model, &item)?, item)));
        // The answers of a BatchGetItem have no order, but the caller gets the items in the order
        // of the index.
        let mut found: HashMap<Key, Item> = keyed.collect();
        Ok(keys.iter().filter_map(|key| found.remove(key)).collect())
    }

    fn explained(&self, error: Error) -> Error {
        match (error, self.request.index) {
            (Error::Rejected(refusal), Some(index)) if refusal.is_of_missing_index() => {
                Error::IndexNotFound { table: Arc::clone(self.table()), index, spent: refusal.spent().clone() }
            }
            (Error::TableMismatch { table, reason, .. }, index) => Error::TableMismatch { table, index, reason },
            (error, _) => error,
        }
    }

    fn is_expired(&self, item: &Item) -> bool {
        self.hides_expired.is_some_and(|expiry| expiry.is_over(self.model, item))
    }

    pub(super) fn place_of(&self, item: &Item) -> Item {
        let value = |key: &KeyModel| Some((key.name.to_owned(), item.get(key.name)?.clone()));
        self.keys.iter().filter_map(value).collect()
    }

    /// Returns `true` if an item of the query can have the value `value` in the key attribute
    /// `key`.
    pub(super) fn may_hold(&self, key: &KeyModel, value: &KeyValue) -> bool {
        self.partition.as_ref().is_none_or(|partition| partition.key != *key || partition.value == *value)
    }

    /// Returns a hash of the settings that a page token is valid for: table, index, partition,
    /// range, direction and filter.
    pub(super) fn digest(&self) -> u64 {
        let PageRequest { table, index, access, filter, names, values, .. } = &self.request;
        let mut hash = SipHasher13::new();
        // The hash includes the length of each text, so that the texts `ab` and `c` differ from the
        // texts `a` and `bc`.
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
        // A page token must be valid in all processes, so the hash of a query must not depend on
        // the order of a `HashMap`.
        let mut names: Vec<_> = names.iter().flatten().collect();
        names.sort_unstable();
        for (placeholder, name) in names {
            text(placeholder);
            text(name);
        }
        hash.write_u64(values.as_ref().map_or(0, digest_item));
        hash.finish()
    }

    pub(super) fn token_error(&self, reason: &'static str) -> Error {
        Error::PageToken { table: Arc::clone(self.table()), reason }
    }

    pub(super) fn limits_since(&self, began: Instant) -> Limits {
        let elapsed = clock::now().duration_since(began);
        Limits { deadline: self.limits.deadline.saturating_sub(elapsed), ..self.limits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_further_request_evaluates_twice_as_many_items() {
        assert_eq!([request_limit(None, 0), request_limit(None, 3)], [None, None]);
        assert_eq!([0, 1, 2, 10].map(|requests| request_limit(Some(20), requests)), [20, 40, 80, 20_480].map(Some));
        assert_eq!(request_limit(Some(usize::MAX), 0), Some(i32::MAX));
        assert_eq!(request_limit(Some(20_000), u32::MAX), Some(i32::MAX));
    }
}

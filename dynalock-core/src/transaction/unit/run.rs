use std::{collections::HashMap, sync::Arc};

use crate::{
    clock::Instant,
    codec::Item,
    error::{Error, InvalidTransaction, TransactionId},
    key::Key,
    model::ItemRef,
    retry::{Attempts, Limits},
    transaction::{link::Link, pending::PendingOperation},
};

pub(super) struct Run {
    pub(super) id: TransactionId,
    pub(super) session: UnitShared,
    pub(super) known: Known,
    pub(super) pending: Vec<PendingOperation>,
}

/// The items that a run of the closure has in memory, without duplicates. The current run or an
/// earlier run has read each item, or DynamoDB has returned the item with a refusal.
#[derive(Default)]
pub(super) struct Known {
    pub(super) held: Vec<KnownItem>,
    positions: HashMap<Arc<str>, HashMap<Key, usize>>,
}

#[derive(Clone)]
pub(super) struct UnitShared {
    pub(super) link: Link,
    pub(super) limits: Limits,
    pub(super) started: Instant,
    /// The number of failed requests and conflicts of the unit of work so far.
    pub(super) attempts: u32,
}

pub(super) struct KnownItem {
    pub(super) item_ref: ItemRef,
    pub(super) item: Option<Item>,
    pub(super) origin: ItemOrigin,
    /// The commit checks only the items that the current run of the closure has read.
    pub(super) is_read: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemOrigin {
    Fresh,
    /// An earlier run of the closure has read the item, or DynamoDB has returned the item with a
    /// refusal.
    Kept,
}

impl KnownItem {
    pub(super) fn kept(item_ref: ItemRef, item: Option<Item>) -> Self {
        Self { item_ref, item, origin: ItemOrigin::Kept, is_read: false }
    }
}

impl UnitShared {
    /// The deadline and the number of attempts apply to the whole unit of work.
    pub(super) fn attempts(&mut self) -> Attempts {
        self.link.attempts(self.limits).since(self.started, self.attempts)
    }
}

impl Run {
    /// Returns the item if the run has the item in memory, and records that the closure has read
    /// the item.
    pub(super) fn read_known(&mut self, table: &str, key: &Key) -> Result<Option<&KnownItem>, Error> {
        // The commit sends the writes after the closure has ended, so DynamoDB would return the
        // item without the recorded write.
        if self.pending.iter().any(|operation| operation.is_write && operation.item_ref.is(table, key)) {
            let table = table.into();
            return Err(Error::InvalidTransaction(InvalidTransaction::ReadAfterWrite { table }));
        }
        Ok(self.known.get_mut(table, key).map(|held| {
            held.is_read = true;
            &*held
        }))
    }

    /// Two concurrent reads of an item both return the answer that arrived first.
    pub(super) fn take_in(&mut self, item_ref: ItemRef, item: Option<Item>) -> Result<Option<Item>, Error> {
        match self.read_known(&item_ref.table, &item_ref.key)? {
            Some(known) => Ok(known.item.clone()),
            None => {
                self.known.push(KnownItem { item_ref, item: item.clone(), origin: ItemOrigin::Fresh, is_read: true });
                Ok(item)
            }
        }
    }
}

impl Known {
    pub(super) fn reads(&self) -> impl Iterator<Item = &KnownItem> {
        self.held.iter().filter(|held| held.is_read)
    }

    pub(super) fn read_of(&self, item_ref: &ItemRef) -> Option<&KnownItem> {
        let position = *self.positions.get(&*item_ref.table)?.get(&item_ref.key)?;
        self.held.get(position).filter(|held| held.is_read)
    }

    fn get_mut(&mut self, table: &str, key: &Key) -> Option<&mut KnownItem> {
        let position = *self.positions.get(table)?.get(key)?;
        self.held.get_mut(position)
    }

    fn push(&mut self, held: KnownItem) {
        let table = self.positions.entry(Arc::clone(&held.item_ref.table)).or_default();
        table.insert(held.item_ref.key.clone(), self.held.len());
        self.held.push(held);
    }
}

impl FromIterator<KnownItem> for Known {
    fn from_iter<I: IntoIterator<Item = KnownItem>>(held: I) -> Self {
        let mut known = Self::default();
        held.into_iter().for_each(|held| known.push(held));
        known
    }
}

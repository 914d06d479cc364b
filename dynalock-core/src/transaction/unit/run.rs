//! What one run of a closure has read and wants to write.

use std::{collections::HashMap, sync::Arc};

use super::super::{
    Subject,
    draft::{Draft, Purpose},
    link::Link,
};
use crate::{
    clock::Instant,
    codec::Item,
    error::{Error, InvalidTransaction},
    key::Key,
    retry::{Effort, Limits},
};

/// One run of the closure.
pub(super) struct Run {
    pub(super) session: Session,
    pub(super) known: Known,
    pub(super) drafts: Vec<Draft>,
}

/// The items that are known to a run, in the order in which they became so.
#[derive(Default)]
pub(super) struct Known {
    held: Vec<Held>,
    /// Their places, by table and key.
    places: HashMap<Arc<str>, HashMap<Key, usize>>,
}

/// What all runs of a unit of work share.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) link: Link,
    pub(super) limits: Limits,
    pub(super) started: Instant,
    /// Requests that failed or met a conflict.
    pub(super) attempts: u32,
}

/// An item that is known.
pub(super) struct Held {
    pub(super) subject: Subject,
    pub(super) item: Option<Item>,
    pub(super) origin: Origin,
    /// Whether this run has read it.
    pub(super) is_read: bool,
}

/// Where an item is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// This run has asked DynamoDB for it.
    Fresh,
    /// An earlier run, or the refusal of what it wrote.
    Kept,
}

impl Held {
    /// An item from before the next run.
    pub(super) fn kept(subject: Subject, item: Option<Item>) -> Self {
        Self { subject, item, origin: Origin::Kept, is_read: false }
    }
}

impl Session {
    /// An effort within the unit's limits.
    pub(super) fn effort(&mut self) -> Effort {
        Effort::since(self.link.connection(), self.limits, self.started, self.attempts)
    }
}

impl Run {
    /// An item that is known: read in this run from now on.
    pub(super) fn look_up(&mut self, table: &str, key: &Key) -> Result<Option<&Held>, Error> {
        if self.drafts.iter().any(|draft| draft.purpose == Purpose::Write && draft.subject.is(table, key)) {
            let table = table.into();
            return Err(Error::InvalidTransaction(InvalidTransaction::ReadAfterWrite { table }));
        }
        Ok(self.known.get_mut(table, key).map(|held| {
            held.is_read = true;
            &*held
        }))
    }

    /// Takes in an item that was asked for. If it was asked for twice at the same time, the first answer counts for both.
    pub(super) fn take_in(&mut self, subject: Subject, item: Option<Item>) -> Result<Option<Item>, Error> {
        match self.look_up(&subject.table, &subject.key)? {
            Some(known) => Ok(known.item.clone()),
            None => {
                self.known.push(Held { subject, item: item.clone(), origin: Origin::Fresh, is_read: true });
                Ok(item)
            }
        }
    }
}

impl Known {
    /// The items that the run has read.
    pub(super) fn reads(&self) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(|held| held.is_read)
    }

    /// The item behind a subject, if the run has read it.
    pub(super) fn read_of(&self, subject: &Subject) -> Option<&Held> {
        let place = *self.places.get(&*subject.table)?.get(&subject.key)?;
        self.held.get(place).filter(|held| held.is_read)
    }

    fn get_mut(&mut self, table: &str, key: &Key) -> Option<&mut Held> {
        let place = *self.places.get(table)?.get(key)?;
        self.held.get_mut(place)
    }

    fn push(&mut self, held: Held) {
        let table = self.places.entry(Arc::clone(&held.subject.table)).or_default();
        table.insert(held.subject.key.clone(), self.held.len());
        self.held.push(held);
    }
}

impl FromIterator<Held> for Known {
    fn from_iter<I: IntoIterator<Item = Held>>(held: I) -> Self {
        let mut known = Self::default();
        held.into_iter().for_each(|held| known.push(held));
        known
    }
}

impl IntoIterator for Known {
    type Item = Held;
    type IntoIter = std::vec::IntoIter<Held>;

    fn into_iter(self) -> Self::IntoIter {
        self.held.into_iter()
    }
}

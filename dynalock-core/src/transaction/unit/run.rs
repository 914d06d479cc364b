//! What one run of a closure has read and wants to write.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;

use super::super::{Subject, draft::Draft};
use crate::{
    clock::Instant,
    codec::Item,
    error::{Error, InvalidTransaction},
    key::Key,
    retry::{Connection, Effort, Limits},
};

/// One run of the closure.
pub(super) struct Run {
    pub(super) session: Session,
    pub(super) known: Known,
    pub(super) drafts: Vec<Draft>,
}

/// The items that are known to a run.
#[derive(Default)]
pub(super) struct Known(Vec<Held>);

/// What all runs of a unit of work share.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) client: Client,
    /// Of the first repository that was made from the client.
    pub(super) connection: Option<Arc<Connection>>,
    pub(super) limits: Limits,
    pub(super) started: Instant,
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
        let connection = self.connection.get_or_insert_with(|| Arc::new(Connection::over(&self.client)));
        Effort::since(connection, self.limits, self.started)
    }

    /// Prefers the connection of a repository to one of its own.
    pub(super) fn meet(&mut self, connection: &Arc<Connection>) {
        if self.connection.is_none() && connection.is_over(&self.client) {
            self.connection = Some(Arc::clone(connection));
        }
    }
}

impl Run {
    /// An item that is known: read in this run from now on.
    pub(super) fn look_up(&mut self, table: &str, key: &Key) -> Result<Option<&Held>, Error> {
        if self.drafts.iter().any(|draft| draft.writes && draft.subject.is(table, key)) {
            let table = table.into();
            return Err(Error::InvalidTransaction(InvalidTransaction::ReadAfterWrite { table }));
        }
        let held = self.known.0.iter_mut().find(|held| held.subject.is(table, key));
        Ok(held.map(|held| {
            held.is_read = true;
            &*held
        }))
    }

    /// Takes in an item that was asked for. If it was asked for twice at the same time, the first answer counts for both.
    pub(super) fn take_in(&mut self, subject: Subject, item: Option<Item>) -> Result<Option<Item>, Error> {
        match self.look_up(&subject.table, &subject.key)? {
            Some(known) => Ok(known.item.clone()),
            None => {
                self.known.0.push(Held { subject, item: item.clone(), origin: Origin::Fresh, is_read: true });
                Ok(item)
            }
        }
    }
}

impl Known {
    /// The items that the run has read.
    pub(super) fn reads(&self) -> impl Iterator<Item = &Held> {
        self.0.iter().filter(|held| held.is_read)
    }

    /// The item behind a subject, if the run has read it.
    pub(super) fn read_of(&self, subject: &Subject) -> Option<&Held> {
        self.reads().find(|held| held.subject.is(&subject.table, &subject.key))
    }
}

impl FromIterator<Held> for Known {
    fn from_iter<I: IntoIterator<Item = Held>>(held: I) -> Self {
        Self(held.into_iter().collect())
    }
}

impl IntoIterator for Known {
    type Item = Held;
    type IntoIter = std::vec::IntoIter<Held>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

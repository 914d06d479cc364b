use std::{fmt, sync::Arc};

use super::change::Change;
use crate::{
    codec::Item,
    error::Error,
    key::Key,
    model::Model,
    operation::Get,
    plan::{Requirement, checked_key},
    version::Expected,
};

/// The item that an operation is about.
#[derive(Clone)]
pub(crate) struct Subject {
    pub(crate) table: Arc<str>,
    pub(crate) model: &'static Model,
    pub(crate) key: Key,
    /// The version that the operation rests on.
    pub(crate) expected: Option<u64>,
}

/// One operation, the type of its item forgotten.
pub(super) struct Operation {
    pub(super) subject: Subject,
    pub(super) act: Act,
}

/// What an operation does.
pub(super) enum Act {
    Change(Box<dyn Change>),
    Check(Requirement),
}

impl Subject {
    /// Whether both are about one item.
    pub(super) fn is(&self, table: &str, key: &Key) -> bool {
        *self.table == *table && self.key == *key
    }

    /// The item's key as DynamoDB takes it.
    pub(super) fn key_item(&self) -> Result<Item, Error> {
        checked_key(self.model, &self.table, &self.key)
    }

    /// A strongly consistent read of the item.
    pub(super) fn read(&self) -> Result<Get, Error> {
        Ok(Get { table: Arc::clone(&self.table), key: self.key_item()?, consistent: true })
    }
}

impl Operation {
    /// What a write of it rests on; nothing if it is a check.
    pub(super) fn expected(&self) -> Option<Expected<'_>> {
        match &self.act {
            Act::Change(change) => Some(change.expected()),
            Act::Check(_) => None,
        }
    }

    /// Whether it can never succeed once it has met a false condition: it rests on a version, which does not come back.
    pub(super) fn fails_for_good(&self) -> bool {
        let rests_on = match &self.act {
            Act::Change(change) => match change.expected() {
                Expected::Unchanged(revision) | Expected::Deleted(revision) => Some(revision),
                Expected::Absent | Expected::Anything => None,
            },
            Act::Check(Requirement::Unchanged(state)) => Some(&state.revision),
            Act::Check(_) => None,
        };
        rests_on.is_some_and(|revision| revision.version.is_some())
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").field("table", &self.table).finish_non_exhaustive()
    }
}

use std::{fmt, sync::Arc};

use super::{Result, Spent, shown};
use crate::{
    codec::{Item, Stored, decode, version_in},
    key::Key,
    model::{Model, Versioned},
};

/// A write that lost, and the item that it lost to.
#[derive(Clone)]
pub struct Conflict(Box<ConflictParts>);

#[derive(Clone)]
struct ConflictParts {
    model: &'static Model,
    table: Arc<str>,
    key: Key,
    expected: Option<u64>,
    item: Option<Item>,
    spent: Spent,
}

impl Conflict {
    pub(crate) fn new(
        model: &'static Model,
        table: Arc<str>,
        key: Key,
        expected: Option<u64>,
        item: Option<Item>,
        spent: Spent,
    ) -> Self {
        Self(Box::new(ConflictParts { model, table, key, expected, item, spent }))
    }

    /// The item as DynamoDB saw it when it refused the write; nothing if there was none. No request is made.
    ///
    /// # Errors
    ///
    /// [`Error::Decode`](crate::Error::Decode) and [`Error::Corrupt`](crate::Error::Corrupt) if it does not fit `T`; [`Conflict::current_item`] shows it then.
    pub fn current<T: Versioned>(&self) -> Result<Option<Stored<T>>> {
        let Some(item) = self.0.item.clone() else { return Ok(None) };
        let (value, basis) = decode(&self.0.table, item)?;
        Ok(Some(Stored::new(value, basis)))
    }

    /// The attributes of that item as they are stored.
    pub fn current_item(&self) -> Option<&Item> {
        self.0.item.as_ref()
    }

    /// The version that the write rested on; none for a create.
    pub fn expected(&self) -> Option<u64> {
        self.0.expected
    }

    /// The version that it met; none if there was no item, or none with a version.
    pub fn found(&self) -> Option<u64> {
        self.0.item.as_ref().and_then(|item| version_in(item, self.0.model.version))
    }

    /// The table.
    pub fn table(&self) -> &str {
        &self.0.table
    }

    /// The key.
    pub fn key(&self) -> &Key {
        &self.0.key
    }

    /// The key, as far as errors show it: the key in backticks, or `this key`.
    pub(super) fn shown_key(&self) -> String {
        shown(self.0.model.shown_key(&self.0.key).as_deref())
    }

    /// The requests that the call sent, and the time that it took.
    pub fn spent(&self) -> Spent {
        self.0.spent
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.model.shown_key(&self.0.key) {
            Some(key) => write!(f, "the item under key `{key}` in table `{}` is not as it was read: ", self.0.table)?,
            None => write!(f, "the item in table `{}` is not as it was read: ", self.0.table)?,
        }
        if let Some(expected) = self.0.expected {
            write!(f, "expected version {expected}, ")?;
        }
        match (self.found(), &self.0.item) {
            (Some(found), _) if self.0.expected == Some(found) => {
                write!(f, "found version {found} with another content or lease")?;
            }
            (Some(found), _) => write!(f, "found version {found}")?,
            (None, Some(_)) => f.write_str("found one without a version")?,
            (None, None) => f.write_str("found none")?,
        }
        f.write_str("; read it again, or use `update_with`")
    }
}

impl fmt::Debug for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conflict")
            .field("table", &self.0.table)
            .field("expected", &self.0.expected)
            .field("found", &self.found())
            .field("spent", &self.0.spent)
            .finish_non_exhaustive()
    }
}

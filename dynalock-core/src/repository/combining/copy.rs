//! The working copy of a batch: the item after the calls that have run.

use std::sync::Arc;

use crate::{
    codec::{Basis, Changes, Item, decode, encode, size},
    error::{Error, Spent},
    key::Key,
    model::Versioned,
    repository::Repository,
    write::patch::SharedPatch,
};

/// The item of a batch, in memory.
pub struct WorkingCopy<'a, T> {
    repository: &'a Repository<T>,
    key: &'a Key,
    /// The number of requests that the batch has sent, and its time.
    spent: Spent,
    start: Option<Start>,
    value: Option<T>,
    change: CopyChange,
}

/// The item from which a batch starts.
struct Start {
    item: Item,
    basis: Basis,
}

/// The difference between the item from which a batch starts and the working copy.
pub(super) enum CopyChange {
    None,
    Changes(Changes),
    /// There was no item. The field contains the attributes of the new item.
    New(Item),
}

/// The value after one call, and its difference from the item from which the batch starts.
pub(super) struct NextCopy<T> {
    value: T,
    change: CopyChange,
}

/// The write that brings the item to the state of a working copy.
pub(super) enum CopyWrite<T> {
    /// There is no item, and no call creates one.
    Absent,
    Unchanged(T, Basis),
    Update(T, Basis, Changes),
    Create(T),
}

impl<'a, T: Versioned> WorkingCopy<'a, T> {
    pub(super) fn new(
        repository: &'a Repository<T>,
        key: &'a Key,
        spent: Spent,
        item: Option<Item>,
    ) -> Result<Self, Error> {
        let (mut start, mut value) = (None, None);
        if let Some(item) = item {
            let (read, mut basis) = decode::<T>(&repository.table, item.clone())?;
            // The fingerprints describe the value before the first call changes it.
            basis.remember(&read);
            start = Some(Start { item, basis });
            value = Some(read);
        }
        Ok(Self { repository, key, spent, start, value, change: CopyChange::None })
    }

    pub(super) fn value(&self) -> Option<&T> {
        self.value.as_ref()
    }

    pub(super) fn not_found(&self) -> Error {
        let key = T::MODEL.shown_key(self.key);
        Error::NotFound { table: Arc::clone(self.table()), key, spent: self.spent.clone() }
    }

    /// Returns the value after a patch. The patch is evaluated on the item as DynamoDB would store
    /// it at this point.
    pub(super) fn patched(&self, content: &SharedPatch<T>) -> Result<T, Error> {
        let Some(item) = self.item() else { return Err(self.not_found()) };
        let patch = self.repository.patch_intent(self.key.clone(), content.clone());
        let (value, _) = decode(self.table(), patch.apply(item, self.spent.clone())?)?;
        Ok(value)
    }

    /// Returns the working copy with this value, or an error if the value cannot be stored under
    /// the key.
    pub(super) fn with(&self, value: T) -> Result<NextCopy<T>, Error> {
        let change = match &self.start {
            Some(start) => CopyChange::Changes(start.basis.changes(self.table(), &value)?),
            None if value.key() == *self.key => CopyChange::New(encode(self.table(), &value)?),
            None => return Err(Error::KeyChanged { table: Arc::clone(self.table()) }),
        };
        Ok(NextCopy { value, change })
    }

    pub(super) fn accept(&mut self, NextCopy { value, change }: NextCopy<T>) {
        self.value = Some(value);
        self.change = change;
    }

    /// Returns the size of the changed attributes, in bytes.
    pub(super) fn changed_bytes(&self) -> usize {
        match &self.change {
            CopyChange::None => 0,
            CopyChange::Changes(changes) => changes.size(),
            CopyChange::New(item) => size(item),
        }
    }

    /// Returns the item as DynamoDB would store it, with the bookkeeping attributes from before the
    /// batch.
    pub(super) fn item(&self) -> Option<Item> {
        let start = self.start.as_ref().map(|start| &start.item);
        match &self.change {
            CopyChange::None => start.cloned(),
            CopyChange::Changes(changes) => start.map(|item| changes.after(T::MODEL, item)),
            CopyChange::New(item) => Some(item.clone()),
        }
    }

    pub(super) fn into_write(self) -> CopyWrite<T> {
        match (self.value, self.start, self.change) {
            (None, _, _) => CopyWrite::Absent,
            (Some(value), None, _) => CopyWrite::Create(value),
            (Some(value), Some(Start { basis, .. }), CopyChange::Changes(changes)) if !changes.is_empty() => {
                CopyWrite::Update(value, basis, changes)
            }
            (Some(value), Some(Start { basis, .. }), _) => CopyWrite::Unchanged(value, basis),
        }
    }

    fn table(&self) -> &'a Arc<str> {
        &self.repository.table
    }
}

debug_fields!([T] WorkingCopy<'_, T>);

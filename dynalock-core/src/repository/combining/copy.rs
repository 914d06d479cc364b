//! The working copy of a batch of combined calls: the item in memory, changed by the closures that
//! have run.

use std::sync::Arc;

use crate::{
    codec::{Basis, Changes, Item, decode, encode, size},
    error::{Error, Spent},
    key::Key,
    model::Versioned,
    repository::Repository,
    write::patch::SharedPatch,
};

pub struct WorkingCopy<'a, T> {
    repository: &'a Repository<T>,
    key: &'a Key,
    spent: Spent,
    start: Option<Start>,
    value: Option<T>,
    change: CopyChange,
}

/// The stored item from which the working copy of a batch starts.
struct Start {
    item: Item,
    basis: Basis,
}

/// The difference between the stored item and the working copy of a batch.
pub(super) enum CopyChange {
    None,
    Changes(Changes),
    /// All attributes of the new item, if the key had no item before the batch.
    New(Item),
}

pub(super) struct NextCopy<T> {
    value: T,
    change: CopyChange,
}

pub(super) enum CopyWrite<T> {
    /// The key has no item, and no call of the batch creates an item.
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

    pub(super) fn patched(&self, content: &SharedPatch<T>) -> Result<T, Error> {
        let Some(item) = self.item() else { return Err(self.not_found()) };
        let patch = self.repository.patch_intent(self.key.clone(), content.clone(), self.repository.outside());
        let (value, _) = decode(self.table(), patch.apply(item, self.spent.clone())?)?;
        Ok(value)
    }

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

    pub(super) fn changed_bytes(&self) -> usize {
        match &self.change {
            CopyChange::None => 0,
            CopyChange::Changes(changes) => changes.size(),
            CopyChange::New(item) => size(item),
        }
    }

    /// Returns the item with the changes of the batch. In the returned item, the version, the write
    /// ids, and the times `created_at` and `updated_at` are the values from before the batch.
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

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    super::{Subject, draft::Draft},
    run::Run,
};
use crate::{
    codec::{Item, Stored, decode, key_of},
    error::{Error, InvalidTransaction, Result},
    expression::Condition,
    key::Key,
    lock::Leased,
    model::{IntoKey, Versioned},
    operation::Get,
    plan::{Requirement, checked_key},
    repository::Repository,
    retry::Effort,
};

/// The handle of a unit of work, for one run of its closure: [`transact`](crate::transact).
///
/// Cheap to clone, so that parts of the closure can run at the same time; all clones must be gone when the closure ends. Writes are only
/// noted, and sent when the closure has ended. An item is read before it is written: a read after the write is an error, since it would
/// not show the write.
#[derive(Clone)]
pub struct Tx(Arc<Mutex<Run>>);

/// Gives the run back when its closure has ended.
pub(super) struct Handle(Arc<Mutex<Run>>);

impl Handle {
    pub(super) fn new(run: Run) -> (Tx, Self) {
        let shared = Arc::new(Mutex::new(run));
        (Tx(Arc::clone(&shared)), Self(shared))
    }

    pub(super) fn end(self) -> Result<Run> {
        let run = Arc::into_inner(self.0).ok_or(Error::InvalidTransaction(InvalidTransaction::Escaped))?;
        Ok(run.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Tx {
    /// The item under a key, strongly consistent; nothing if there is none. Reading it again in the same run gives the same.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidTransaction`] if this run has written it; the others as of [`Repository::get`].
    pub fn get<T: Versioned>(
        &self,
        repository: &Repository<T>,
        key: impl IntoKey<T>,
    ) -> impl Future<Output = Result<Option<Stored<T>>>> + Send {
        let subject = Subject::of(repository, key.into_key(), None);
        self.run().session.link.meet(&repository.connection);
        async move {
            let known = self.run().look_up(&subject.table, &subject.key)?.map(|held| held.item.clone());
            let table = Arc::clone(&subject.table);
            let item = match known {
                Some(item) => item,
                None => {
                    let get = subject.read()?;
                    let item = self.read(&get).await?;
                    self.run().take_in(subject, item)?
                }
            };
            item.map(|item| stored(&table, item)).transpose()
        }
    }

    /// The items under several keys, in their order, in as few requests as that takes. They are as of a moment each; the commit makes sure
    /// that they were so together.
    ///
    /// # Errors
    ///
    /// As of [`get`](Self::get).
    pub fn get_many<T: Versioned, K: IntoKey<T>>(
        &self,
        repository: &Repository<T>,
        keys: impl IntoIterator<Item = K>,
    ) -> impl Future<Output = Result<Vec<Option<Stored<T>>>>> + Send {
        let subjects: Vec<_> = keys.into_iter().map(|key| Subject::of(repository, key.into_key(), None)).collect();
        let table = Arc::clone(&repository.table);
        self.run().session.link.meet(&repository.connection);
        async move {
            let asked = self.unknown(&subjects)?;
            let keys = asked.iter().map(|subject| subject.key_item()).collect::<Result<Vec<_>>>()?;
            if !keys.is_empty() {
                let mut effort = self.effort();
                let found = self.count(effort.read_many(&table, keys).await, &effort)?;
                let by_key = |item| key_of(T::MODEL, &item).map(|key| (key, item));
                let mut found: HashMap<Key, Item> = found.into_iter().filter_map(by_key).collect();
                for subject in asked {
                    self.run().take_in(subject.clone(), found.remove(&subject.key))?;
                }
            }
            let mut items = Vec::with_capacity(subjects.len());
            for subject in &subjects {
                let item = self.run().look_up(&subject.table, &subject.key)?.and_then(|held| held.item.clone());
                items.push(item.map(|item| stored(&table, item)).transpose()?);
            }
            Ok(items)
        }
    }

    /// Writes a new item at version 1, if there is none under its key.
    pub fn create<T: Versioned>(&self, repository: &Repository<T>, value: T) {
        self.add(repository, Draft::create(repository, value));
    }

    /// Writes what changed in a value since it was read, if the item is still as it was read.
    pub fn update<T: Versioned>(&self, repository: &Repository<T>, stored: Stored<T>) {
        self.add(repository, Draft::update(repository, stored));
    }

    /// Writes the whole value over the item that it was read from, if that is still as it was read.
    pub fn replace<T: Versioned>(&self, repository: &Repository<T>, stored: Stored<T>) {
        self.add(repository, Draft::replace(repository, stored));
    }

    /// Deletes the item, if it is still as it was read.
    pub fn delete<T: Versioned>(&self, repository: &Repository<T>, stored: Stored<T>) {
        self.add(repository, Draft::delete(repository, stored));
    }

    /// Asks that an item that was read elsewhere is still as it was read. What this handle has read is checked without that.
    pub fn check<T: Versioned>(&self, repository: &Repository<T>, stored: &Stored<T>) {
        self.add(repository, Draft::check(repository, stored));
    }

    /// Asks that there is an item under the key.
    pub fn check_exists<T: Versioned>(&self, repository: &Repository<T>, key: impl IntoKey<T>) {
        self.add(repository, Draft::require(repository, key.into_key(), Requirement::Exists));
    }

    /// Asks that there is no item under the key.
    pub fn check_absent<T: Versioned>(&self, repository: &Repository<T>, key: impl IntoKey<T>) {
        self.add(repository, Draft::require(repository, key.into_key(), Requirement::Absent));
    }

    /// Asks that a condition holds for the item under the key. If the item was not read, or is as it was read, a false condition is
    /// [`Error::Cancelled`]: running the closure again would not change it.
    pub fn when<T: Versioned>(&self, repository: &Repository<T>, key: impl IntoKey<T>, condition: Condition<T>) {
        self.add(repository, Draft::when(repository, key.into_key(), condition));
    }

    /// Makes the whole depend on a lease, or on a lock by name: it happens only while that is held, and is [`Error::Lost`] otherwise. A write
    /// of the leased item itself needs this too.
    pub fn guard(&self, lease: &impl Leased) {
        self.run().drafts.push(Draft::guard(lease));
    }

    fn add<T: Versioned>(&self, repository: &Repository<T>, draft: Draft) {
        let mut run = self.run();
        run.session.link.meet(&repository.connection);
        run.drafts.push(draft);
    }

    async fn read(&self, get: &Get) -> Result<Option<Item>> {
        let mut effort = self.effort();
        self.count(effort.read(get).await, &effort)
    }

    fn effort(&self) -> Effort {
        self.run().session.effort()
    }

    /// The attempts of a read are among those of the unit of work.
    fn count<O>(&self, outcome: O, effort: &Effort) -> O {
        let mut run = self.run();
        run.session.attempts = run.session.attempts.max(effort.spent().attempts);
        outcome
    }

    /// Those that have to be asked for, each once.
    fn unknown<'s>(&self, subjects: &'s [Subject]) -> Result<Vec<&'s Subject>> {
        let mut unknown: Vec<&Subject> = Vec::new();
        for subject in subjects {
            let is_asked = unknown.iter().any(|asked| asked.is(&subject.table, &subject.key));
            if !is_asked && self.run().look_up(&subject.table, &subject.key)?.is_none() {
                checked_key(subject.model, &subject.table, &subject.key)?;
                unknown.push(subject);
            }
        }
        Ok(unknown)
    }

    /// Never held over an await.
    fn run(&self) -> MutexGuard<'_, Run> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stored<T: Versioned>(table: &Arc<str>, item: Item) -> Result<Stored<T>> {
    let (value, basis) = decode(table, item)?;
    Ok(Stored::new(value, basis))
}

impl fmt::Debug for Tx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tx")
    }
}

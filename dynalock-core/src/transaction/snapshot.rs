use std::{borrow::Borrow, fmt, sync::Arc, time::Duration};

use aws_sdk_dynamodb::Client;

use super::{Op, Subject, TransactionId, assembly::MOST_ITEMS, commit::which_is_missing, link::Link};
use crate::{
    codec::{Item, Stored, decode},
    error::{Error, InvalidTransaction, Result},
    model::{IntoKey, Versioned},
    operation,
    repository::Repository,
    retry::{Effort, Limits},
};

/// A read of several items as of one moment: [`Transaction::get`](crate::Transaction::get).
///
/// ```
/// # use dynalock_core as dynalock;
/// # use dynalock::{Repository, Stored, Transaction, Versioned};
/// # async fn balance<A: Versioned>(
/// #     client: &aws_sdk_dynamodb::Client, accounts: Repository<A>, alice: A::Key, bob: A::Key,
/// # ) -> dynalock::Result<()> {
/// let mut get = Transaction::get(client);
/// let (alice, bob) = (get.item(&accounts, alice), get.item(&accounts, bob));
/// let seen = get.fetch().await?;
/// let (alice, bob): (Option<Stored<A>>, _) = (seen.get(alice)?, seen.get(bob)?);
/// # Ok(())
/// # }
/// ```
///
/// It costs twice the read units of its parts.
#[must_use = "nothing is read until it is fetched"]
pub struct TransactionGet {
    id: TransactionId,
    link: Link,
    subjects: Vec<Subject>,
    limits: Limits,
}

/// Several items as of one moment.
pub struct Snapshot {
    id: TransactionId,
    /// By handle.
    items: Vec<(Arc<str>, Option<Item>)>,
}

impl TransactionGet {
    pub(super) fn new(client: &Client) -> Self {
        Self {
            id: TransactionId::next(),
            link: Link::new(client.clone()),
            subjects: Vec::new(),
            limits: Limits::of_transaction(),
        }
    }

    /// How many requests may fail before it gives up; without a limit, the deadline alone ends it.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.limits.attempts = Some(attempts);
        self
    }

    /// The time that it may take over all its requests and pauses; 10 seconds by default.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self
    }

    /// Reads this item too.
    pub fn item<T: Versioned>(&mut self, repository: &Repository<T>, key: impl IntoKey<T>) -> Op<T, Option<Stored<T>>> {
        self.link.meet(&repository.connection);
        self.subjects.push(Subject::of(repository, key.into_key(), None));
        Op::new(self.id, self.subjects.len() - 1)
    }

    /// Reads all items. Again, while transactions are at work on them.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidTransaction`] if there are none, or more than 100 different ones; [`Error::InvalidKey`],
    /// [`Error::TableNotFound`], [`Error::Rejected`], [`Error::Exhausted`].
    pub async fn fetch(self) -> Result<Snapshot> {
        let Self { id, mut link, subjects, limits } = self;
        let mut effort = Effort::new(link.connection(), limits);
        let mut different: Vec<&Subject> = Vec::new();
        let mut places = Vec::with_capacity(subjects.len());
        for subject in &subjects {
            let known = different.iter().position(|known| known.is(&subject.table, &subject.key));
            places.push(known.unwrap_or(different.len()));
            if known.is_none() {
                different.push(subject);
            }
        }
        let read = fetch(&mut effort, &different).await?;
        let items =
            subjects.iter().zip(places).map(|(subject, place)| (Arc::clone(&subject.table), read[place].clone()));
        Ok(Snapshot { id, items: items.collect() })
    }
}

/// Reads different items as of one moment.
pub(super) async fn fetch(effort: &mut Effort, subjects: &[&Subject]) -> Result<Vec<Option<Item>>> {
    match subjects.len() {
        0 => return Err(Error::InvalidTransaction(InvalidTransaction::Empty)),
        1..=MOST_ITEMS => {}
        items => return Err(Error::InvalidTransaction(InvalidTransaction::TooManyItems { items })),
    }
    let keys = subjects.iter().map(|subject| Ok((Arc::clone(&subject.table), subject.key_item()?)));
    let snapshot = operation::Snapshot { subjects: keys.collect::<Result<_>>()? };
    match effort.snapshot(&snapshot).await {
        Err(missing @ Error::TableNotFound { .. }) => Err(which_is_missing(effort, subjects, missing).await),
        read => read,
    }
}

impl Snapshot {
    /// The item behind a handle; nothing if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] and [`Error::Corrupt`] if it does not fit `T`; [`Error::ForeignHandle`] if the handle belongs to another read.
    pub fn get<T: Versioned>(&self, item: impl Borrow<Op<T, Option<Stored<T>>>>) -> Result<Option<Stored<T>>> {
        let Some((table, item)) = item.borrow().index_in(self.id).and_then(|index| self.items.get(index)) else {
            return Err(Error::ForeignHandle);
        };
        let Some(item) = item.clone() else { return Ok(None) };
        let (value, basis) = decode(table, item)?;
        Ok(Some(Stored::new(value, basis)))
    }
}

impl fmt::Debug for TransactionGet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionGet").field("items", &self.subjects.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("items", &self.items.len()).finish_non_exhaustive()
    }
}

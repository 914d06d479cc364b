use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use aws_sdk_dynamodb::Client;

use super::{
    Op, TransactionGet, TransactionId,
    assembly::assemble,
    change::Left,
    commit::{self, Token},
    draft::Draft,
    link::Link,
    operation::{Act, Operation},
};
use crate::{
    codec::Stored,
    error::{Error, InvalidTransaction, Result},
    expression::Condition,
    lock::Leased,
    model::{IntoKey, Versioned},
    plan::Requirement,
    repository::Repository,
    retry::{Effort, Limits},
    version::Revision,
};

/// Writes of several items, of any types in any tables of one account and Region, which happen together or not at all.
///
/// Each call adds an operation and returns its handle; nothing is sent before [`commit`](Self::commit). A check of an item and a write of
/// it become one conditional write, so up to 100 items can be touched.
///
/// ```
/// # use dynalock_core as dynalock;
/// use dynalock::{Error, Reason, Stored, Transaction};
/// # use dynalock::{Repository, Versioned};
///
/// # async fn reserve<P: Versioned, O: Versioned, C: Versioned>(
/// #     client: &aws_sdk_dynamodb::Client, products: Repository<P>, orders: Repository<O>, customers: Repository<C>,
/// #     product: Stored<P>, order: O, customer: Stored<C>,
/// # ) -> dynalock::Result<Option<Stored<P>>> {
/// let mut tx = Transaction::new(client);
/// let reserve = tx.update(&products, product);
/// let place = tx.create(&orders, order);
/// tx.check(&customers, &customer); // unchanged since it was read, and not written
/// match tx.commit().await {
///     Ok(done) => Ok(Some(done.get(reserve)?)),
///     Err(Error::Cancelled(cancelled)) => match (cancelled.reason(reserve), cancelled.reason(place)) {
///         (Reason::Conflict(now), _) => Ok(now), // as DynamoDB saw it: no further read was needed
///         (Reason::None, _) => Ok(None),         // this one was innocent
///         _ => Err(Error::Cancelled(cancelled)),
///     },
///     Err(error) => Err(error),
/// }
/// # }
/// ```
///
/// It costs twice the write units of its parts, those that are only checked included. What it read before is only as fresh as its checks
/// say: for reads and writes that belong together, see [`transact`](crate::transact).
#[must_use = "a transaction does nothing until it is committed"]
pub struct Transaction {
    id: TransactionId,
    link: Link,
    drafts: Vec<Draft>,
    limits: Limits,
    token: Option<String>,
}

/// A transaction that has happened.
pub struct Committed {
    transaction: TransactionId,
    /// By operation, until they are taken.
    left: Mutex<Vec<Option<Left>>>,
}

impl Transaction {
    /// An empty transaction. It goes where the client goes; its repositories say which tables and types. With repositories that were made
    /// from the same client it shares their connection, with others it makes one of its own, which costs as much as a few requests.
    pub fn new(client: &Client) -> Self {
        Self {
            id: TransactionId::next(),
            link: Link::new(client.clone()),
            drafts: Vec::new(),
            limits: Limits::of_transaction(),
            token: None,
        }
    }

    /// A consistent read of several items, as of one moment.
    pub fn get(client: &Client) -> TransactionGet {
        TransactionGet::new(client)
    }

    /// The time that [`commit`](Self::commit) may take over all its requests and pauses; 10 seconds by default, since DynamoDB may need
    /// 5 to tell what became of a request whose reply was lost. A repository's own deadline and pace are not asked.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self
    }

    /// How many requests may fail before it gives up; without a limit, the deadline alone ends it.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.limits.attempts = Some(attempts);
        self
    }

    /// The time that the first request may take before it counts as lost: 1 second by default, and 20 milliseconds more for each item but the first.
    /// It doubles from attempt to attempt, up to eight times that, while no answer comes.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.limits.attempt_timeout = timeout;
        self
    }

    /// The ClientRequestToken: 1 to 36 characters that belong to this transaction and no other, ever. Without this, a token is drawn, which
    /// covers the requests of one commit.
    ///
    /// DynamoDB applies a transaction once under one token in ten minutes. A transaction that is made again of the same values, after a crash
    /// for example, succeeds without happening twice. If more time has passed, or its values were read again, the commit is
    /// [`Error::AlreadyCommitted`], as long as an item that the transaction wrote shows its id: the next 15 writes of the item keep it.
    /// Otherwise the transaction may happen twice, so read what it would have left before you make it again.
    ///
    /// The content has to be the same to the byte. A value with a `HashSet` or a `HashMap` is written in another order each time, and is
    /// [`Error::TokenReused`] then, or [`Error::AlreadyCommitted`] if an item shows it: use a `BTreeSet`, a `BTreeMap` or a `Vec`.
    ///
    /// The write ids and incarnations of the transaction are made from the token. Do not use a token again after its item was deleted: a new
    /// item would get the same incarnation, and writers of the old item could overwrite it.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Writes a new item at version 1, if there is none under its key.
    pub fn create<T: Versioned>(&mut self, repository: &Repository<T>, value: T) -> Op<T> {
        self.add(repository, Draft::create(repository, value))
    }

    /// Writes what changed in a value since it was read, if the item is still as it was read. Of a value that did not change, this is a
    /// check.
    pub fn update<T: Versioned>(&mut self, repository: &Repository<T>, stored: Stored<T>) -> Op<T> {
        self.add(repository, Draft::update(repository, stored))
    }

    /// Writes the whole value over the item that it was read from, if that is still as it was read.
    pub fn replace<T: Versioned>(&mut self, repository: &Repository<T>, stored: Stored<T>) -> Op<T> {
        self.add(repository, Draft::replace(repository, stored))
    }

    /// Deletes the item, if it is still as it was read.
    pub fn delete<T: Versioned>(&mut self, repository: &Repository<T>, stored: Stored<T>) -> Op<T, ()> {
        self.add(repository, Draft::delete(repository, stored))
    }

    /// Asks that the item is still as it was read. Changes to the value in memory do not count.
    pub fn check<T: Versioned>(&mut self, repository: &Repository<T>, stored: &Stored<T>) -> Op<T, ()> {
        self.add(repository, Draft::check(repository, stored))
    }

    /// Asks that there is an item under the key.
    pub fn check_exists<T: Versioned>(&mut self, repository: &Repository<T>, key: impl IntoKey<T>) -> Op<T, ()> {
        self.add(repository, Draft::require(repository, key.into_key(), Requirement::Exists))
    }

    /// Asks that there is no item under the key.
    pub fn check_absent<T: Versioned>(&mut self, repository: &Repository<T>, key: impl IntoKey<T>) -> Op<T, ()> {
        self.add(repository, Draft::require(repository, key.into_key(), Requirement::Absent))
    }

    /// Asks that a condition holds for the item under the key, also for one that another operation writes: then for what it was before.
    pub fn when<T: Versioned>(
        &mut self,
        repository: &Repository<T>,
        key: impl IntoKey<T>,
        condition: Condition<T>,
    ) -> Op<T, ()> {
        self.add(repository, Draft::when(repository, key.into_key(), condition))
    }

    /// Makes the whole depend on a lease, or on a lock by name in the same account and Region: it happens only while that is held, and is
    /// [`Error::Lost`] otherwise. A write of the leased item itself needs this too, or it is refused like anybody else's.
    pub fn guard(&mut self, lease: &impl Leased) {
        self.drafts.push(Draft::guard(lease));
    }

    /// How many operations it has.
    pub fn len(&self) -> usize {
        self.drafts.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.drafts.is_empty()
    }

    /// Sends it. While other transactions are at work on its items, or capacity is short, it is sent again, under the same token. Values that
    /// came back with an etag are read first.
    ///
    /// # Errors
    ///
    /// [`Error::Cancelled`] if a condition was false, or an operation cannot be; [`Error::Locked`] if somebody holds a lease on an item that it
    /// writes, and [`Error::Lost`] if a lease that it depends on is held no more: nothing was written. [`Error::InvalidTransaction`] and
    /// those of a single write: [`Error::KeyChanged`], [`Error::InvalidKey`], [`Error::Encode`], [`Error::VersionExhausted`], [`Error::ExpressionTooLong`]: nothing was
    /// sent, and [`Error::Decode`] and [`Error::Corrupt`] of an item that was read for an etag. [`Error::Exhausted`], with the cancellation inside if it was cancelled until the deadline, [`Error::TableNotFound`],
    /// [`Error::Rejected`], [`Error::TokenReused`]: nothing was written. [`Error::AlreadyCommitted`]: it has happened
    /// before. [`Error::Indeterminate`]: it may have happened, as a whole; so it may if the future is dropped.
    pub async fn commit(self) -> Result<Committed> {
        let Self { id, mut link, drafts, limits, token } = self;
        check_token(token.as_deref())?;
        let mut effort = Effort::new(link.connection(), limits);
        let (mut marks, token) = Token::or_drawn(token, &mut effort);
        let operations = commit::resolve(&mut effort, id, drafts, token.known(&marks)).await?;
        commit::refuse_committed(&effort, &operations, token.known(&marks))?;
        let assembly = assemble(&operations, &mut marks)?;
        let next = commit::send(&mut effort, id, &operations, assembly, token, marks).await?;
        Ok(Committed { transaction: id, left: Mutex::new(left(operations, next)) })
    }

    fn add<T: Versioned, Out>(&mut self, repository: &Repository<T>, draft: Draft) -> Op<T, Out> {
        self.link.meet(&repository.connection);
        self.drafts.push(draft);
        Op::new(self.id, self.drafts.len() - 1)
    }
}

fn check_token(token: Option<&str>) -> Result<()> {
    match token.map(|token| token.chars().count()) {
        None | Some(1..=36) => Ok(()),
        Some(characters) => Err(Error::InvalidTransaction(InvalidTransaction::Token { characters })),
    }
}

fn left(operations: Vec<Operation>, next: Vec<Option<Revision>>) -> Vec<Option<Left>> {
    let left = |(Operation { act, .. }, next)| match act {
        Act::Change(change) => Some(change.applied(next)),
        Act::Check(_) => None,
    };
    operations.into_iter().zip(next).map(left).collect()
}

impl Committed {
    /// The value that an operation has left, at its new version.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignHandle`] if the handle belongs to another transaction. That says nothing about this one, which has happened.
    #[expect(clippy::needless_pass_by_value, reason = "a handle is spent: its value is taken once")]
    pub fn get<T: Versioned>(&self, operation: Op<T>) -> Result<Stored<T>> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let value = operation.index_in(self.transaction).and_then(|index| left.get_mut(index)?.take());
        match value.and_then(|value| value.downcast().ok()) {
            Some(stored) => Ok(*stored),
            None => Err(Error::ForeignHandle),
        }
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction")
            .field("operations", &self.len())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Committed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committed").finish_non_exhaustive()
    }
}

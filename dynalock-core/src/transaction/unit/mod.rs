//! The unit of work: a closure whose reads and writes are one transaction.

mod run;
mod settle;
mod tx;

pub use tx::Tx;

use std::{
    fmt,
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::Pin,
    time::Duration,
};

use aws_sdk_dynamodb::Client;

use self::settle::{Next, Unit};
use crate::{
    error::Error,
    retry::{Limits, Pace},
};

/// Runs a closure whose reads and writes become one transaction: serializable over the items that it read and wrote. A closure that writes nothing, or returns
/// an error, is serializable with [`snapshot`](UnitOfWork::snapshot) alone.
///
/// The closure reads through its [`Tx`], decides, and says what to write; nothing is written before it has ended with `Ok`. Then each item
/// that it wrote is written on the condition that it is still as it was read, and each one that it only read is checked for that.
/// Where somebody else was first, the closure runs again: at once from the items that the refusal carried and those that it had read,
/// without reading, and after a pause from fresh ones. An error of the closure ends it, and nothing is written.
///
/// ```
/// # use dynalock_core as dynalock;
/// # use dynalock::{Repository, Versioned};
/// # trait Account: Versioned { fn withdraw(&mut self, cents: u64) -> Result<(), Refused>; fn deposit(&mut self, cents: u64); }
/// # #[derive(Debug)] enum Refused { NoSuchAccount, Dynalock(dynalock::Error) }
/// # impl From<dynalock::Error> for Refused { fn from(error: dynalock::Error) -> Self { Self::Dynalock(error) } }
/// # async fn transfer<A: Account>(
/// #     client: &aws_sdk_dynamodb::Client, accounts: Repository<A>, from: A::Key, to: A::Key, cents: u64,
/// # ) -> Result<(), Refused> where A::Key: Clone + Sync {
/// let (accounts, from, to) = (&accounts, &from, &to);
/// dynalock::transact(client, |tx| async move {
///     let mut payer = tx.get(accounts, from.clone()).await?.ok_or(Refused::NoSuchAccount)?;
///     let mut payee = tx.get(accounts, to.clone()).await?.ok_or(Refused::NoSuchAccount)?;
///     payer.withdraw(cents)?; // a refusal ends it: nothing is written
///     payee.deposit(cents);
///     tx.update(accounts, payer);
///     tx.update(accounts, payee);
///     Ok(())
/// })
/// .await
/// # }
/// ```
///
/// The closure may run several times, so it should do nothing but read, decide and write through its handle. It may see items in states that
/// never were together, as any reader of one item after another does. What it decides on such items is not written. An error that it decides on them is returned,
/// in the first run and in a repeated one that has read its items afresh, unless [`snapshot`](UnitOfWork::snapshot) validates it. Up to 100 items can be read and written, and all of it costs twice the
/// write units of its parts. A single update or replace, with nothing else read, is sent as a plain conditional write at half of that. Queries are not covered (phantoms).
///
/// # Errors
///
/// The closure's own; through `From`, those of [`Transaction::commit`](crate::Transaction::commit), where [`Error::Cancelled`] means that
/// running the closure again cannot help: a create met an item, or a condition of its own was false, and no item that it had read has changed. [`Error::Exhausted`] if others were first until the deadline.
pub fn transact<'f, F, Fut, O, E>(client: &Client, work: F) -> UnitOfWork<'f, F>
where
    F: FnMut(Tx) -> Fut + Send + 'f,
    Fut: Future<Output = Result<O, E>> + Send,
    E: From<Error>,
{
    UnitOfWork { client: client.clone(), limits: Limits::of_transaction(), snapshot: false, work, borrows: PhantomData }
}

/// A unit of work that has not begun: set what it needs, then `.await` it. Made by [`transact`].
#[must_use = "a unit of work does nothing until it is awaited"]
pub struct UnitOfWork<'f, F> {
    client: Client,
    limits: Limits,
    snapshot: bool,
    work: F,
    borrows: PhantomData<&'f ()>,
}

impl<F> UnitOfWork<'_, F> {
    /// The time that it may take over all runs, requests and pauses; 10 seconds by default. The closure's own time counts, but it is not
    /// interrupted. A repository's own deadline and pace are not asked.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self
    }

    /// How many requests may fail or meet a conflict before it gives up; without a limit, the deadline alone ends it.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.limits.attempts = Some(attempts);
        self
    }

    /// The time that the first of its requests may take before it counts as lost: 1 second by default, and 20 milliseconds more for each item of a
    /// transaction but the first. It doubles from attempt to attempt, up to eight times that, while no answer comes.
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.limits.attempt_timeout = timeout;
        self
    }

    /// How it answers conflicts.
    pub fn pace(mut self, pace: Pace) -> Self {
        self.limits.pace = pace;
        self
    }

    /// Validates a run that wrote nothing as well: what it returns, an error too, was decided on items as of one moment. It costs one
    /// TransactGetItems where more than one item was read.
    pub fn snapshot(mut self) -> Self {
        self.snapshot = true;
        self
    }
}

impl<'f, F, Fut, O, E> IntoFuture for UnitOfWork<'f, F>
where
    F: FnMut(Tx) -> Fut + Send + 'f,
    Fut: Future<Output = Result<O, E>> + Send + 'f,
    O: Send + 'f,
    E: From<Error> + Send + 'f,
{
    type Output = Result<O, E>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'f>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { client, limits, snapshot, mut work, .. } = self;
            let mut unit = Unit::new(client, limits, snapshot);
            loop {
                let (tx, handle) = unit.begin();
                let result = work(tx).await;
                let run = handle.end()?;
                let next = match &result {
                    Ok(_) => unit.commit(run).await?,
                    Err(_) => unit.abort(run).await?,
                };
                match next {
                    Next::Done => return result,
                    Next::Again => {}
                }
            }
        })
    }
}

impl<F> fmt::Debug for UnitOfWork<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnitOfWork")
            .field("limits", &self.limits)
            .field("snapshot", &self.snapshot)
            .finish_non_exhaustive()
    }
}

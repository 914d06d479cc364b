//! The unit of work: a closure whose reads and writes are one transaction.

mod run;
mod settle;
mod tx;

pub use tx::Tx;

use std::{
    future::{Future, IntoFuture},
    marker::PhantomData,
    sync::Arc,
    time::Duration,
};

use aws_sdk_dynamodb::Client;

use self::settle::{Next, Unit};
use crate::{
    error::Error,
    retry::{Limits, Pace},
    telemetry::{BoxedCall, CallFailure, observe_closure},
};

/// Runs a closure whose reads and writes become one transaction. The transaction is serializable
/// with respect to the items that the closure read and wrote. If a run of the closure writes
/// nothing or returns an error, the reads of the run are serializable only with
/// [`snapshot`](UnitOfWork::snapshot).
///
/// The closure reads items through its [`Tx`], and records its writes in the `Tx`. The commit
/// starts after the closure has returned `Ok`. The commit writes each item on the condition that
/// the item has not changed since the closure read the item. If the closure has only read an item,
/// the commit checks that the item has not changed since the read. If an item has changed since the
/// closure read the item, the closure runs again. If the closure runs again without a pause, it
/// gets the changed items from DynamoDB's refusal, and the unchanged items from the previous run.
/// If the closure runs again after a pause, it reads all items from DynamoDB. If the closure
/// returns an error, the unit of work ends and writes nothing.
///
/// If DynamoDB refuses the transaction because another running transaction uses the same item, the
/// unit of work sleeps. After a sleep, the closure runs again and reads all items from DynamoDB. If
/// a reply is lost, the unit of work repeats the request without another run of the closure.
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
///     payer.withdraw(cents)?; // an error ends the unit of work: nothing is written
///     payee.deposit(cents);
///     tx.update(accounts, payer);
///     tx.update(accounts, payee);
///     Ok(())
/// })
/// .await
/// # }
/// ```
///
/// The closure may run several times, so it should only read, decide and write through its [`Tx`].
/// The closure reads one item after another, so the closure may see states of items that never
/// existed together. DynamoDB refuses a write that is based on inconsistent reads. Without
/// [`snapshot`](UnitOfWork::snapshot), the caller may receive an error that the closure returned
/// because of inconsistent reads. An error from inconsistent reads ends the unit of work only if
/// the run of the closure has read all items from DynamoDB, as the first run does.
///
/// A unit of work can read and write up to 100 items. For each item that the closure read or wrote,
/// the commit of a unit of work consumes twice the write units of a plain write. If a unit of work
/// only updates or replaces one item and reads no other item, the commit is a plain conditional
/// write. A plain conditional write costs half as much as a transaction. After DynamoDB has refused
/// a transaction of a unit of work, each further commit is a transaction. A unit of work does not
/// protect queries: after a query in the closure, another caller may add an item that the query
/// would have found.
///
/// # Errors
///
/// - The error that the closure returned.
/// - The errors of [`Transaction::commit`](crate::Transaction::commit), which `From` converts into
///   the error type of the closure.
/// - [`Error::Cancelled`]: a create found an item, or a condition of the caller was false, although
///   no item that the closure read has changed. Another run of the closure would fail with the same
///   error.
/// - [`Error::Exhausted`]: the unit of work reached its deadline or its maximum number of attempts,
///   or the retry budget was empty.
///
/// # Cancel safety
///
/// After the caller has dropped the future, DynamoDB may have applied the whole transaction or
/// nothing. A dropped unit of work sends no further requests, but a request that the unit of work
/// has already sent may still arrive.
pub fn transact<'f, F, Fut, O, E>(client: &Client, work: F) -> UnitOfWork<'f, F>
where
    F: FnMut(Tx) -> Fut + Send + 'f,
    Fut: Future<Output = Result<O, E>> + Send,
    E: From<Error>,
{
    UnitOfWork { client: client.clone(), limits: Limits::of_transaction(), snapshot: false, work, borrows: PhantomData }
}

/// A unit of work (a call of `transact`) that has not been started. [`transact`] returns a
/// `UnitOfWork`. The caller changes the settings of the unit of work, then awaits the unit of work.
#[must_use = "a unit of work does nothing until it is awaited"]
pub struct UnitOfWork<'f, F> {
    client: Client,
    limits: Limits,
    snapshot: bool,
    work: F,
    borrows: PhantomData<&'f ()>,
}

impl<F> UnitOfWork<'_, F> {
    /// Limits the time of the unit of work, including all runs of the closure, requests and pauses.
    /// The default deadline is 10 seconds. The deadline includes the time of the closure, but does
    /// not interrupt a run of the closure. The deadline and the pace of a repository do not apply
    /// to a unit of work.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// use std::time::Duration;
    ///
    /// dynalock::transact(client, |tx| async move {
    ///     let mut product = tx.get(products, "85123A").await?.expect("a product");
    ///     product.stock -= 3;
    ///     tx.update(products, product);
    ///     Ok(())
    /// })
    /// .deadline(Duration::from_secs(20))
    /// .await
    /// # }
    /// ```
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self
    }

    /// Limits the number of failed requests and conflicts of the unit of work. `attempts` must be
    /// at least 1. Without a limit on its attempts, a unit of work runs its closure after each
    /// conflict until the deadline.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// dynalock::transact(client, |tx| async move {
    ///     let mut product = tx.get(products, "85123A").await?.expect("a product");
    ///     product.stock -= 3;
    ///     tx.update(products, product);
    ///     Ok(())
    /// })
    /// .attempts(10)
    /// .await
    /// # }
    /// ```
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.limits.attempts = Some(attempts);
        self
    }

    /// Limits the sum of the read units and write units that all runs of the closure may consume.
    /// The library estimates the capacity units of a request before it sends the request. The
    /// [module `cost`](crate::cost) lists the estimate for each kind of request. If the estimate of
    /// a request is more than the unused part of the budget, the call fails with
    /// [`Error::BudgetExceeded`](crate::Error::BudgetExceeded) and does not send the request. With
    /// a budget, the library counts the cost of the call even if no repository has a meter.
    ///
    /// The budgets of the repositories do not apply to a unit of work.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// dynalock::transact(client, |tx| async move {
    ///     let mut product = tx.get(products, "85123A").await?.expect("a product");
    ///     product.stock -= 3;
    ///     tx.update(products, product);
    ///     Ok(())
    /// })
    /// .budget(100)
    /// .await
    /// # }
    /// ```
    pub fn budget(mut self, units: u64) -> Self {
        self.limits.budget = Some(units);
        self
    }

    /// Sets the time after which the first attempt of a request counts as lost. The default timeout
    /// is 1 second. The timeout of a request for several items (BatchGetItem, TransactGetItems or
    /// TransactWriteItems) is 20 milliseconds longer for each item after the first item. The
    /// timeout doubles with each attempt without an answer, up to eight times the timeout of the
    /// first attempt.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// use std::time::Duration;
    ///
    /// dynalock::transact(client, |tx| async move {
    ///     let mut product = tx.get(products, "85123A").await?.expect("a product");
    ///     product.stock -= 3;
    ///     tx.update(products, product);
    ///     Ok(())
    /// })
    /// .attempt_timeout(Duration::from_secs(3))
    /// .await
    /// # }
    /// ```
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.limits.attempt_timeout = timeout;
        self
    }

    /// Sets how the unit of work reacts to conflicts: how many times the closure runs again without
    /// a pause, and how long the pauses are. The documentation of [`Pace`] gives the pauses as
    /// multiples of a round trip. In a unit of work, the pauses are multiples of the duration of
    /// one run of the closure, because a run takes longer than a round trip. The pace does not
    /// apply after DynamoDB has refused a request because of another running transaction.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// dynalock::transact(client, |tx| async move {
    ///     let mut product = tx.get(products, "85123A").await?.expect("a product");
    ///     product.stock -= 3;
    ///     tx.update(products, product);
    ///     Ok(())
    /// })
    /// .pace(dynalock::Pace::Latency)
    /// .await
    /// # }
    /// ```
    pub fn pace(mut self, pace: Pace) -> Self {
        self.limits.pace = pace;
        self
    }

    /// Makes the unit of work validate each run of the closure that writes nothing or returns an
    /// error. The validation makes sure that the run of the closure has read all items as they were
    /// at the same moment. If a validated run read more than one item, the validation costs one
    /// TransactGetItems request.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let total: dynalock::Result<i64> = dynalock::transact(client, |tx| async move {
    ///     let products = tx.get_many(products, ["tea", "cup"]).await?;
    ///     Ok(products.iter().flatten().map(|product| product.stock).sum())
    /// })
    /// .snapshot()
    /// .await;
    /// println!("{} in stock", total?);
    /// # Ok(())
    /// # }
    /// ```
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
    type IntoFuture = BoxedCall<'f, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let call = async move {
            let Self { client, limits, snapshot, mut work, .. } = self;
            let mut unit = Unit::new(client, limits, snapshot);
            loop {
                let (tx, handle) = unit.begin();
                let result = work(tx).await;
                // If a clone of the `Tx` is still alive, `end` returns an error, because the clone
                // could record a write after the commit.
                let run = handle.end()?;
                let next = match &result {
                    Ok(_) => unit.commit(run).await?,
                    Err(_) => unit.abort(run).await?,
                };
                match next {
                    Next::Done => return result.map_err(CallFailure::Closure),
                    Next::Again => {}
                }
            }
        };
        // The telemetry of the call names no table at the start, because the tables are known only
        // at the commit.
        let tables = Arc::default();
        observe_closure("transact", tables, call)
    }
}

debug_fields!([F] UnitOfWork<'_, F>, self => { limits: self.limits, snapshot: self.snapshot });

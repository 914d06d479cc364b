//! The unit of work: a closure whose reads and writes are one transaction.

mod run;
mod settle;
mod tx;

pub use tx::Tx;

use std::{
    fmt,
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
/// over the items that the closure read and wrote. A run of the closure that writes nothing or
/// returns an error is serializable only with [`snapshot`](UnitOfWork::snapshot).
///
/// The closure reads items through its [`Tx`], and records its writes in the `Tx`. The commit
/// starts after the closure has returned `Ok`. The commit writes each item on the condition that
/// the item has not changed since the closure read the item. The commit also checks that each item
/// that the closure only read has not changed. After a conflict, the closure runs again. If the
/// closure runs again at once, it starts from the items that the refusal returned and the items
/// that the closure has already read. If the closure runs again after a pause, it reads the items
/// again. If the closure returns an error, the unit of work ends and writes nothing.
///
/// If DynamoDB refuses the transaction because another transaction is running on an item, the unit
/// of work sleeps. After the sleep, the closure runs again and reads all items again. If the
/// outcome of a request is unknown, the unit of work sends the request again without another run of
/// the closure.
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
/// The closure reads one item after another, so it may see states of items that never existed
/// together. DynamoDB refuses a write that is based on states that never existed together. If the
/// closure returns an error that is based on states that never existed together, the caller
/// receives the error, unless [`snapshot`](UnitOfWork::snapshot) is set. The caller can receive an
/// error from states that never existed together after the first run, and after later runs that
/// have read their items again.
///
/// A unit of work can read and write up to 100 items. A unit of work consumes twice the write units
/// of the items that it reads and writes. A single update or replace without other reads is a plain
/// conditional write, at half the cost of a transaction. A unit of work does not protect queries:
/// another caller may add an item that a query of the closure would have found.
///
/// # Errors
///
/// - The error that the closure returned.
/// - The errors of [`Transaction::commit`](crate::Transaction::commit), converted by `From`.
/// - [`Error::Cancelled`]: another run of the closure would have the same result. A create found an
///   item, or a condition of the caller was false, and no item that the closure read has changed.
/// - [`Error::Exhausted`]: each run of the closure met a conflict until the deadline.
///
/// # Cancel safety
///
/// After the caller has dropped the future, DynamoDB may have applied the whole transaction or
/// nothing. A dropped unit of work sends no further requests, but a request that it has already
/// sent may still arrive.
pub fn transact<'f, F, Fut, O, E>(client: &Client, work: F) -> UnitOfWork<'f, F>
where
    F: FnMut(Tx) -> Fut + Send + 'f,
    Fut: Future<Output = Result<O, E>> + Send,
    E: From<Error>,
{
    UnitOfWork { client: client.clone(), limits: Limits::of_transaction(), snapshot: false, work, borrows: PhantomData }
}

/// A unit of work that has not been started. [`transact`] returns a `UnitOfWork`. The caller
/// changes the settings of the unit of work, then awaits the unit of work.
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

    /// Limits the number of failed requests and conflicts. The limit must be at least 1. Without a
    /// limit on its attempts, a unit of work runs its closure again until the deadline.
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

    /// Limits the capacity units that all runs of the unit of work together may consume: read units
    /// and write units together. The library estimates the units of a request before it sends the
    /// request. The [module `cost`](crate::cost) describes the estimate. If the estimate of a
    /// request is more than the rest of the budget, the call fails with
    /// [`Error::BudgetExceeded`](crate::Error::BudgetExceeded) and does not send the request. The
    /// library always counts the cost of a call with a budget.
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

    /// Sets the time after which the first request counts as lost. The default timeout is 1 second.
    /// The timeout of a request for several items (BatchGetItem, TransactGetItems or
    /// TransactWriteItems) is 20 milliseconds longer for each item after the first item. The
    /// timeout doubles with each attempt without an answer, up to eight times its first value.
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

    /// Sets the reaction to conflicts: the number of immediate runs of the closure, and the length
    /// of the pauses. A [`Pace`] measures pauses in round trips. A unit of work measures its pauses
    /// in runs of its closure, because a run takes longer than a round trip. The pace does not
    /// apply to a refusal because of another running transaction.
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

    /// Validates each run of the closure, including a run that writes nothing. The validation
    /// ensures that the result of the run, including an error, is based on items from the same
    /// moment. If the run read more than one item, the validation costs one TransactGetItems.
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
                // A clone of the `Tx` that is still alive could record a write after the commit, so
                // `end` returns an error for the clone.
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
        // The telemetry names no table at the start, because the tables are known only at the
        // commit.
        let tables = Arc::default();
        observe_closure("transact", tables, call)
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

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
/// over the items that the closure read and wrote. If the closure writes nothing or returns an
/// error, its run is serializable only with [`snapshot`](UnitOfWork::snapshot).
///
/// The closure reads items through its [`Tx`] and records its writes there. The commit starts after
/// the closure has returned `Ok`. The commit writes each item on the condition that the item has
/// not changed since the closure read it. The commit also checks each item that the closure only
/// read. After a conflict, the closure runs again. An immediate rerun starts from the items that
/// the refusal returned and the items that the closure has already read. A rerun after a pause
/// reads the items again. If the closure returns an error, the unit of work ends and nothing is
/// written.
///
/// If DynamoDB refuses the transaction because another transaction is running on an item, the unit
/// of work sleeps. Then the closure runs again and reads all items again. A request with an unknown
/// outcome is sent again without a run of the closure.
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
/// The closure may run several times, so it should only read, decide and write through its handle.
/// The closure reads one item after another, so it may see states of items that never existed
/// together. A write that is based on items from different moments is refused. An error that is
/// based on items from different moments is returned to the caller, unless `snapshot` validates it.
/// An unvalidated error can come from the first run, and from later runs that have read their items
/// again.
///
/// A unit of work can read and write up to 100 items. A unit of work consumes twice the write units
/// of the items that it reads and writes. A single update or replace without other reads is a plain conditional write, at
/// half the cost of a transaction. Queries are not protected: another caller may add an item that a
/// query would have found.
///
/// # Errors
///
/// - The closure's own error.
/// - The errors of [`Transaction::commit`](crate::Transaction::commit), converted by `From`.
/// - [`Error::Cancelled`]: another run of the closure would have the same result. A create found an
///   item, or a condition of the caller was false, and no item that the closure read has changed.
/// - [`Error::Exhausted`]: each run met a conflict until the deadline.
///
/// # Cancel safety
///
/// If the future is dropped, the transaction may have been applied as a whole, or not at all.
/// Nothing is sent after the drop, but a request that was sent may still arrive.
pub fn transact<'f, F, Fut, O, E>(client: &Client, work: F) -> UnitOfWork<'f, F>
where
    F: FnMut(Tx) -> Fut + Send + 'f,
    Fut: Future<Output = Result<O, E>> + Send,
    E: From<Error>,
{
    UnitOfWork { client: client.clone(), limits: Limits::of_transaction(), snapshot: false, work, borrows: PhantomData }
}

/// A unit of work that has not been started: [`transact`] returns it. The caller changes the
/// settings of the unit of work, then awaits it.
#[must_use = "a unit of work does nothing until it is awaited"]
pub struct UnitOfWork<'f, F> {
    client: Client,
    limits: Limits,
    snapshot: bool,
    work: F,
    borrows: PhantomData<&'f ()>,
}

impl<F> UnitOfWork<'_, F> {
    /// Limits the time of the unit of work, including all runs, requests and pauses. The default
    /// deadline is 10 seconds. The time of the closure counts, but the deadline does not interrupt
    /// a run. The deadline and the pace of a repository do not apply.
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

    /// Limits the number of failed requests and conflicts. The limit is at least 1. Without a
    /// limit, the closure runs again until the deadline.
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

    /// Limits the capacity units that the unit of work, with all its runs, may consume: read units and write units together. The
    /// library estimates the units of each request before it is sent, as the [module
    /// `cost`](crate::cost) says. If a request would pass the budget, it is not sent, and the call
    /// fails with [`Error::BudgetExceeded`](crate::Error::BudgetExceeded). A call with a budget is
    /// always metered.
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
    /// A request for several items (BatchGetItem, TransactGetItems or TransactWriteItems) has 20
    /// milliseconds more for each item after the first. The timeout doubles with each attempt
    /// without an answer, up to eight times its first value.
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

    /// Sets the reaction to conflicts. Where [`Pace`] counts in round trips, a unit of work counts in
    /// runs of its closure, because a run takes longer than a round trip. The pace does not apply to
    /// a refusal because of another running transaction.
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

    /// Also validates the runs that write nothing. The result of a validated run, including an
    /// error, is based on items from the same moment. If the run read more than one item, the
    /// validation costs one TransactGetItems.
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
                // A clone of the handle that is still alive could record a write after the commit,
                // so it is an error.
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
        // The tables are known at the commit.
        let tables = Arc::default();
        observe_closure("transact", tables, call)
    }
}

debug_fields!([F] UnitOfWork<'_, F>, self => { limits: self.limits, snapshot: self.snapshot });

//! The unit of work: a closure whose reads and writes are one transaction.

mod run;
mod settle;
mod tx;

pub use tx::Tx;

use std::{
    future::{Future, IntoFuture},
    marker::PhantomData,
    sync::Arc,
};

use aws_sdk_dynamodb::Client;

use self::settle::{AfterRun, Unit};
use crate::{
    error::Error,
    retry::{Limits, limit_methods},
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
/// closure read the item, the closure runs again. If the unit of work does not sleep before a
/// further run of the closure, the `Tx` does not read the items again. The `Tx` returns the changed
/// items from DynamoDB's refusal, and the other items from the previous run. If the unit of work
/// sleeps before a further run of the closure, the `Tx` reads all items from DynamoDB. If the
/// closure returns an error, the unit of work writes nothing.
///
/// If DynamoDB refuses the commit because another running transaction uses the same item, the unit
/// of work sleeps before the next attempt. If the commit changes an item that the closure has read,
/// the closure then runs again. In all other cases, the unit of work then sends the same request
/// again. If a reply is lost, the unit of work repeats the request without another run of the
/// closure.
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
/// Do not change an item with a call of a repository after the closure has read the item through
/// the [`Tx`]. Each run would conflict with the closure's own change, and the unit of work would
/// end with [`Error::Exhausted`]. The closure reads one item after another, so the closure may see
/// states of items that never existed at the same moment. In this case, one of the items has
/// changed since its read, so DynamoDB refuses the commit. Without
/// [`snapshot`](UnitOfWork::snapshot), the caller may receive an error that the closure returned
/// because of inconsistent reads. A run may use items that an earlier run has read, together with
/// other items. If such a run returns an error, the closure runs again with new reads.
///
/// A unit of work can read and write up to 100 items. For each item that the closure read or wrote,
/// the commit of a unit of work consumes twice the write units of a plain write. If a unit of work
/// only updates or replaces one item and reads no other item, the commit is a plain conditional
/// write, not a transaction. A unit of work does not protect queries: after a query in the closure,
/// another caller may add an item that the query would have found.
///
/// # Errors
///
/// - The error that the closure returned.
/// - The errors of [`Transaction::commit`](crate::Transaction::commit), which `From` converts into
///   the error type of the closure.
/// - [`Error::Cancelled`]: DynamoDB refused the commit, but no item that the closure read has
///   changed. A create found an existing item, or a condition of the caller was false.
/// - [`Error::Exhausted`]: the unit of work reached its deadline or its maximum number of attempts,
///   or the retry budget was empty.
/// - [`Error::Indeterminate`]: a reply was lost, or DynamoDB has applied a delayed duplicate of a
///   request that DynamoDB had refused in an earlier run of the closure.
///
/// # Cancel safety
///
/// After the caller has dropped the future, DynamoDB may have applied the whole transaction or
/// nothing. A dropped unit of work sends no further requests, but a request that the unit of work
/// has already sent may still arrive at DynamoDB.
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
    limit_methods! {
        self, [self.limits], {
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
            /// # use shop::Product;
            /// # async fn example(client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
            /// let sale = dynalock::transact(client, |tx| async move {
            ///     let mut product = tx.get(products, "85123A").await?.expect("a product");
            ///     product.stock -= 3;
            ///     tx.update(products, product);
            ///     Ok(())
            /// });
            "sale" ".await"
            /// # }
            /// ```
        },
        /// The deadline covers all runs of the closure, but does not interrupt a run of the
        /// closure. The default deadline of a unit of work is 10 seconds. The deadline and the pace
        /// of a repository do not apply to a unit of work.
        deadline;
        /// Each further run of the closure after a conflict counts as an attempt.
        attempts;
        /// The budget covers all runs of the closure together. The budgets of the repositories do
        /// not apply to a unit of work.
        budget;
        /// The default timeout of the first attempt is 1 second.
        attempt_timeout;
        /// The default pace is [`Pace::Balanced`](crate::Pace::Balanced). [`Pace`](crate::Pace)
        /// gives the length of a sleep in round trips. For a unit of work, the average time of one
        /// run of the closure with its commit replaces the round trip. The pace does not apply to a
        /// sleep after DynamoDB has refused a request because of another running transaction on the
        /// same item.
        pace;
    }

    /// Also checks the reads of a run that writes nothing, and of a run that returns an error. A
    /// run is one call of the closure. The unit of work returns the result of a run only if the run
    /// has read all items as they were at the same moment. For a run that has read more than one
    /// item, the check of the reads costs at most one TransactGetItems request.
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
                let tx = unit.begin();
                let result = work(tx.clone()).await;
                // A clone of the `Tx` that is still alive could record a write after the commit.
                let run = tx.end()?;
                let next = match &result {
                    Ok(_) => unit.commit(run).await?,
                    Err(_) => unit.abort(run).await?,
                };
                match next {
                    AfterRun::Done => return result.map_err(CallFailure::Closure),
                    AfterRun::Again => {}
                }
            }
        };
        // The tables are known only at the commit.
        let tables = Arc::default();
        observe_closure("transact", tables, call)
    }
}

debug_fields!([F] UnitOfWork<'_, F>, self => { limits: self.limits, snapshot: self.snapshot });

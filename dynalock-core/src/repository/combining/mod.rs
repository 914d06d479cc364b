//! Combined calls: one write stores the changes of several concurrent calls on one key.

mod call;
mod change;
mod copy;
mod progress;
mod queue;
mod request;
mod worker;

pub use request::CombinedCall;

use std::sync::Arc;

use change::{CombinedTryUpdate, CombinedUpdate, CombinedUpsert};
use queue::Queues;

use super::{Patch, Repository, modify::NoValue};
use crate::{
    error::Error,
    key::Key,
    model::{IntoKey, Versioned},
    retry::Pace,
};

/// A handle of a repository that combines concurrent calls on one key into one write. The method
/// [`Repository::combining`](crate::Repository::combining) makes a `Combining` handle.
///
/// The calls on one key wait in a queue, which all clones of the handle share. A tokio task, the
/// worker of the key, takes the waiting calls as a batch. The worker applies the closures of the
/// batch, in the order of the calls, to a copy of the item. When all closures of the batch have
/// run, one request writes the changed copy of the item.
///
/// While the write of a batch is in flight, further calls on the same key wait. If DynamoDB refuses
/// the write of a batch because of a conflict, the waiting calls join the batch. After a successful
/// write of a batch, the waiting calls on the key become the next batch. Each key has at most one
/// batch in flight. A batch that directly follows a successful batch starts from the item that the
/// previous batch wrote, without a read.
///
/// # What a caller sees
///
/// - Each caller receives the item that the batch wrote, with the changes of all calls in the
///   batch.
/// - Each batch increments the version of the item by one, even if the batch has several calls.
/// - A closure may run several times, like the closure of
///   [`update_with`](crate::Repository::update_with). Each run of a closure changes a clone of the
///   value, so a run that fails leaves the value unchanged.
/// - If a closure returns an error or panics, the write of the batch does not contain the closure's
///   change. An error or a panic of one closure does not affect the other calls of the batch. After
///   a closure has panicked, the worker never runs the closure again.
/// - If a closure returns an error or changes nothing, the caller that passed the closure receives
///   the result only after the write of the batch. A batch may have nothing to write. If the worker
///   has not read the item since the last call of the batch entered the queue, the worker then
///   reads the item and repeats all closures. A closure may return an error because of the changes
///   of other calls in the batch. The caller then receives the error only after DynamoDB has stored
///   these changes.
/// - The worker applies a patch to the copy of the item in memory, by the same rules as DynamoDB.
///   The worker stores a patched value in the form in which serde writes the value. If serde writes
///   `None` as a null, a combined patch that removes an `Option` field stores a null.
/// - A batch writes whole attributes, like `update_with`. If a batch changes a nested struct, the
///   write replaces the whole stored map, and removes keys that are not fields of the struct.
///
/// # Limits
///
/// | a batch ends | limit |
/// |---|---|
/// | when the number of calls in the batch reaches | 100 |
/// | when the calls after the first call of the batch have made the write larger by more than | 64 KB |
/// | when the closures of the batch have run for longer than | 100 ms |
///
/// If DynamoDB refuses the content of a batch, for example because the item would be larger than
/// 400 KB, the worker writes the calls in smaller batches. A batch sends requests until the latest
/// deadline of its calls, but each call ends at its own deadline. A queue has no maximum length,
/// and each waiting call needs memory.
///
/// The settings [`attempts`](crate::Repository::attempts) and
/// [`attempt_timeout`](crate::Repository::attempt_timeout) of the repository apply to each batch.
/// The [`pace`](crate::Repository::pace) of the repository applies to each batch. If the program
/// has set no pace, a batch uses [`Pace::Latency`]. `Latency` causes more refused writes than the
/// other paces, but all calls of a batch share the cost of a refused write. After a conflict, the
/// worker may repeat the write of a batch several times without a sleep. After a batch with a
/// conflict, the worker pauses for four round trips, but at most 100 milliseconds. The worker's
/// pause before the next batch gives other processes time to write the item, and lets more calls
/// join the batch.
///
/// While another caller holds a lease on an item, combined calls on the item fail with
/// [`Error::Locked`], like calls of `update_with`.
///
/// # Runtime
///
/// If no worker runs for a key, or the worker pauses, a new call on the key starts a worker in the
/// tokio runtime of the caller. The worker ends when its queue is empty. If callers on several
/// runtimes share a handle, each of these runtimes must keep running. The calls on a key wait while
/// the runtime of the key's worker stands still. A multi-threaded runtime keeps running, but a
/// current-thread runtime runs only during `block_on`. If the runtime of a worker is shut down
/// before the queue is empty, the waiting calls fail with
/// [`Unavailable::WorkerEnded`](crate::error::Unavailable::WorkerEnded). If the write of a batch is
/// in flight when the runtime of the worker is shut down, the calls of the batch fail with
/// [`Error::Indeterminate`].
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// # async fn example(client: &aws_sdk_dynamodb::Client) -> dynalock::Result<()> {
/// use std::future::IntoFuture;
///
/// let products = dynalock::Repository::<Product>::new(client).combining();
/// let sales = (0..32).map(|_| products.update_with("85123A", |product| product.stock -= 1).into_future());
/// for sold in futures_util::future::join_all(sales).await {
///     println!("{} left", sold?.stock); // the same number for all calls of one batch
/// }
/// # Ok(())
/// # }
/// ```
pub struct Combining<T> {
    repository: Repository<T>,
    queues: Arc<Queues<T>>,
}

impl<T: Versioned + Clone> Repository<T> {
    /// Returns a handle that combines concurrent calls on one key into one write. A `Combining`
    /// handle is useful for keys that many tasks of a process change at the same time, for example
    /// counters.
    ///
    /// Each call of `combining` makes a handle with its own queues, and calls in different queues
    /// are never combined. A program should call `combining` once, and clone the handle.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(client: &aws_sdk_dynamodb::Client) -> dynalock::Result<()> {
    /// let products = dynalock::Repository::<Product>::new(client).combining();
    /// let product = products.update_with("85123A", |product| product.stock -= 3).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn combining(&self) -> Combining<T> {
        let mut repository = self.clone();
        repository.limits.pace.get_or_insert(Pace::Latency);
        Combining { repository, queues: Arc::default() }
    }
}

impl<T: Versioned + Clone> Combining<T> {
    /// Changes the item by a closure, like [`Repository::update_with`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::request::Combining<Product>) -> dynalock::Result<()> {
    /// let product = products.update_with("85123A", |product| product.stock -= 3).await?;
    /// println!("{} left", product.stock);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::NotFound`]: the key has no item.
    /// - [`Error::Exhausted`]: the change was not applied, because the call reached its deadline
    ///   before the write of its batch, or because all requests of the batch failed.
    /// - [`Error::Indeterminate`]: the outcome of the write is unknown, because DynamoDB's reply
    ///   was lost, or because the call reached its deadline before the reply.
    /// - [`Error::Unavailable`] with [`WorkerEnded`](crate::error::Unavailable::WorkerEnded): the
    ///   tokio runtime of the worker was shut down, and the change was not applied.
    /// - The errors of [`Repository::update_with`] are possible.
    ///
    /// # Cancel safety
    ///
    /// A background task, the worker of the key, writes the changes of several calls as one batch.
    /// If the caller drops the future of `update_with` before the worker sends the batch, the batch
    /// does not contain the change of the caller. If the caller drops the future of `update_with`
    /// while the write of the batch is in flight, DynamoDB may or may not apply the change. After a
    /// conflict, the worker sends the batch again without the changes of callers that have dropped
    /// their futures.
    pub fn update_with<F, O>(&self, key: impl IntoKey<T>, change: F) -> CombinedCall<T, CombinedUpdate<F>>
    where
        F: FnMut(&mut T) -> O + Send + 'static,
        O: NoValue,
    {
        self.call(key.into_key(), CombinedUpdate { change })
    }

    /// Changes the item by a closure that can return an error, like
    /// [`Repository::try_update_with`]. If the closure `change` returns an error, the write of the
    /// batch does not contain the closure's change.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::request::Combining<Product>) -> dynalock::Result<()> {
    /// enum Refused {
    ///     SoldOut,
    ///     Database(dynalock::Error),
    /// }
    ///
    /// impl From<dynalock::Error> for Refused {
    ///     fn from(error: dynalock::Error) -> Self {
    ///         Self::Database(error)
    ///     }
    /// }
    ///
    /// let sell = |product: &mut Product| {
    ///     product.stock = product.stock.checked_sub(3).filter(|left| *left >= 0).ok_or(Refused::SoldOut)?;
    ///     Ok(())
    /// };
    /// match products.try_update_with("85123A", sell).await {
    ///     Ok(product) => println!("{} left", product.stock),
    ///     Err(Refused::SoldOut) => println!("sold out"),
    ///     Err(Refused::Database(error)) => return Err(error),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - The error that the closure `change` returned.
    /// - The errors of [`update_with`](Self::update_with), converted into `E` by `From`.
    ///
    /// # Cancel safety
    ///
    /// All combined calls have the same cancel safety as [`update_with`](Self::update_with).
    pub fn try_update_with<F, E>(&self, key: impl IntoKey<T>, change: F) -> CombinedCall<T, CombinedTryUpdate<F>>
    where
        F: FnMut(&mut T) -> Result<(), E> + Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.call(key.into_key(), CombinedTryUpdate { change })
    }

    /// Changes the item by a closure, and creates the item if it is missing, like
    /// [`Repository::upsert_with`]. If an `upsert_with` in a batch creates the item, the later
    /// calls of the same batch change the new item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::request::Combining<Product>) -> dynalock::Result<()> {
    /// let empty = || Product { sku: "85123A".into(), stock: 0 };
    /// let product = products.upsert_with("85123A", empty, |product| product.stock += 10).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::KeyChanged`]: the closure `init` made a value whose key differs from the key that
    ///   the caller passed.
    /// - [`Error::Indeterminate`]: the outcome of the write is unknown, for example because
    ///   DynamoDB applied a delayed duplicate of a refused create.
    /// - The errors of [`update_with`](Self::update_with) are possible, except [`Error::NotFound`].
    ///
    /// # Cancel safety
    ///
    /// All combined calls have the same cancel safety as [`update_with`](Self::update_with).
    pub fn upsert_with<I, F, O>(
        &self,
        key: impl IntoKey<T>,
        init: I,
        change: F,
    ) -> CombinedCall<T, CombinedUpsert<I, F>>
    where
        I: FnMut() -> T + Send + 'static,
        F: FnMut(&mut T) -> O + Send + 'static,
        O: NoValue,
    {
        self.call(key.into_key(), CombinedUpsert { init, change })
    }

    /// Changes attributes of the item, like [`Repository::patch`]. The worker of the key applies
    /// the patch in memory, and writes the changed item together with the changes of the other
    /// calls of the batch.
    ///
    /// A patch from [`Repository::patch`] never conflicts with other writers. A combined patch is a
    /// part of a conditional write, so it may conflict with other writers. All calls of a batch
    /// together pay for only one write.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::request::Combining<Product>) -> dynalock::Result<()> {
    /// let a = Product::ATTR;
    /// let product = products.patch("85123A").add(a.stock, -3).when(a.stock.ge(3)).await?;
    /// println!("{} left", product.stock);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::ConditionFailed`]: the condition of the caller is false for the item with the
    ///   changes of all calls before the patch in the batch. `ConditionFailed` contains the item
    ///   with the changes of all calls before the patch.
    /// - [`Error::OutOfRange`], [`Error::Unpatchable`], [`Error::InvalidPatch`] or
    ///   [`Error::Decode`]: the cause is the same as for [`Repository::patch`], and the patch was
    ///   not applied.
    /// - The errors of [`update_with`](Self::update_with) are possible.
    ///
    /// # Cancel safety
    ///
    /// All combined calls have the same cancel safety as [`update_with`](Self::update_with).
    pub fn patch(&self, key: impl IntoKey<T>) -> CombinedCall<T, Patch<T>> {
        let key = key.into_key();
        self.call(key.clone(), Patch::new(key))
    }

    fn call<C>(&self, key: Key, change: C) -> CombinedCall<T, C> {
        let Self { repository, queues } = self;
        let deadline = repository.limits.deadline;
        CombinedCall { repository: repository.clone(), queues: Arc::clone(queues), key, deadline, change }
    }
}

impl<T> Clone for Combining<T> {
    fn clone(&self) -> Self {
        Self { repository: self.repository.clone(), queues: Arc::clone(&self.queues) }
    }
}

debug_fields!([T] Combining<T>, self => { repository: self.repository });

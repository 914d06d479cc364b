//! Several concurrent calls on one key, written together.

mod call;
mod change;
mod copy;
mod queue;
mod request;
mod ticket;
mod worker;

pub use request::CombinedCall;

use std::sync::Arc;

use change::{CombinedTryUpdate, CombinedUpdate, CombinedUpsert};
use queue::Queues;

use super::{Patch, Repository, modify::NoValue};
use crate::{
    error::Error,
    model::{IntoKey, Versioned},
    retry::Pace,
};

/// A handle whose concurrent calls on one key are written together:
/// [`Repository::combining`](crate::Repository::combining).
///
/// The calls of one key wait in a queue, which all clones of the handle share. A task writes them in
/// batches, in the order of the calls: it applies the closures one after the other to a copy of the
/// item, and writes the result once. While a write is in flight, further calls wait. They join the
/// batch if the write is refused because of a conflict, and otherwise are the next batch. One batch
/// of a key is in flight at a time, and the next batch starts from the result of the last one,
/// without a read.
///
/// # What a caller sees
///
/// - Each caller gets the item as its batch has left it, with the changes of all calls of the batch.
/// - The version counts one for each batch, and not one for each call.
/// - A closure may run several times, like the closure of
///   [`update_with`](crate::Repository::update_with). Each run starts from a clone of the copy.
/// - If a closure returns an error or panics, its change is left out. The other calls of the batch
///   are not affected. A closure that has panicked does not run again.
/// - An error of a closure, and a call that changes nothing, are reported when the other calls of the
///   batch are committed. If a batch would write nothing, its calls run on an item that was read
///   after they had entered the queue. No call is refused because of a state that never was.
/// - A patch changes the copy in memory. It is evaluated as DynamoDB would evaluate it on the copy.
///   Like `update_with`, the batch writes whole attributes: an entry of a nested struct that `T` does
///   not know does not survive.
///
/// # Limits
///
/// | a batch ends | limit |
/// |---|---|
/// | when it has this many calls | 100 |
/// | when its write has grown since its first call by more than | 64 KB |
/// | when its closures have run for longer than | 100 ms |
///
/// If DynamoDB refuses the content of a batch, for example because the item would be larger than
/// 400 KB, its calls are tried again in smaller batches. The requests of a batch end at the latest
/// deadline of its calls, and each call ends at its own deadline. The queue itself has no limit: its
/// memory grows with the number of calls that wait.
///
/// The attempts and the attempt timeout of the repository apply to each batch. After a conflict, a
/// batch attempts again with [`Pace::Latency`], unless the repository has [`Pace::Economy`]: the
/// calls of a batch share the cost of a refused write. After each sleep of its pace, a batch has new
/// immediate attempts.
///
/// Leases are treated as by `update_with`: while another caller holds the lease of the item, the
/// calls of a batch fail with [`Error::Locked`].
///
/// # Runtime
///
/// The first call of an empty queue starts the task, in the tokio runtime of its caller. The task ends
/// when the queue is empty. If this runtime is shut down earlier, waiting calls fail with
/// [`Unavailable::WorkerEnded`](crate::error::Unavailable::WorkerEnded), and calls whose batch was
/// being written fail with [`Error::Indeterminate`].
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
    /// Returns a handle that writes concurrent calls on one key together. Use it for keys that many
    /// tasks of a process change at the same time, for example counters.
    ///
    /// Each call of this method makes a handle with its own queues. Keep the handle and clone it.
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
        if repository.limits.pace == Pace::Balanced {
            repository.limits.pace = Pace::Latency;
        }
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
    /// - [`Error::Exhausted`]: the deadline was reached before the batch of the call was written, or
    ///   the requests of the batch ended without a write. The change was not applied.
    /// - [`Error::Indeterminate`]: a reply was lost and the outcome cannot be known, or the deadline of
    ///   the call was reached while its batch was being written.
    /// - [`Error::Unavailable`] with
    ///   [`WorkerEnded`](crate::error::Unavailable::WorkerEnded): the runtime of the queue was shut
    ///   down. The change was not applied.
    /// - The other errors of [`Repository::update_with`] are possible too.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before the batch of the call is written, the closure is taken out. The
    /// same holds after a conflict, before the batch is written again. If the future is dropped while
    /// the batch is being written, the change may be applied.
    pub fn update_with<F, O>(&self, key: impl IntoKey<T>, change: F) -> CombinedCall<T, CombinedUpdate<F>>
    where
        F: FnMut(&mut T) -> O + Send + 'static,
        O: NoValue,
    {
        self.call(CombinedUpdate { key: key.into_key(), change })
    }

    /// Changes the item by a closure that can return an error, like [`Repository::try_update_with`].
    /// The error of the closure leaves its change out of the batch.
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
    /// - The closure's own error.
    /// - The errors of [`update_with`](Self::update_with), converted by `From`.
    ///
    /// # Cancel safety
    ///
    /// The cancel safety is the same as for [`update_with`](Self::update_with).
    pub fn try_update_with<F, E>(&self, key: impl IntoKey<T>, change: F) -> CombinedCall<T, CombinedTryUpdate<F>>
    where
        F: FnMut(&mut T) -> Result<(), E> + Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.call(CombinedTryUpdate { key: key.into_key(), change })
    }

    /// Changes the item by a closure, and creates the item if it is missing, like
    /// [`Repository::upsert_with`]. A later call of the same batch finds the new item.
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
    /// - [`Error::KeyChanged`]: `init` made a value with another key.
    /// - The other errors of [`update_with`](Self::update_with) are possible too, except
    ///   [`Error::NotFound`].
    ///
    /// # Cancel safety
    ///
    /// The cancel safety is the same as for [`update_with`](Self::update_with).
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
        self.call(CombinedUpsert { key: key.into_key(), init, change })
    }

    /// Changes attributes of the item, like [`Repository::patch`]. The patch is applied in memory, in
    /// its turn, and is written with the other calls of its batch.
    ///
    /// A patch that is sent alone conflicts with no writer. A combined patch is part of a conditional
    /// write, and shares its cost with the other calls of the batch.
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
    /// - [`Error::ConditionFailed`]: the condition of the caller is false for the copy of the item. The
    ///   error contains this copy.
    /// - [`Error::OutOfRange`], [`Error::Unpatchable`], [`Error::InvalidPatch`] and [`Error::Decode`]: as
    ///   for [`Repository::patch`]. The change was not applied.
    /// - The other errors of [`update_with`](Self::update_with) are possible too.
    ///
    /// # Cancel safety
    ///
    /// The cancel safety is the same as for [`update_with`](Self::update_with).
    pub fn patch(&self, key: impl IntoKey<T>) -> CombinedCall<T, Patch<T>> {
        self.call(Patch::new(key.into_key()))
    }

    fn call<C>(&self, change: C) -> CombinedCall<T, C> {
        let Self { repository, queues } = self;
        let deadline = repository.limits.deadline;
        CombinedCall { repository: repository.clone(), queues: Arc::clone(queues), deadline, change }
    }
}

impl<T> Clone for Combining<T> {
    fn clone(&self) -> Self {
        Self { repository: self.repository.clone(), queues: Arc::clone(&self.queues) }
    }
}

debug_fields!([T] Combining<T>, self => { repository: self.repository });

use std::{fmt, future::IntoFuture, marker::PhantomData, slice, sync::Arc};

use tokio::sync::watch;

use super::{guard::LockGuard, guard_set::LockSetGuard, settings::Settings};
use crate::{
    error::{Error, InvalidSetting, InvalidTransaction, Result},
    lease::{
        AnyOrder, Fair, LockOrder, QueueStatus, QueueTicket, Wait,
        acquire::call::{AcquireCall, AcquireMode},
        lease_methods,
        order::acquire_mode,
    },
    telemetry::{BoxedCall, observe},
};

/// An unsent request for one or several locks. The caller may change the settings of the request.
/// `.await` sends the request.
///
/// The type parameter `O` is the type of the result, and `N` is the type of the lock names. The
/// type parameter `Q` selects the order in which waiting callers get the lock.
/// [`Locks::acquire`](crate::Locks::acquire), `try_acquire` and `acquire_all` return an `Acquire`.
#[must_use = "a lock is not acquired until this is awaited"]
pub struct Acquire<O, N = Arc<str>, Q = AnyOrder> {
    settings: Settings,
    names: N,
    payload: Option<Arc<[u8]>>,
    order: Q,
    output: PhantomData<fn() -> O>,
}

impl<O, N> Acquire<O, N> {
    pub(super) fn new(settings: Settings, names: N) -> Self {
        Self { settings, names, payload: None, order: AnyOrder, output: PhantomData }
    }

    /// Lets waiting callers acquire the lock in first-come, first-served order. The library stores
    /// the queue of the callers in the row of the lock. For one lock, use `fair` in all requests or
    /// in no request. A caller without `fair` gets the lock only while the queue is empty. A caller
    /// with `fair` enters the queue only while no caller without `fair` has the lock.
    ///
    /// | | cost |
    /// |---|---|
    /// | an acquisition, while the row is smaller than a kilobyte (up to about 25 waiters) | 2 write units with a ttl of 20 seconds; 2.35 write units with a ttl of 2 seconds, because the holder sends more heartbeats |
    /// | each further kilobyte of the lock's row | 2 more write units for each acquisition |
    /// | the wait of the next waiter | a consistent read each quarter of a second, and about 15 further reads at most after each grant; [`Locks::refresh`](crate::Locks::refresh) sets the interval |
    /// | the wait of a waiter behind the next waiter | eventually consistent reads; the more callers are before a waiter, the less often the waiter reads |
    /// | the last caller that leaves the queue | one additional read, which costs half a read unit |
    ///
    /// When the lease of a crashed holder ends, other callers remove the holder's entry from the
    /// queue. Other callers remove the entry of a crashed waiter at most one ttl after the entry
    /// has become the first entry of the queue. The connection to DynamoDB may break while a call
    /// enters or leaves the queue. A background task then removes the call's entry as soon as
    /// DynamoDB answers again. The background task that removes a queue entry stops after ten
    /// minutes without an answer from DynamoDB, or after a ttl if the ttl is longer than ten
    /// minutes. While a client still removes an entry of an earlier call, a new call for the same
    /// lock waits, at most until the deadline of the new call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use std::time::Duration;
    ///
    /// use dynalock::{Error, Wait};
    ///
    /// # async fn print(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// match locks.acquire("printer").fair().wait(Wait::For(Duration::from_secs(60))).await {
    ///     Ok(printer) => printer.release().await,
    ///     Err(Error::Locked(locked)) => Ok(println!("`{}` still prints", locked.owner)),
    ///     Err(error) => Err(error),
    /// }
    /// # }
    /// ```
    pub fn fair(self) -> Acquire<O, N, Fair> {
        let Self { settings, names, payload, output, .. } = self;
        Acquire { settings, names, payload, order: Fair::default(), output }
    }
}

impl<O, N, Q> Acquire<O, N, Q> {
    lease_methods! {
        self, [self.settings], [self.settings.limits, self.settings.limits_of_all], {
            /// ```
            /// # use dynalock_core as dynalock;
            /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
            r#"let lock = locks.acquire("nightly-report")"# ".await?;"
            /// # lock.release().await
            /// # }
            /// ```
        },
        /// By default, the lock has the [ttl of the `Locks` handle](crate::Locks::ttl).
        ttl;
        /// By default, the holder has the [label of the `Locks` handle](crate::Locks::owner).
        owner;
        /// The default rule is the [expiry rule of the `Locks` handle](crate::Locks::expiry).
        expiry;
        /// The default `max_hold` is the [`max_hold` of the `Locks`
        /// handle](crate::Locks::max_hold).
        max_hold;
        /// With [`Heartbeat::Off`](crate::Heartbeat::Off), only [`LockGuard::extend`] renews the
        /// lock. By default, the request has the [`heartbeat` of the `Locks`
        /// handle](crate::Locks::heartbeat).
        heartbeat;
        /// The default intervals between the reads of a waiter are the [intervals of the `Locks`
        /// handle](crate::Locks::refresh).
        refresh;
        /// The default deadline is the [deadline of the `Locks` handle](crate::Locks::deadline).
        deadline;
        /// The default limit is the [limit of attempts of the `Locks`
        /// handle](crate::Locks::attempts).
        attempts;
        /// The default budget is the [budget of the `Locks` handle](crate::Locks::budget).
        budget;
        /// The default timeout is the [`attempt_timeout` of the `Locks`
        /// handle](crate::Locks::attempt_timeout).
        attempt_timeout;
    }

    /// Stores bytes (the payload) in the row of the lock. Other callers read the payload with
    /// [`inspect`](crate::Locks::inspect), and the next holder reads the payload with
    /// [`LockGuard::payload`]. The payload stays in the row of the lock when the lock is released.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").payload("page 7").await?;
    /// # lock.release().await
    /// # }
    /// ```
    pub fn payload(mut self, payload: impl Into<Vec<u8>>) -> Self {
        self.payload = Some(payload.into().into());
        self
    }

    fn table(&self) -> Arc<str> {
        Arc::clone(&self.settings.table)
    }
}

impl<Q> Acquire<LockGuard, Arc<str>, Q> {
    /// Limits the wait for the lock, like [`Locks::wait`](crate::Locks::wait).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// use std::time::Duration;
    ///
    /// let lock = locks.acquire("nightly-report").wait(Duration::from_secs(300)).await?;
    /// # lock.release().await
    /// # }
    /// ```
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.settings.wait = Some(wait.into());
        self
    }
}

impl<Q> Acquire<LockSetGuard, Vec<Arc<str>>, Q> {
    /// Limits the wait for the locks, like [`Locks::wait`](crate::Locks::wait).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// use std::time::Duration;
    ///
    /// let both = locks.acquire_all(["shelf 7", "shelf 9"]).wait(Duration::from_secs(300)).await?;
    /// # both.release().await
    /// # }
    /// ```
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.settings.wait = Some(wait.into());
        self
    }

    async fn acquire_all(mut self) -> Result<LockSetGuard>
    where
        Q: LockOrder,
    {
        let mode = self.mode(watch::Sender::new(None))?;
        // Each lock name must occur once, because DynamoDB refuses a transaction with two actions
        // on one row. The lock names must be sorted, because the guard finds a lock by a binary
        // search.
        self.names.sort_unstable();
        self.names.dedup();
        let locks = match self.names.len() {
            0 => return Err(Error::InvalidSetting(InvalidSetting::NoLocks)),
            // DynamoDB allows 100 actions in a transaction, and each lock needs one action.
            items @ 101.. => return Err(Error::InvalidTransaction(InvalidTransaction::TooManyItems { items })),
            _ => self.settings.specs(&self.names, self.payload.as_ref())?,
        };
        let row_names: Vec<_> = locks.iter().map(|spec| Arc::clone(&spec.row_name)).collect();
        let all = AcquireCall { locks, mode }.acquire().await?;
        Ok(LockSetGuard::new(row_names.into_iter().zip(all).map(|(name, kept)| LockGuard::new(name, kept)).collect()))
    }
}

impl<O, N> Acquire<O, N, Fair> {
    /// Limits the number of entries in the queue of the lock, including the entry of the holder. By
    /// default, a queue has at most 100 entries, and `most` must be at least 1. If the queue is
    /// full, the call fails with [`Error::QueueFull`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let printer = locks.acquire("printer").fair().max_queue(10).await?;
    /// # printer.release().await
    /// # }
    /// ```
    pub fn max_queue(mut self, most: usize) -> Self {
        self.order = Fair { most };
        self
    }
}

impl<O, N, Q: LockOrder> Acquire<O, N, Q> {
    fn mode(&self, progress: watch::Sender<Option<QueueStatus>>) -> Result<AcquireMode> {
        acquire_mode(&self.order, self.settings.wait(), self.settings.limits_of_all, progress)
    }
}

impl<O, Q: LockOrder> Acquire<O, Arc<str>, Q> {
    /// Acquires the lock in a task that starts immediately.
    fn acquire(
        self,
        progress: watch::Sender<Option<QueueStatus>>,
    ) -> Result<impl Future<Output = Result<LockGuard>> + Send + 'static> {
        let mode = self.mode(progress)?;
        let locks = self.settings.specs(slice::from_ref(&self.names), self.payload.as_ref())?;
        let row_name = Arc::clone(&locks[0].row_name);
        let acquired = AcquireCall { locks, mode }.acquire_one();
        Ok(async move { Ok(LockGuard::new(row_name, acquired.await?)) })
    }
}

impl Acquire<LockGuard, Arc<str>, Fair> {
    /// Enters the queue of the lock, and returns a ticket. The ticket reports the progress of the
    /// wait, and returns the lock at the end of the wait.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let ticket = locks.acquire("printer").fair().enter().await?;
    /// println!("{} before me", ticket.position());
    /// let printer = ticket.await?;
    /// # printer.release().await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::QueueFull`]: the queue has the maximum number of entries.
    /// - [`Error::Locked`]: a caller that did not set `fair` held the lock until the wait was over.
    /// - The [errors of every call](crate::Locks#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `enter` at any time. If the caller drops the future of
    /// `enter`, a task on the caller's runtime removes the caller's entry from the queue.
    pub async fn enter(self) -> Result<QueueTicket<LockGuard>> {
        observe("enter", self.table(), QueueTicket::enter(|progress| self.acquire(progress))).await
    }
}

impl<Q: LockOrder> IntoFuture for Acquire<LockGuard, Arc<str>, Q> {
    type Output = Result<LockGuard>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("acquire", self.table(), async move { self.acquire(watch::Sender::new(None))?.await })
    }
}

impl<Q: LockOrder> IntoFuture for Acquire<LockSetGuard, Vec<Arc<str>>, Q> {
    type Output = Result<LockSetGuard>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("acquire_all", self.table(), self.acquire_all())
    }
}

impl<Q: LockOrder> IntoFuture for Acquire<Option<LockGuard>, Arc<str>, Q> {
    type Output = Result<Option<LockGuard>>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("try_acquire", self.table(), async move {
            Error::none_if_locked(self.acquire(watch::Sender::new(None))?.await)
        })
    }
}

debug_fields!([O, N: fmt::Debug, Q: fmt::Debug] Acquire<O, N, Q>, self => {
    names: self.names,
    options: self.settings.options,
    order: self.order,
});

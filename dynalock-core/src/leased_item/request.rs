use std::{future::IntoFuture, marker::PhantomData, sync::Arc};

use tokio::sync::watch;

use super::guard::LeaseGuard;
use crate::{
    clock::ClockAhead,
    codec::decode_stored,
    error::{Error, InvalidSetting, Lost, Result},
    key::Key,
    lease::{
        AnyOne, AnyOrder, Fair, LeaseOptions, LockOrder, LockToken, QueueStatus, QueueTicket, Wait,
        acquire::{
            call::{AcquireCall, AcquireMode},
            spec::AcquireSpec,
        },
        grant::Grant,
        held_grant::{Background, HeldGrant, KeptGrant},
        lease_methods,
        order::acquire_mode,
        row::{LeaseSubject, Row},
    },
    model::{IntoKey, LockPlace, Lockable},
    repository::Repository,
    retry::{Attempts, CallCost, Limits},
    telemetry::{BoxedCall, observe},
    write::key::{checked_key, lease_row_key},
};

/// An unsent request for the lease of an item. A caller may change the settings of the lease
/// request. `.await` sends the request.
///
/// The type parameter `O` is the output type of the request, and `Q` selects the order in which
/// waiting callers get the lease. [`Repository::lock`], `try_lock` and `lock_any` return a
/// `LeaseRequest`.
#[must_use = "a lease is not acquired until this is awaited"]
pub struct LeaseRequest<T, O = LeaseGuard<T>, Q = AnyOrder> {
    repository: Repository<T>,
    /// The keys from which the call chooses the item to lease.
    keys: Vec<Key>,
    options: LeaseOptions,
    wait: Option<Wait>,
    owner: Arc<str>,
    limits: Limits,
    order: Q,
    output: PhantomData<fn() -> O>,
}

impl<T: Lockable> Repository<T> {
    lease_methods! {
        self, [self], [self], {
            /// ```
            /// # use dynalock_core as dynalock;
            /// # fn example<T: dynalock::Lockable>(payouts: dynalock::Repository<T>) {
            "let payouts = payouts" ";"
            /// # }
            /// ```
        },
        /// The rule for the expiry of leases applies to all writes and lease requests of the
        /// repository.
        expiry;
        /// `max_hold` applies to the leases that the repository acquires or
        /// [resumes](Repository::resume). By default, heartbeats renew a lease until the holder
        /// releases the lease.
        max_hold;
        /// The setting `heartbeat` applies to the leases that the repository acquires or
        /// [resumes](Repository::resume). By default, a task on the caller's runtime sends the
        /// heartbeats.
        heartbeat;
    }
}

impl<T> Repository<T> {
    /// Acquires the lease of an item, and waits while another caller holds the lease. While the
    /// lease lasts, writes of other callers fail with [`Error::Locked`], unless the writes ignore
    /// leases.
    ///
    /// The returned guard contains the value of the item. If the lease is free, the call sends one
    /// request, or two requests if the type has [`separate`](Lockable) leases.
    ///
    /// By default, the lease is stored in the item, so a delete of the item also deletes the lease.
    /// Time to live, [`delete_unchecked`](Repository::delete_unchecked) or a program that does not
    /// use dynalock may delete a leased item. After the delete of a leased item, another caller may
    /// create and lease a new item with the same key. After the delete, DynamoDB refuses every
    /// write by the holder of the old lease. The holder notices the loss of its lease only when its
    /// next heartbeat or write fails. With `#[lockable(separate)]`, the lease is in a separate row,
    /// so a delete of the item does not change the lease.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self); }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let mut payout = payouts.lock(key).await?;
    /// payout.update(|payout| payout.pay()).await?;
    /// payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::NotFound`]: the key has no item.
    /// - [`Error::Locked`]: another caller held the lease until the end of the wait.
    /// - [`Error::Decode`], [`Error::Corrupt`]: the item cannot be decoded into a `T`.
    /// - [`Error::Unavailable`]: the thread of [`Heartbeat::Thread`](crate::Heartbeat::Thread)
    ///   could not be started, so the call sent no request.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `lock` at any time. If DynamoDB grants the lease to a
    /// dropped call, a task on the caller's runtime releases the lease. If the caller's runtime has
    /// ended, no task releases the lease of a dropped call, and the lease expires after its ttl.
    pub fn lock(&self, key: impl IntoKey<T>) -> LeaseRequest<T>
    where
        T: Lockable,
    {
        LeaseRequest::new(self, vec![key.into_key()], AnyOrder)
    }

    /// Attempts once to acquire the lease of an item, without waiting. Returns `None` if another
    /// caller holds the lease.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example<T: dynalock::Lockable>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// match payouts.try_lock(key).await? {
    ///     Some(payout) => drop(payout.release().await?),
    ///     None => println!("another worker has it"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`lock`](Self::lock) are possible, except [`Error::Locked`].
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `try_lock` at any time, as for [`lock`](Self::lock).
    pub fn try_lock(&self, key: impl IntoKey<T>) -> LeaseRequest<T, Option<LeaseGuard<T>>>
    where
        T: Lockable,
    {
        LeaseRequest { wait: Some(Wait::No), ..LeaseRequest::new(self, vec![key.into_key()], AnyOrder) }
    }

    /// Acquires the lease of one of several items: the first free item in the order of the keys.
    /// While other callers hold the leases of all given items, the call waits. A waiting `lock_any`
    /// repeatedly reads the items by eventually consistent reads.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example<T: dynalock::Lockable>(seats: &dynalock::Repository<T>, keys: Vec<T::Key>) -> dynalock::Result<()> {
    /// let seat = seats.lock_any(keys).await?;
    /// seat.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::NotFound`]: none of the keys has an item.
    /// - [`Error::InvalidSetting`]: the list of keys is empty.
    /// - The errors of [`lock`](Self::lock) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `lock_any` at any time, as for [`lock`](Self::lock).
    pub fn lock_any<K: IntoKey<T>>(&self, keys: impl IntoIterator<Item = K>) -> LeaseRequest<T, LeaseGuard<T>, AnyOne>
    where
        T: Lockable,
    {
        LeaseRequest::new(self, keys.into_iter().map(IntoKey::into_key).collect(), AnyOne)
    }

    /// Resumes a lease that was [detached](LeaseGuard::detach). `resume` reads the item, and renews
    /// the lease by one heartbeat. `resume` succeeds even if the lease has expired, unless another
    /// caller has acquired or removed the lease. A `LockToken` contains the ttl of the lease. The
    /// repository sets the [`heartbeat`](Self::heartbeat) and the [`max_hold`](Self::max_hold) of
    /// the resumed lease.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example<T: dynalock::Lockable>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let token = payouts.lock(key).await?.detach();
    /// // Another task or process resumes the lease.
    /// let payout = payouts.resume(token).await?;
    /// payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`]: another caller has acquired or removed the lease, the lease was released,
    ///   or the item was deleted.
    /// - [`Error::InvalidKey`]: the token comes from a named lock, not from the lease of an item.
    /// - [`Error::Unavailable`]: the thread of [`Heartbeat::Thread`](crate::Heartbeat::Thread)
    ///   could not be started.
    /// - [`Error::Decode`], [`Error::Corrupt`]: the item cannot be decoded into a `T`.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `resume` at any time. A dropped `resume` does not release
    /// the lease, so a program can resume the lease with the same token while the lease lasts.
    pub async fn resume(&self, token: LockToken) -> Result<LeaseGuard<T>>
    where
        T: Lockable,
    {
        let Self { table, connection, options, limits, .. } = self;
        let resume = async {
            let key = token.item_key().ok_or_else(|| Error::InvalidKey {
                table: Arc::clone(table),
                attribute: T::MODEL.partition_key.name,
                reason: "the token is that of a lock by name; resume it with `Locks::resume`",
            })?;
            let background = Background::start(options.heartbeat, connection)?;
            let grant = Grant::resumed(connection, limits.deadline, self.lease_row(&key)?, *options, token);
            let item = Attempts::new(connection, *limits).read(&grant.row.get_item()).await?;
            let item = item.ok_or(Error::Lost(Lost::Deleted))?;
            // `resume` decodes the item before it sends the heartbeat, because a decode error after
            // the heartbeat would leave a renewed lease without a guard.
            let stored = decode_stored(table, item.clone())?;
            grant.beat().await?;
            // `resume` makes the guard only after all steps that can fail, because a drop of the
            // guard would release the lease.
            Ok(LeaseGuard::new(self.clone(), HeldGrant::new(grant, background), stored, item))
        };
        observe("resume", Arc::clone(table), resume).await
    }

    fn lease_row(&self, key: &Key) -> Result<Row>
    where
        T: Lockable,
    {
        let layout = const { T::MODEL.lock.expect("`Lockable` is implemented by `#[lockable]` alone") };
        let (table, item) = (Arc::clone(&self.table), checked_key(T::MODEL, &self.table, key)?);
        Ok(match layout.place {
            LockPlace::Item => {
                let subject = LeaseSubject::Item { key_attribute: T::MODEL.partition_key.name };
                Row { table, key: item, layout, subject }
            }
            LockPlace::Separate => {
                let key = lease_row_key(T::MODEL, &self.table, key)?;
                Row { table, key, layout, subject: LeaseSubject::SeparateItem(item) }
            }
        })
    }
}

impl<T, O, Q> LeaseRequest<T, O, Q> {
    fn new(repository: &Repository<T>, keys: Vec<Key>, order: Q) -> Self {
        let (options, limits) = (repository.options, repository.limits);
        let (repository, owner) = (repository.clone(), "".into());
        Self { repository, keys, options, wait: None, owner, limits, order, output: PhantomData }
    }

    lease_methods! {
        self, [self], [self.limits], {
            /// ```
            /// # use dynalock_core as dynalock;
            /// # async fn example<T: dynalock::Lockable>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
            "let payout = payouts.lock(key)" ".await?;"
            /// # payout.release().await?;
            /// # Ok(())
            /// # }
            /// ```
        },
        /// By default, the attribute `#[lockable]` of the struct sets the ttl.
        ttl;
        /// By default, a holder has no label.
        owner;
        /// The default rule is the [expiry rule of the repository](Repository::expiry).
        expiry;
        /// The default is the [`max_hold`](Repository::max_hold) of the repository.
        max_hold;
        /// With [`Heartbeat::Off`](crate::Heartbeat::Off), only the writes of the guard and
        /// [`LeaseGuard::extend`] renew the lease. The default is the
        /// [`heartbeat`](Repository::heartbeat) of the repository.
        heartbeat;
        /// [`Locks::refresh`](crate::Locks::refresh) describes the default intervals between two
        /// reads by a waiter. A read by a waiter costs more for a large item than for a small item,
        /// unless the type has [`separate`](Lockable) leases.
        refresh;
        /// The default deadline is the deadline of the repository.
        deadline;
        /// The default limit is the repository's limit of attempts.
        attempts;
        /// The default capacity budget is the budget of the repository.
        budget;
        /// The default timeout is the `attempt_timeout` of the repository.
        attempt_timeout;
    }

    fn wait_or_default(&self) -> Wait {
        self.wait.unwrap_or_else(|| self.options.default_wait())
    }
}

impl<T, Q> LeaseRequest<T, LeaseGuard<T>, Q> {
    /// Limits the wait for a lease that another caller holds. By default, the call waits for the
    /// allowed clock skew plus twice the ttl. This time is long enough to take over the lease of a
    /// crashed holder.
    ///
    /// When the wait reaches the limit, the call ends, even if DynamoDB does not answer. With
    /// [`Wait::No`] or a wait of zero, the call tries to acquire the lease once, and the
    /// [deadline](Self::deadline) limits the call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example<T: dynalock::Lockable>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).wait(dynalock::Wait::Forever).await?;
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.wait = Some(wait.into());
        self
    }
}

impl<T, O> LeaseRequest<T, O> {
    /// Lets waiting callers acquire the lease in first-come, first-served order. A caller with
    /// `fair` enters the queue of the item, as [`Acquire::fair`](crate::lock::Acquire::fair)
    /// describes. While the queue is not empty, only the first caller in the queue and callers that
    /// ignore leases can write the item.
    ///
    /// By default, the item itself stores the queue, so each request that changes the queue costs
    /// more for a large item than for a small item. With `#[lockable(separate)]`, the separate
    /// lease row of the item stores the queue. After a [`commit`](LeaseGuard::commit) by the last
    /// caller in the queue, a background task removes the empty queue by a read and a write.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example<T: dynalock::Lockable>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).fair().await?;
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn fair(self) -> LeaseRequest<T, O, Fair> {
        let Self { repository, keys, options, wait, owner, limits, output, .. } = self;
        LeaseRequest { repository, keys, options, wait, owner, limits, order: Fair::default(), output }
    }
}

impl<T: Lockable, O> LeaseRequest<T, O, Fair> {
    /// Limits the number of entries in the queue of the item, including the entry of the holder.
    /// The default limit of `max_queue` is 100 queue entries, and the minimum is 1 queue entry. If
    /// the queue is full, the call fails with [`Error::QueueFull`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example<T: dynalock::Lockable>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).fair().max_queue(10).await?;
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn max_queue(mut self, most: usize) -> Self {
        self.order = Fair { most };
        self
    }
}

impl<T: Lockable> LeaseRequest<T, LeaseGuard<T>, Fair> {
    /// Enters the queue of the item, and returns a ticket. The ticket reports the progress of the
    /// wait, and returns the lease at the end of the wait.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example<T: dynalock::Lockable>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let ticket = payouts.lock(key).fair().enter().await?;
    /// println!("{} before me", ticket.position());
    /// let payout = ticket.await?;
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::NotFound`]: the key has no item.
    /// - [`Error::QueueFull`]: the queue has the maximum number of entries.
    /// - [`Error::Locked`]: a caller without `fair` held the lease until the end of the wait.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `enter`, a task on the caller's runtime removes the
    /// caller's entry from the queue.
    pub async fn enter(self) -> Result<QueueTicket<LeaseGuard<T>>> {
        observe("enter", self.table(), QueueTicket::enter(|progress| self.acquire_one(progress))).await
    }
}

impl<T: Lockable, O, Q> LeaseRequest<T, O, Q> {
    fn table(&self) -> Arc<str> {
        Arc::clone(&self.repository.table)
    }

    fn specs(&self) -> Result<Vec<AcquireSpec>> {
        let Self { repository, options, owner, limits, .. } = self;
        options.check()?;
        let background = Background::start(options.heartbeat, &repository.connection)?;
        let call_cost = CallCost::begin_call(repository.connection.meter.as_ref(), limits.budget);
        let spec = |key: &Key| {
            Ok(AcquireSpec {
                connection: Arc::clone(&repository.connection),
                row: repository.lease_row(key)?,
                row_name: T::MODEL.shown_key(key).unwrap_or_default(),
                options: *options,
                wait: self.wait_or_default(),
                owner_label: Arc::clone(owner),
                payload: None,
                limits: *limits,
                call_cost: call_cost.clone(),
                background: background.clone(),
            })
        };
        self.keys.iter().map(spec).collect()
    }

    /// Acquires the lease of the first free item, in a task that starts immediately.
    fn acquire(self, mode: AcquireMode) -> Result<impl Future<Output = Result<LeaseGuard<T>>> + Send + 'static> {
        if self.keys.is_empty() {
            return Err(Error::InvalidSetting(InvalidSetting::NoLocks));
        }
        let locks = self.specs()?;
        let acquired = AcquireCall { locks, mode }.acquire_one();
        Ok(async move {
            let KeptGrant { guard, row } = acquired.await?;
            // The call that acquired the lease has received the item, so `row` is `Some`.
            let item = row.unwrap_or_default();
            let stored = decode_stored(&self.repository.table, item.clone())?;
            Ok(LeaseGuard::new(self.repository, guard, stored, item))
        })
    }
}

impl<T: Lockable, O, Q: LockOrder> LeaseRequest<T, O, Q> {
    fn acquire_one(
        self,
        progress: watch::Sender<Option<QueueStatus>>,
    ) -> Result<impl Future<Output = Result<LeaseGuard<T>>> + Send + 'static> {
        let mode = acquire_mode(&self.order, self.wait_or_default(), self.limits, progress)?;
        self.acquire(mode)
    }
}

impl<T: Lockable, Q: LockOrder> IntoFuture for LeaseRequest<T, LeaseGuard<T>, Q> {
    type Output = Result<LeaseGuard<T>>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("lock", self.table(), async move { self.acquire_one(watch::Sender::new(None))?.await })
    }
}

impl<T: Lockable> IntoFuture for LeaseRequest<T, LeaseGuard<T>, AnyOne> {
    type Output = Result<LeaseGuard<T>>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("lock_any", self.table(), async move { self.acquire(AcquireMode::Any)?.await })
    }
}

impl<T: Lockable, Q: LockOrder> IntoFuture for LeaseRequest<T, Option<LeaseGuard<T>>, Q> {
    type Output = Result<Option<LeaseGuard<T>>>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("try_lock", self.table(), async move {
            Error::none_if_locked(self.acquire_one(watch::Sender::new(None))?.await)
        })
    }
}

debug_fields!([T, O, Q] LeaseRequest<T, O, Q>, self => { repository: self.repository, options: self.options });

impl<T> ClockAhead for Repository<T> {
    fn clock_ahead_by_millis(mut self, millis: i64) -> Self {
        self.options.skew_millis = millis;
        self
    }
}

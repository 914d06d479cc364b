use std::sync::Arc;

use aws_sdk_dynamodb::Client;

use super::{
    guard::LockGuard,
    guard_set::LockSetGuard,
    request::Acquire,
    settings::{MODEL, Settings, lock_name},
    table::CreateLockTable,
};
use crate::{
    clock::ClockAhead,
    cost::Meter,
    error::{Error, Result},
    lease::{
        LeaseOptions, LockToken, Wait,
        grant::Grant,
        held_grant::{Background, HeldGrant, KeptGrant},
        lease_methods,
    },
    retry::{Connection, ConnectionMeter, Limits},
    tables::{self, TableReport},
    telemetry::observe,
};

/// A handle for the named locks in a DynamoDB table that contains only locks. A clone of `Locks` is
/// cheap, because all clones share one SDK client.
///
/// A lock is a lease: the lock ends after its ttl unless the holder renews the lock. A background
/// task renews the lease while the lock is held. If the holder crashes, the lease expires. The
/// module [`lock::protocol`](crate::lock::protocol) specifies the protocol of the locks, and the
/// assumptions and limits of this protocol.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// use std::time::Duration;
///
/// use dynalock::Locks;
///
/// # async fn report(client: &aws_sdk_dynamodb::Client) -> dynalock::Result<()> {
/// let locks = Locks::new(client, "locks");
/// let lock = locks.acquire("nightly-report").ttl(Duration::from_secs(30)).await?;
/// lock.run(async { /* dropped before another caller can acquire the lock */ }).await?;
/// lock.release().await?;
///
/// if let Some(lock) = locks.try_acquire("nightly-report").await? {
///     lock.release().await?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors of every call
///
/// | error | cause |
/// |---|---|
/// | [`Error::InvalidKey`] | The name or the namespace is empty, or contains U+001F. |
/// | [`Error::InvalidSetting`] | A setting has an invalid value, for example a ttl of zero. |
/// | [`Error::Misconfigured`] | The client has no credentials, Region or valid endpoint. |
/// | [`Error::TableNotFound`] | The table does not exist in the account and Region of the client. |
/// | [`Error::TableMismatch`] | The key of the table is not the string attribute `name`. |
/// | [`Error::Rejected`] | DynamoDB refused the request, and would refuse the same request again. |
/// | [`Error::Exhausted`] | The call reached the deadline or the maximum number of attempts, or the retry budget was empty. |
/// | [`Error::BudgetExceeded`] | The next request would exceed the [`budget`](Self::budget) of the call. |
#[derive(Clone)]
pub struct Locks {
    pub(crate) settings: Settings,
}

impl Locks {
    /// Makes a handle for the locks of a table. Each call of `new` makes a new SDK client, so a
    /// program should make one `Locks` handle, and clone the handle where needed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(client: &aws_sdk_dynamodb::Client) {
    /// let locks = dynalock::Locks::new(client, "locks");
    /// # }
    /// ```
    pub fn new(client: &Client, table: impl Into<Arc<str>>) -> Self {
        Self {
            settings: Settings {
                connection: Arc::new(Connection::over(client)),
                table: table.into(),
                namespace: None,
                options: LeaseOptions::default(),
                wait: None,
                owner: "".into(),
                limits: Limits::default(),
                limits_of_all: Limits::of_transaction(),
            },
        }
    }

    /// Returns the name of the table of the locks.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(client: &aws_sdk_dynamodb::Client) {
    /// let locks = dynalock::Locks::new(client, "locks");
    /// println!("locks in the table {}", locks.table_name());
    /// # }
    /// ```
    pub fn table_name(&self) -> &str {
        &self.settings.table
    }

    /// Selects the namespace of the handle's locks. Two locks in different namespaces are
    /// independent, even if they have the same name.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn copy(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let scanner = locks.clone().namespace("scanner").acquire("office 4").fair().await?;
    /// let printer = locks.clone().namespace("printer").acquire("office 4").fair().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn namespace(mut self, namespace: impl Into<Arc<str>>) -> Self {
        self.settings.namespace = Some(namespace.into());
        self
    }

    lease_methods! {
        self, [self.settings], [self.settings.limits, self.settings.limits_of_all], {
            /// ```
            /// # use dynalock_core as dynalock;
            /// # fn example(locks: dynalock::Locks) {
            "let locks = locks" ";"
            /// # }
            /// ```
        },
        /// The default ttl is 20 seconds.
        ttl;
        /// The default expiry rule is [`Expiry::Clock`](crate::Expiry::Clock) with an allowed clock
        /// skew of 2 seconds.
        expiry;
        /// By default, a holder has no label.
        owner;
        /// By default, heartbeats renew a lock without a time limit.
        max_hold;
        /// By default, a task on the caller's runtime sends the heartbeats.
        heartbeat;
        /// The library multiplies the longest interval between two reads, and each pause after the
        /// expected release of the lock, by a random factor between 0.5 and 1.5.
        ///
        /// By default, a waiter reads often if holders keep the lock for a short time, and rarely
        /// if holders keep the lock for a long time:
        ///
        /// | waiter | shortest interval | longest interval |
        /// |---|---|---|
        /// | a waiter without [`fair`](crate::lock::Acquire::fair) | one round trip | a twentieth of the ttl, at most a second |
        /// | the next waiter of a queue | one round trip | a fortieth of the ttl, at most a quarter of a second |
        /// | a waiter behind `n` entries of a queue | one round trip | `n` times the longest interval of the next waiter, at most a sixth of the ttl |
        ///
        /// The next waiter of a queue expects the release when the holder has had the lock for 0.8
        /// times the mean hold (the average hold time of earlier holders). A waiter without `fair`
        /// expects the release when the holder has had the lock for 0.7 times the mean hold. The
        /// pause of a waiter between two reads depends on the time at which the waiter expects the
        /// release:
        ///
        /// | waiter | pause before the expected release | pause after the expected release |
        /// |---|---|---|
        /// | a waiter without `fair` | the time until the expected release, plus a random time (at most the longer of half of the mean hold and five round trips) | twice the time since the expected release |
        /// | the next waiter of a queue | the time until the expected release | a third of the time since the expected release |
        ///
        /// If several calls of one process wait for the same lock, one of the calls reads the row
        /// of the lock for all of the calls. If the holder is in the same process as the waiters, a
        /// release of the lock wakes the next waiter. The waiters then read the row of the lock
        /// less often.
        ///
        /// If the row of the lock is smaller than 4 KB, an eventually consistent read by a waiter
        /// costs half a read unit. Reads by the waiter at the front of a queue are strongly
        /// consistent, and cost one read unit each. With 250 milliseconds between two reads, the
        /// waiter at the front of a queue consumes about 4 read units a second. Each other waiter
        /// consumes about 2 read units a second. The longer the interval between two reads, the
        /// later a waiter notices the release of the lock. The time at which the lease of a crashed
        /// holder ends does not depend on the intervals between the reads of the waiters.
        refresh;
        /// If DynamoDB does not answer a request, the call ends at the deadline of the request. The
        /// default deadline of a request is 5 seconds. The transaction that acquires several locks
        /// has a default deadline of 10 seconds.
        deadline;
        attempts;
        budget;
        /// The default timeout of the first attempt is 1 second.
        attempt_timeout;
    }

    /// Limits the wait for a lock that another caller holds. The default limit of the wait is the
    /// allowed clock skew plus twice the ttl. The default wait is long enough to take over the lock
    /// of a crashed holder.
    ///
    /// When the wait reaches the limit, the acquire call ends, even if DynamoDB does not answer.
    /// With [`Wait::No`] or a wait of zero, an acquire call tries to acquire the lock once, and the
    /// [deadline](Self::deadline) limits the call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(locks: dynalock::Locks) {
    /// use std::time::Duration;
    ///
    /// let patient = locks.clone().wait(Duration::from_secs(300));
    /// let endless = locks.wait(dynalock::Wait::Forever);
    /// # }
    /// ```
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.settings.wait = Some(wait.into());
        self
    }

    /// Measures the consumed capacity of each request. The [`meter`](Self::meter) adds up the
    /// consumed capacity of all calls, heartbeats and releases, for each
    /// [cause](crate::cost#causes). For a failed call, [`Error::cost`] returns the capacity that
    /// the call has consumed.
    ///
    /// Call `metered` before the first clone of the `Locks` handle, because earlier clones stay
    /// unmetered. All clones of a metered `Locks` share one meter.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(client: &aws_sdk_dynamodb::Client) -> dynalock::Result<()> {
    /// let locks = dynalock::Locks::new(client, "locks").metered();
    /// locks.acquire("nightly-report").await?.release().await?;
    /// if let Some(meter) = locks.meter() {
    ///     println!("{}", meter.total());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn metered(mut self) -> Self {
        let meter = ConnectionMeter { meter: Meter::default(), key_text: lock_name };
        self.settings.connection = Arc::new(self.settings.connection.with_meter(meter));
        self
    }

    /// Returns the meter that adds up the consumed capacity of all calls, or `None` if the `Locks`
    /// handle is not [`metered`](Self::metered). The keys in the report of the meter are the names
    /// of the locks.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn example(locks: &dynalock_core::Locks) {
    /// for hot in locks.meter().iter().flat_map(|meter| meter.report().keys).take(10) {
    ///     println!("{}: {}", hot.key, hot.cost);
    /// }
    /// # }
    /// ```
    pub fn meter(&self) -> Option<Meter> {
        self.settings.connection.meter.as_ref().map(|by| by.meter.clone())
    }

    /// Creates the lock table, and waits at most a minute until the table is active. The billing is
    /// on-demand, unless [`provisioned`](CreateLockTable::provisioned) is set. If the table already
    /// exists, and its key is the string attribute `name`, `create_table` succeeds and changes
    /// nothing. Time to live stays off for the new table, so that DynamoDB never deletes a row that
    /// stores a fence.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// locks.create_table().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The [errors of every call](Locks#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `create_table`, the table may or may not have been
    /// created. A second call of `create_table` succeeds even if the first call has created the
    /// table.
    pub fn create_table(&self) -> CreateLockTable {
        CreateLockTable::new(self.settings.clone())
    }

    /// Verifies that the table can store locks: the table key must be the string attribute `name`,
    /// and time to live must not use an attribute of the lease. The call changes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let report = locks.verify_table().await?;
    /// assert!(report.differences().is_empty(), "{report}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The [errors of every call](Locks#errors-of-every-call) are possible. If the table is
    /// missing, the error is [`Error::TableNotFound`]. If the table does not meet the requirements
    /// of a lock table, `verify_table` returns a `TableReport` with the differences, not an error.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `verify_table` at any time: a read changes nothing.
    pub async fn verify_table(&self) -> Result<TableReport> {
        let Settings { connection, table, limits, .. } = &self.settings;
        observe("verify_table", Arc::clone(table), tables::verify(connection, table, &MODEL, *limits)).await
    }

    /// Acquires a lock, and waits while another caller holds the lock.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").await?;
    /// lock.release().await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Locked`]: another caller held the lock until the wait was over.
    /// - [`Error::Lost`]: the reply to the acquire request was lost, and DynamoDB answered no
    ///   heartbeat before the lease ended.
    /// - [`Error::Unavailable`]: the thread of [`Heartbeat::Thread`](crate::Heartbeat::Thread)
    ///   could not be started, so the call sent no request.
    /// - The [errors of every call](Locks#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `acquire` at any time. If DynamoDB grants the lock to a
    /// dropped call, a task on the caller's runtime releases the lock. If the runtime ends before
    /// the release, a lock that DynamoDB granted to the dropped call expires after its ttl.
    pub fn acquire(&self, name: impl Into<Arc<str>>) -> Acquire<LockGuard> {
        Acquire::new(self.settings.clone(), name.into())
    }

    /// Attempts once to acquire a lock, without waiting. Returns `None` if another caller holds the
    /// lock.
    ///
    /// With [`Expiry::Observed`](crate::Expiry::Observed), `try_acquire` cannot take over the lease
    /// of a crashed holder, because `try_acquire` does not observe the lease for a whole ttl.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// match locks.try_acquire("nightly-report").await? {
    ///     Some(lock) => lock.release().await?,
    ///     None => println!("another worker makes the report"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors are the same as for [`acquire`](Self::acquire), except [`Error::Locked`].
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `try_acquire` at any time, as for
    /// [`acquire`](Self::acquire).
    pub fn try_acquire(&self, name: impl Into<Arc<str>>) -> Acquire<Option<LockGuard>> {
        Acquire::new(Settings { wait: Some(Wait::No), ..self.settings.clone() }, name.into())
    }

    /// Acquires several locks by one transaction: either all of the locks or none. A call of
    /// `acquire_all` can name up to 100 locks.
    ///
    /// Without [`fair`](crate::lock::Acquire::fair), the call holds none of the locks while it
    /// waits, so calls for the same locks cannot deadlock. A call without `fair` waits until all
    /// its locks are free at the same moment. While a call without `fair` waits, other callers may
    /// acquire some of the locks.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn move_goods(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let both = locks.acquire_all(["shelf 7", "shelf 9"]).await?;
    /// both.run(async { /* .. */ }).await?;
    /// both.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Locked`]: another caller held one of the locks until the wait was over.
    /// - [`Error::InvalidSetting`]: the list of locks is empty.
    /// - [`Error::InvalidTransaction`]: the list has more than 100 locks.
    /// - The errors of [`acquire`](Self::acquire) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `acquire_all` at any time, as for
    /// [`acquire`](Self::acquire).
    pub fn acquire_all<N: Into<Arc<str>>>(
        &self,
        names: impl IntoIterator<Item = N>,
    ) -> Acquire<LockSetGuard, Vec<Arc<str>>> {
        Acquire::new(self.settings.clone(), names.into_iter().map(Into::into).collect())
    }

    /// Resumes a lock that was [detached](LockGuard::detach). `resume` renews the lease by one
    /// heartbeat. `resume` succeeds even if the lease has ended, unless another caller has acquired
    /// the lock or removed the lease.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let token = locks.acquire("nightly-report").await?.detach();
    /// // Another task or process resumes the lock.
    /// let lock = locks.resume(token).await?;
    /// lock.release().await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`]: another caller has acquired the lock or removed the lease, the lock was
    ///   released, or DynamoDB answered no heartbeat for a whole ttl.
    /// - [`Error::InvalidKey`]: the token comes from the lease of an item, not from a named lock.
    /// - [`Error::Unavailable`]: the thread of [`Heartbeat::Thread`](crate::Heartbeat::Thread)
    ///   could not be started.
    /// - The [errors of every call](Locks#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `resume` at any time. A dropped call does not release the
    /// lock, so a program can call `resume` with the same token again while the lease lasts.
    pub async fn resume(&self, token: LockToken) -> Result<LockGuard> {
        let Settings { connection, table, options, limits, .. } = &self.settings;
        let resume = async {
            // The token of an item lease contains the key of the item, and not the name of a lock.
            if token.is_of_item() {
                return Err(Error::InvalidKey {
                    table: Arc::clone(table),
                    attribute: MODEL.partition_key.name,
                    reason: "the token is that of a lease on an item; resume it with `Repository::resume`",
                });
            }
            let name = Arc::clone(&token.name);
            // `resume` starts the heartbeat thread first, because a failed start after the renewal
            // would leave a renewed lease without a guard.
            let background = Background::start(options.heartbeat, connection)?;
            let grant = Grant::resumed(connection, limits.deadline, self.settings.row_named(&name), *options, token);
            grant.beat().await?;
            Ok(LockGuard::new(name, KeptGrant { guard: HeldGrant::new(grant, background), row: None }))
        };
        observe("resume", Arc::clone(table), resume).await
    }
}

impl ClockAhead for Locks {
    fn clock_ahead_by_millis(mut self, millis: i64) -> Self {
        self.settings.options.skew_millis = millis;
        self
    }
}

debug_fields!(Locks, self => { table: self.settings.table, options: self.settings.options });

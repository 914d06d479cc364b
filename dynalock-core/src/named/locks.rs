use std::{fmt, sync::Arc, time::Duration};

use aws_sdk_dynamodb::{Client, types::AttributeValue};

use super::{guard::LockGuard, guard_set::LockSetGuard, request::Acquire};
use crate::{
    error::{Error, Result},
    key::KeyType,
    lease::{
        grant::Grant,
        held_grant::{Background, HeldGrant, KeptGrant},
        name::row_name,
        options::{Expiry, Heartbeat, LeaseOptions, Wait},
        row::{LeaseSubject, Row},
        token::LockToken,
    },
    model::{KeyModel, LockModel, Model},
    retry::{Connection, Limits},
    tables,
};

/// The rows of locks.
pub(super) static MODEL: Model = Model {
    table: "locks",
    partition_key: KeyModel { name: "name", key_type: KeyType::S },
    sort_key: None,
    version: "_version",
    version_is_field: false,
    write_ids: 4,
    attributes: &[],
    show_key: true,
    aliases: &[],
    flattens: false,
    lock: Some(LockModel::DEFAULT),
};

/// Locks by name, in a table of their own. Cheap to clone.
///
/// A lock is a lease: it is renewed in the background while it is held, and ends by itself when its holder dies. The module
/// [`lock`](crate::lock) says how it works, what it assumes and what it does not guarantee.
///
/// ```
/// # use dynalock_core as dynalock;
/// use std::time::Duration;
///
/// use dynalock::Locks;
///
/// # async fn report(client: &aws_sdk_dynamodb::Client) -> dynalock::Result<()> {
/// let locks = Locks::new(client, "locks");
/// let held = locks.acquire("nightly-report").ttl(Duration::from_secs(30)).await?;
/// held.run(async { /* cancelled before anybody else may enter */ }).await?;
/// held.release().await?;
///
/// if let Some(held) = locks.try_acquire("nightly-report").await? {
///     held.release().await?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Locks {
    pub(super) connection: Arc<Connection>,
    pub(super) table: Arc<str>,
    namespace: Option<Arc<str>>,
    pub(crate) options: LeaseOptions,
    pub(super) wait: Wait,
    pub(super) owner: Arc<str>,
    pub(super) limits: Limits,
    /// Those of a request for several locks, which is a transaction.
    pub(super) limits_of_all: Limits,
}

impl Locks {
    /// The locks of a table. Making one costs as much as a few requests on a local network: make it once and clone it.
    pub fn new(client: &Client, table: impl Into<Arc<str>>) -> Self {
        Self {
            connection: Arc::new(Connection::over(client)),
            table: table.into(),
            namespace: None,
            options: LeaseOptions::default(),
            wait: Wait::default(),
            owner: "".into(),
            limits: Limits::default(),
            limits_of_all: Limits::of_transaction(),
        }
    }

    /// The locks of a namespace: those of other namespaces, and of none, are others, whatever their names. One thing can have several queues
    /// so, each independent of the others.
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
        self.namespace = Some(namespace.into());
        self
    }

    /// How long a lock lasts without a heartbeat: 20 seconds by default, and between a millisecond and a year of 366 days. It is renewed every third of
    /// that. An acquire with another ttl is [`Error::InvalidSetting`].
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// Limits the wait for a lock that another caller holds. The default is no limit. The call ends at this limit even
    /// if DynamoDB does not answer. With [`Wait::No`] or a wait of zero, the call tries once, and the
    /// [deadline](Self::deadline) limits it.
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.wait = wait.into();
        self
    }

    /// When a lock whose holder does not renew it may be taken over.
    pub fn expiry(mut self, expiry: Expiry) -> Self {
        self.options.expiry = expiry;
        self
    }

    /// The name under which others see the holder, a host's or a worker's for example. It is a label: a grant is told from others by a nonce.
    pub fn owner(mut self, name: impl Into<Arc<str>>) -> Self {
        self.owner = name.into();
        self
    }

    /// The longest time for which a lock is renewed, so that a worker that is stuck does not keep it for ever; no limit by default.
    pub fn max_hold(mut self, longest: Duration) -> Self {
        self.options.max_hold = Some(longest);
        self
    }

    /// What renews a lock in the background; a task of the runtime by default.
    pub fn heartbeat(mut self, heartbeat: impl Into<Heartbeat>) -> Self {
        self.options.heartbeat = heartbeat.into();
        self
    }

    /// The time that one request, with its repetitions after lost and throttled ones, may take; 5 seconds by default, and 10 for the
    /// transaction that asks for several locks at once. A call to which nothing answers ends after this time. A [wait](Self::wait) for a lock that somebody holds may last longer.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self.limits_of_all.deadline = deadline;
        self
    }

    /// Creates the table, billed by request, and waits until it is active, at most a minute. A table that is there already is fine if it has
    /// the key that locks need: a string `name`.
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`] if it has another key; [`Error::Rejected`], [`Error::Exhausted`].
    pub async fn create_table(&self) -> Result<()> {
        let limits = Limits {
            deadline: Duration::from_mins(1),
            attempt_timeout: self.limits.attempt_timeout.max(Duration::from_secs(10)),
            ..self.limits
        };
        tables::create(&self.connection, &self.table, &MODEL, limits, self.limits.deadline).await
    }

    /// Looks whether the table is there and has the key that locks need.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`], [`Error::TableMismatch`]; [`Error::Rejected`], [`Error::Exhausted`].
    pub async fn verify_table(&self) -> Result<()> {
        tables::verify(&self.connection, &self.table, &MODEL, self.limits).await
    }

    /// Asks for a lock, and waits for it while somebody else holds it. Dropped at any moment, it leaves no lock behind while the runtime
    /// lives, and none for longer than its ttl.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if somebody else held it until the wait was over; [`Error::Lost`] if it was granted without a reply, and not a
    /// heartbeat was answered until its lease was over; [`Error::Unavailable`] if the thread of [`Heartbeat::Thread`] could not be started: then
    /// nothing was sent; [`Error::InvalidKey`] for an empty name; [`Error::TableNotFound`], [`Error::Rejected`], [`Error::Exhausted`].
    pub fn acquire(&self, name: impl Into<Arc<str>>) -> Acquire<LockGuard> {
        Acquire::new(self, name.into())
    }

    /// Asks for a lock by one request, and never waits; nothing if somebody else holds it. With [`Expiry::Observed`] a dead holder is not seen
    /// as such, since nobody watches.
    ///
    /// # Errors
    ///
    /// As of [`acquire`](Self::acquire), without [`Error::Locked`].
    pub fn try_acquire(&self, name: impl Into<Arc<str>>) -> Acquire<Option<LockGuard>> {
        Acquire::new(self, name.into())
    }

    /// Asks for several locks, at most 100, and gets all of them at once or none. Waits while somebody else holds one, and holds none meanwhile:
    /// callers whose locks cross cannot block each other. One who asks for many waits until all are free at once, and may be overtaken.
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
    /// [`Error::Locked`] if somebody else held one of them until the wait was over; [`Error::InvalidTransaction`] for none and for more than
    /// 100; others as of [`acquire`](Self::acquire).
    pub fn acquire_all<N: Into<Arc<str>>>(
        &self,
        names: impl IntoIterator<Item = N>,
    ) -> Acquire<LockSetGuard, Vec<Arc<str>>> {
        let names = names.into_iter().map(Into::into).collect();
        Acquire::new(self, names)
    }

    /// Goes on with a lock that was [detached](Held::detach): the lease is renewed first, by one heartbeat. That succeeds also after the end of
    /// the lease, as long as nobody else has taken the lock.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if somebody else has it by now or had it, or no heartbeat was answered for a whole ttl; [`Error::InvalidKey`] if the token
    /// is that of a lease on an item; [`Error::Unavailable`] if the thread of [`Heartbeat::Thread`] could not be started; [`Error::Rejected`],
    /// [`Error::TableNotFound`].
    pub async fn resume(&self, token: LockToken) -> Result<LockGuard> {
        if token.is_of_item() {
            return Err(Error::InvalidKey {
                table: Arc::clone(&self.table),
                attribute: MODEL.partition_key.name,
                reason: "the token is that of a lease on an item; resume it with `Repository::resume`",
            });
        }
        let name = Arc::clone(&token.name);
        let background = Background::start(self.options.heartbeat, &self.connection)?;
        let grant = Grant::resumed(&self.connection, self.row_named(&name), self.options, token);
        grant.beat().await?;
        Ok(LockGuard::new(name, KeptGrant { guard: HeldGrant::new(grant, background), row: None }))
    }

    /// The name of a lock's row.
    pub(super) fn row_name(&self, name: &str) -> Result<Arc<str>> {
        row_name(name, self.namespace.as_deref()).map_err(|reason| Error::InvalidKey {
            table: Arc::clone(&self.table),
            attribute: MODEL.partition_key.name,
            reason,
        })
    }

    pub(super) fn row(&self, name: &str) -> Result<Row> {
        Ok(self.row_named(&self.row_name(name)?))
    }

    pub(super) fn row_named(&self, row_name: &str) -> Row {
        let key = (MODEL.partition_key.name.to_owned(), AttributeValue::S(row_name.to_owned()));
        let (table, subject) = (Arc::clone(&self.table), LeaseSubject::Name);
        Row { table, key: [key].into(), layout: LockModel::DEFAULT, subject }
    }
}

impl fmt::Debug for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locks").field("table", &self.table).field("terms", &self.options).finish_non_exhaustive()
    }
}

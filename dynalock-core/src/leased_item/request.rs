use std::{fmt, future::IntoFuture, pin::Pin, sync::Arc, time::Duration};

use tokio::sync::watch;

use super::guard::LeaseGuard;
use crate::{
    codec::{Stored, decode},
    error::{Error, Lost, Result, Spent},
    key::Key,
    lease::{
        acquire::{
            call::{AcquireCall, AcquireMode},
            spec::AcquireSpec,
        },
        grant::Grant,
        held_grant::{Background, HeldGrant, KeptGrant},
        options::{Expiry, Heartbeat, LeaseOptions, Wait},
        order::{AnyOne, AnyOrder, Fair},
        queue::{QueueStatus, QueueTicket, enter::QueueLimits},
        row::{LeaseSubject, Row},
        token::LockToken,
    },
    model::{IntoKey, LockModel, LockPlace, Lockable},
    repository::Repository,
    retry::Attempts,
    write::key::{checked_key, key_beside},
};

/// A request for the lease of an item that has not been sent: set what it needs, then `.await` it. Made by [`Repository::lock`],
/// [`Repository::try_lock`] and [`Repository::lock_any`].
#[must_use = "a lease is not asked for until this is awaited"]
pub struct LeaseRequest<T, Q = AnyOrder> {
    repository: Repository<T>,
    /// Any of these: at least one, if it can be granted.
    keys: Vec<Key>,
    options: LeaseOptions,
    wait: Wait,
    owner: Arc<str>,
    order: Q,
}

impl<T> Repository<T> {
    /// When a lease that its holder does not renew is dead, for writers and for those who want it. The same for all who share a table.
    pub fn expiry(mut self, expiry: Expiry) -> Self
    where
        T: Lockable,
    {
        self.options.expiry = expiry;
        self
    }

    /// Asks for the lease of an item, and waits while somebody else holds it: then the holder alone can write it, and everybody else gets
    /// [`Error::Locked`]. The grant reads the item as well: it is one request, and two if the lease is [beside](crate::Lockable) the item. Dropped
    /// at any moment, it leaves no lease behind while the runtime lives, and none for longer than its ttl.
    ///
    /// An item that is deleted under its lease, by time to live, by [`delete_unchecked`](Repository::delete_unchecked) or by another program, takes
    /// the lease with it. If it is created and leased again before the next heartbeat of the first holder, both believe to hold it until that
    /// heartbeat is refused; DynamoDB refuses the writes of the first holder at once. With `#[lockable(separate)]` the lease stays, because it is in another row.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no item; [`Error::Locked`] if somebody else held it until the wait was over; [`Error::Decode`] and
    /// [`Error::Corrupt`] if the item does not fit; [`Error::Unavailable`] if the thread of [`Heartbeat::Thread`] could not be started: then nothing
    /// was sent; [`Error::InvalidKey`], [`Error::TableNotFound`], [`Error::Rejected`], [`Error::Exhausted`].
    pub fn lock(&self, key: impl IntoKey<T>) -> LeaseRequest<T>
    where
        T: Lockable,
    {
        LeaseRequest {
            repository: self.clone(),
            keys: vec![key.into_key()],
            options: self.options,
            wait: Wait::Forever,
            owner: "".into(),
            order: AnyOrder,
        }
    }

    /// Asks for the lease of an item once, and never waits.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if somebody else holds it, which says who, and for how long; the others as of [`lock`](Self::lock).
    pub fn try_lock(&self, key: impl IntoKey<T>) -> LeaseRequest<T>
    where
        T: Lockable,
    {
        LeaseRequest { wait: Wait::No, ..self.lock(key) }
    }

    /// Asks for the lease of the first item that is free, in the order of the keys, and waits while all are held. Waiting costs one cheap read of each
    /// item a poll.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if none of the items is there, or no key is given; the others as of [`lock`](Self::lock).
    pub fn lock_any<K: IntoKey<T>>(&self, keys: impl IntoIterator<Item = K>) -> LeaseRequest<T, AnyOne>
    where
        T: Lockable,
    {
        LeaseRequest {
            repository: self.clone(),
            keys: keys.into_iter().map(IntoKey::into_key).collect(),
            options: self.options,
            wait: Wait::Forever,
            owner: "".into(),
            order: AnyOne,
        }
    }

    /// Goes on with a lease that was [detached](Lease::detach): the item is read, then one heartbeat renews the lease. That succeeds also after
    /// the end of the lease, as long as nobody else has taken the item.
    ///
    /// A call that fails, or is dropped, releases nothing: the token can be resumed again while its lease lasts.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if somebody else has the lease by now or had it, or the item is gone; [`Error::InvalidKey`] if the token is not one of an
    /// item; [`Error::Unavailable`] if the thread of [`Heartbeat::Thread`] could not be started; [`Error::Decode`], [`Error::Corrupt`],
    /// [`Error::TableNotFound`], [`Error::Rejected`], [`Error::Exhausted`].
    pub async fn resume(&self, token: LockToken) -> Result<LeaseGuard<T>>
    where
        T: Lockable,
    {
        let key = token.item_key().ok_or_else(|| Error::InvalidKey {
            table: Arc::clone(&self.table),
            attribute: T::MODEL.partition_key.name,
            reason: "the token is that of a lock by name; resume it with `Locks::resume`",
        })?;
        let background = Background::start(self.options.heartbeat, &self.connection)?;
        let grant = Grant::resumed(&self.connection, self.row(&key)?, self.options, token);
        let item = Attempts::new(&self.connection, self.limits).read(&grant.row.get_item()).await?;
        let item = item.ok_or(Error::Lost(Lost::Deleted))?;
        let (value, basis) = decode(&self.table, item.clone())?;
        grant.beat().await?;
        // The last step: a guard that is dropped releases.
        Ok(LeaseGuard::of(self.clone(), HeldGrant::new(grant, background), Stored::new(value, basis), item))
    }

    /// The lease of an item. A type that can be locked says where it is kept.
    fn row(&self, key: &Key) -> Result<Row>
    where
        T: Lockable,
    {
        let layout = T::MODEL.lock.unwrap_or(LockModel::DEFAULT);
        let (table, item) = (Arc::clone(&self.table), checked_key(T::MODEL, &self.table, key)?);
        Ok(match layout.place {
            LockPlace::Item => {
                let subject = LeaseSubject::Item { key_attribute: T::MODEL.partition_key.name };
                Row { table, key: item, layout, subject }
            }
            LockPlace::Beside => {
                let key = key_beside(T::MODEL, &self.table, key)?;
                Row { table, key, layout, subject: LeaseSubject::SeparateItem(item) }
            }
        })
    }
}

impl<T, Q> LeaseRequest<T, Q> {
    /// How long the lease lasts without a heartbeat: between a millisecond and a year of 366 days. A request with another ttl is
    /// [`Error::InvalidSetting`].
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = ttl;
        self
    }

    /// Limits the wait for a lease that another caller holds. The default is no limit, and no wait for `try_lock`. The
    /// call ends at this limit even if DynamoDB does not answer. With [`Wait::No`] or a wait of zero, the call tries
    /// once, and the [deadline](Repository::deadline) limits it.
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.wait = wait.into();
        self
    }

    /// The name under which others see the holder. It is a label: a grant is told from others by a nonce.
    pub fn owner(mut self, name: impl Into<Arc<str>>) -> Self {
        self.owner = name.into();
        self
    }

    /// When a lease that its holder does not renew is dead.
    pub fn expiry(mut self, expiry: Expiry) -> Self {
        self.options.expiry = expiry;
        self
    }

    /// The longest time for which it is renewed, so that a worker that is stuck does not keep the item for ever; no limit by default.
    pub fn max_hold(mut self, longest: Duration) -> Self {
        self.options.max_hold = Some(longest);
        self
    }

    /// What renews it in the background, a task of the runtime by default; where nothing does, writes and [`LeaseGuard::extend`] do.
    pub fn heartbeat(mut self, heartbeat: impl Into<Heartbeat>) -> Self {
        self.options.heartbeat = heartbeat.into();
        self
    }
}

impl<T> LeaseRequest<T> {
    /// First come, first served: whoever asks stands in a queue of the item, and is served in its order, as [`Acquire::fair`](crate::lock::Acquire::fair)
    /// says. Everybody else's writes are refused while somebody stands in it.
    ///
    /// The queue is in the item, so its requests cost more if the item is larger. With `#[lockable(separate)]` it is in the row beside the item. A [`commit`](Lease::commit) that ends it is followed by one read and one
    /// more write in the background, which remove it.
    pub fn fair(self) -> LeaseRequest<T, Fair> {
        let Self { repository, keys, options, wait, owner, .. } = self;
        LeaseRequest { repository, keys, options, wait, owner, order: Fair::default() }
    }
}

impl<T: Lockable> LeaseRequest<T, Fair> {
    /// How many may stand in the queue, the holder counted: 100 by default, and at least 1. A caller who comes later gets [`Error::QueueFull`].
    pub fn max_queue(mut self, most: usize) -> Self {
        self.order = Fair { most };
        self
    }

    /// Takes a place in the queue, and gives it at once: to see how the wait goes.
    ///
    /// # Errors
    ///
    /// As of awaiting the request, as far as they show before there is a place: [`Error::NotFound`], [`Error::QueueFull`], [`Error::Locked`]
    /// while somebody holds the item without the queue, [`Error::InvalidKey`], [`Error::TableNotFound`], [`Error::Rejected`],
    /// [`Error::Exhausted`].
    pub async fn enter(self) -> Result<QueueTicket<LeaseGuard<T>>> {
        let (progress, mut seen) = watch::channel(None);
        let answer = self.ask_fair(progress)?;
        // The first report, or the end of whoever reports.
        if seen.changed().await.is_ok() {
            return Ok(QueueTicket::new(answer, seen));
        }
        let lease = answer.await?;
        Ok(QueueTicket::new(std::future::ready(Ok(lease)), seen))
    }

    fn ask_fair(
        self,
        progress: watch::Sender<Option<QueueStatus>>,
    ) -> Result<impl Future<Output = Result<LeaseGuard<T>>> + Send + 'static> {
        let most = self.order.most(self.wait)?;
        // A request for one item has its key.
        let spec = self.keys.first().map_or_else(|| Err(self.nothing()), |key| self.spec(key))?;
        let limits = QueueLimits { most, transaction: spec.limits };
        let call = AcquireCall { locks: vec![spec], mode: AcquireMode::Queue(limits, progress) };
        let repository = self.repository;
        Ok(call.acquire_one(|kept| leased(repository, kept)))
    }
}

impl<T: Lockable, Q> LeaseRequest<T, Q> {
    fn spec(&self, key: &Key) -> Result<AcquireSpec> {
        let Self { repository, options, wait, owner, .. } = self;
        options.check()?;
        let (connection, row) = (Arc::clone(&repository.connection), repository.row(key)?);
        let (name, label) = (Arc::clone(owner), T::MODEL.shown_key(key).unwrap_or_default());
        let (options, wait, limits) = (*options, *wait, repository.limits);
        let background = Background::start(options.heartbeat, &connection)?;
        Ok(AcquireSpec { connection, row, label, options, wait, name, payload: None, limits, background })
    }

    fn nothing(&self) -> Error {
        let table = Arc::clone(&self.repository.table);
        Error::NotFound { table, key: None, spent: Spent::default() }
    }

    /// Asks for any of the keys.
    fn ask(self) -> Pin<Box<dyn Future<Output = Result<LeaseGuard<T>>> + Send>>
    where
        Q: Send + 'static,
    {
        Box::pin(async move {
            let locks = self.keys.iter().map(|key| self.spec(key)).collect::<Result<Vec<_>>>()?;
            if locks.is_empty() {
                return Err(self.nothing());
            }
            let repository = self.repository;
            AcquireCall { locks, mode: AcquireMode::Any }.acquire_one(|kept| leased(repository, kept)).await
        })
    }
}

fn leased<T: Lockable>(repository: Repository<T>, KeptGrant { guard, row }: KeptGrant) -> Result<LeaseGuard<T>> {
    // The grant of an item has read the item.
    LeaseGuard::new(repository, guard, row.unwrap_or_default())
}

impl<T: Lockable> IntoFuture for LeaseRequest<T> {
    type Output = Result<LeaseGuard<T>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        self.ask()
    }
}

impl<T: Lockable> IntoFuture for LeaseRequest<T, AnyOne> {
    type Output = Result<LeaseGuard<T>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        self.ask()
    }
}

impl<T: Lockable> IntoFuture for LeaseRequest<T, Fair> {
    type Output = Result<LeaseGuard<T>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.ask_fair(watch::Sender::new(None))?.await })
    }
}

impl<T, Q> fmt::Debug for LeaseRequest<T, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("repository", &self.repository)
            .field("terms", &self.options)
            .finish_non_exhaustive()
    }
}

use std::{fmt, future::IntoFuture, pin::Pin, sync::Arc, time::Duration};

use super::{
    acquire::{Asking, Granted},
    acquire_any::AskingAny,
    grip::Grip,
    guard::{self, Guard},
    lease::Lease,
    locks::LAYOUT,
    row::Row,
    terms::{Expiry, Terms, Wait},
    token::LockToken,
};
use crate::{
    Repository, clock,
    error::{Error, Lost, Result},
    key::Key,
    model::{LockPlace, Lockable},
    plan::{checked_key, key_beside},
    retry::Effort,
};

/// A request for the lease of an item that has not been sent: set what it needs, then `.await` it. Made by [`Repository::lock`],
/// [`Repository::try_lock`] and [`Repository::lock_any`].
#[must_use = "a lease is not asked for until this is awaited"]
pub struct Lock<T> {
    repository: Repository<T>,
    /// Any of these: at least one, if it can be granted.
    keys: Vec<Key>,
    terms: Terms,
    wait: Wait,
    owner: Arc<str>,
}

impl<T: Lockable> Repository<T> {
    /// When a lease that its holder does not renew is dead, for writers and for those who want it. The same for all who share a table.
    pub fn expiry(mut self, expiry: Expiry) -> Self {
        self.terms.expiry = expiry;
        self
    }

    /// Sets this machine's clock forward, or back, for tests of what clocks that differ do.
    #[doc(hidden)]
    pub fn clock_ahead_by_millis(mut self, millis: i64) -> Self {
        self.terms.skew_millis = millis;
        self
    }

    /// Asks for the lease of an item, and waits while somebody else holds it: then the holder alone can write it, and everybody else gets
    /// [`Error::Locked`]. The grant reads the item as well: it is one request, or two if the lease is [beside](crate::Lockable) the item. Dropped
    /// at any moment, it leaves no lease behind while the runtime lives, and none for longer than its ttl.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no item; [`Error::Locked`] if somebody else held it until the wait was over; [`Error::Decode`] and
    /// [`Error::Corrupt`] if the item does not fit; [`Error::InvalidKey`], [`Error::TableNotFound`], [`Error::Rejected`],
    /// [`Error::Exhausted`].
    pub fn lock(&self, key: impl Into<T::Key>) -> Lock<T> {
        Lock {
            repository: self.clone(),
            keys: vec![key.into().into()],
            terms: self.terms,
            wait: Wait::Forever,
            owner: "".into(),
        }
    }

    /// Asks for the lease of an item by one request, and never waits.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] if somebody else holds it, which says who, and for how long; the others as of [`lock`](Self::lock).
    pub fn try_lock(&self, key: impl Into<T::Key>) -> Lock<T> {
        Lock { wait: Wait::No, ..self.lock(key) }
    }

    /// Asks for the lease of the first item that is free, in the order of the keys, and waits while all are held. Waiting costs one cheap read of each
    /// item a poll.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if none of the items is there, or no key is given; the others as of [`lock`](Self::lock).
    pub fn lock_any<K: Into<T::Key>>(&self, keys: impl IntoIterator<Item = K>) -> Lock<T> {
        Lock {
            repository: self.clone(),
            keys: keys.into_iter().map(|key| key.into().into()).collect(),
            terms: self.terms,
            wait: Wait::Forever,
            owner: "".into(),
        }
    }

    /// Goes on with a lease that was [detached](Lease::detach): it is renewed first, by one heartbeat, and the item is read.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if somebody else has it by now, or it has ended; [`Error::InvalidKey`] if the token is not one of an item;
    /// [`Error::Decode`], [`Error::Corrupt`], [`Error::TableNotFound`], [`Error::Rejected`], [`Error::Exhausted`].
    pub async fn resume(&self, token: LockToken) -> Result<Lease<T>> {
        let key = token.item_key().ok_or_else(|| Error::InvalidKey {
            table: Arc::clone(&self.table),
            attribute: T::MODEL.partition_key.name,
            reason: "the token is that of a lock by name, or of something else",
        })?;
        let LockToken { owner, fence, beat, ttl, .. } = token;
        let terms = Terms { ttl: ttl.min(Terms::LONGEST), ..self.terms };
        let of = (Arc::clone(&self.connection), self.row(&key)?, terms);
        let grip = Arc::new(Grip::new(of, owner, (fence, None), beat, clock::now()));
        grip.beat().await?;
        let guard = Guard::new(Arc::clone(&grip));
        match Effort::new(&self.connection, self.limits).read(&grip.row.get_item()).await? {
            Some(item) => Lease::new(self.clone(), guard, item),
            None => Err(Error::Lost(grip.lose(Lost::Deleted))),
        }
    }

    /// The lease of an item. A type that can be locked says where it is kept.
    fn row(&self, key: &Key) -> Result<Row> {
        let layout = T::MODEL.lock.unwrap_or(LAYOUT);
        let (table, item) = (Arc::clone(&self.table), checked_key(T::MODEL, &self.table, key)?);
        Ok(match layout.place {
            LockPlace::Item => {
                Row { table, key: item, layout, existing: Some(T::MODEL.partition_key.name), beside: None }
            }
            LockPlace::Beside => {
                let key = key_beside(T::MODEL, &self.table, key)?;
                Row { table, key, layout, existing: None, beside: Some(item) }
            }
        })
    }
}

impl<T> Lock<T> {
    /// How long the lease lasts without a heartbeat.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.terms.ttl = ttl.min(Terms::LONGEST);
        self
    }

    /// How long to wait while somebody else holds it; for ever by default, and not at all with `try_lock`.
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
        self.terms.expiry = expiry;
        self
    }

    /// The longest time for which it is renewed, so that a worker that is stuck does not keep the item for ever; no limit by default.
    pub fn max_hold(mut self, longest: Duration) -> Self {
        self.terms.max_hold = Some(longest);
        self
    }

    /// Whether it is renewed in the background; without that, writes and [`Lease::extend`] do.
    pub fn heartbeat(mut self, heartbeat: bool) -> Self {
        self.terms.heartbeat = heartbeat;
        self
    }
}

impl<T: Lockable> IntoFuture for Lock<T> {
    type Output = Result<Lease<T>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { repository, keys, terms, wait, owner } = self;
            let asking = |key| {
                let (connection, row) = (Arc::clone(&repository.connection), repository.row(key)?);
                let (name, label) = (Arc::clone(&owner), "".into());
                Ok(Asking { connection, row, label, terms, wait, name, payload: None, limits: repository.limits })
            };
            let locks = keys.iter().map(asking).collect::<Result<Vec<_>>>()?;
            if locks.is_empty() {
                let table = Arc::clone(&repository.table);
                return Err(Error::NotFound { table, attempts: 0, elapsed: Duration::ZERO });
            }
            let make = move |_, Granted { grip, row }: Granted| {
                let guard = Guard::new(grip);
                // The grant asks for an item, so there is one.
                Lease::new(repository, guard, row.unwrap_or_default())
            };
            guard::acquire(AskingAny { locks }, make).await
        })
    }
}

impl<T> fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock").field("repository", &self.repository).field("terms", &self.terms).finish_non_exhaustive()
    }
}

use std::{fmt, future::IntoFuture, marker::PhantomData, pin::Pin, sync::Arc, time::Duration};

use super::{
    acquire::Asking,
    acquire_all::AskingAll,
    held::Held,
    held_all::HeldAll,
    locks::Locks,
    terms::{Expiry, Heartbeat, Wait},
};
use crate::error::{Error, InvalidTransaction, Result};

/// A request for a lock that has not been sent: set what it needs, then `.await` it. `O` is what it gives, `N` what it names.
#[must_use = "a lock is not asked for until this is awaited"]
pub struct Acquire<O, N = Arc<str>> {
    locks: Locks,
    names: N,
    payload: Option<Arc<[u8]>>,
    gives: PhantomData<fn() -> O>,
}

impl<O, N> Acquire<O, N> {
    pub(super) fn new(locks: &Locks, names: N) -> Self {
        Self { locks: locks.clone(), names, payload: None, gives: PhantomData }
    }

    /// How long the lock lasts without a heartbeat.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.locks = self.locks.ttl(ttl);
        self
    }

    /// The name under which others see the holder.
    pub fn owner(mut self, name: impl Into<Arc<str>>) -> Self {
        self.locks = self.locks.owner(name);
        self
    }

    /// When a lock whose holder does not renew it may be taken over.
    pub fn expiry(mut self, expiry: Expiry) -> Self {
        self.locks = self.locks.expiry(expiry);
        self
    }

    /// The longest time for which it is renewed.
    pub fn max_hold(mut self, longest: Duration) -> Self {
        self.locks = self.locks.max_hold(longest);
        self
    }

    /// What renews it in the background; where nothing does, [`Held::extend`] does.
    pub fn heartbeat(mut self, heartbeat: impl Into<Heartbeat>) -> Self {
        self.locks = self.locks.heartbeat(heartbeat);
        self
    }

    /// Something for whoever looks at the lock, or takes it over after a crash. It stays when the lock is released.
    pub fn payload(mut self, payload: impl Into<Vec<u8>>) -> Self {
        self.payload = Some(payload.into().into());
        self
    }

    fn asking(&self, name: &Arc<str>) -> Result<Asking> {
        let row = self.locks.row(name)?;
        let Locks { connection, terms, wait, owner, limits, .. } = self.locks.clone();
        let (label, payload) = (Arc::clone(name), self.payload.clone());
        Ok(Asking { connection, row, label, terms, wait, name: owner, payload, limits })
    }
}

impl Acquire<Held> {
    /// How long to wait while somebody else holds it.
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.locks = self.locks.wait(wait);
        self
    }
}

impl Acquire<HeldAll, Vec<Arc<str>>> {
    /// How long to wait while somebody else holds one of them.
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.locks = self.locks.wait(wait);
        self
    }

    /// Each lock once, in the order of their names.
    fn asking_all(mut self) -> Result<AskingAll> {
        self.names.sort_unstable();
        self.names.dedup();
        match self.names.len() {
            0 => Err(Error::InvalidTransaction(InvalidTransaction::Empty)),
            items @ 101.. => Err(Error::InvalidTransaction(InvalidTransaction::TooManyItems { items })),
            _ => Ok(AskingAll { locks: self.names.iter().map(|name| self.asking(name)).collect::<Result<_>>()? }),
        }
    }
}

impl IntoFuture for Acquire<Held> {
    type Output = Result<Held>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let asking = self.asking(&self.names)?;
            Held::acquire(asking).await
        })
    }
}

impl IntoFuture for Acquire<HeldAll, Vec<Arc<str>>> {
    type Output = Result<HeldAll>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { HeldAll::acquire(self.asking_all()?).await })
    }
}

impl IntoFuture for Acquire<Option<Held>> {
    type Output = Result<Option<Held>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let asking = self.asking(&self.names)?;
            match Held::acquire(Asking { wait: Wait::No, ..asking }).await {
                Ok(held) => Ok(Some(held)),
                Err(Error::Locked(_)) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }
}

impl<O, N: fmt::Debug> fmt::Debug for Acquire<O, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acquire").field("names", &self.names).field("locks", &self.locks).finish_non_exhaustive()
    }
}

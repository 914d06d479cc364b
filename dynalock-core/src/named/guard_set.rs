use std::{
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
    time::Duration,
};

use super::guard::LockGuard;
use crate::{
    error::{Lost, Result},
    lease::held_grant,
};

/// Several named locks that are held together: [`Locks::acquire_all`](crate::Locks::acquire_all).
///
/// They were granted at once; each is renewed by itself. If one is lost, [`lost`](Self::lost) and [`run`](Self::run) tell, and the others are
/// held still, until this is released or dropped.
///
/// The locks are held for as long as this value lives. `let _ = locks.acquire_all(["a", "b"]).await?` drops it at once; `let _held = ..` keeps it. The lint
/// `clippy::let_underscore_must_use` finds the first form.
#[must_use = "locks that are dropped are released"]
pub struct LockSetGuard {
    /// By name.
    locks: Vec<LockGuard>,
}

impl LockSetGuard {
    pub(super) fn new(locks: Vec<LockGuard>) -> Self {
        Self { locks }
    }

    /// The locks, in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &LockGuard> {
        self.locks.iter()
    }

    /// One of them.
    pub fn get(&self, name: &str) -> Option<&LockGuard> {
        self.locks.binary_search_by(|held| held.name().cmp(name)).ok().map(|place| &self.locks[place])
    }

    /// The [fence](Held::fence) of one of them.
    pub fn fence(&self, name: &str) -> Option<u64> {
        self.get(name).map(LockGuard::fence)
    }

    /// The time that is left before somebody else may enter one of them, if no heartbeat renews it; zero if one is lost.
    pub fn remaining(&self) -> Duration {
        self.locks.iter().map(LockGuard::remaining).min().unwrap_or_default()
    }

    /// Renews each lease now, one after the other.
    ///
    /// # Errors
    ///
    /// As of [`LockGuard::extend`], of the first that fails.
    pub async fn extend(&self) -> Result<()> {
        for held in &self.locks {
            held.extend().await?;
        }
        Ok(())
    }

    /// Ends when one of them is lost, before anybody else may enter there, with the cause.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        let mut each: Vec<Pin<Box<dyn Future<Output = Lost> + Send>>> =
            self.locks.iter().map(|held| Box::pin(held.lost()) as _).collect();
        poll_fn(move |context| {
            for lost in &mut each {
                if let Poll::Ready(why) = lost.as_mut().poll(context) {
                    return Poll::Ready(why);
                }
            }
            Poll::Pending
        })
    }

    /// Runs `work`, and drops it where it stands if one of them is lost: before anybody else may enter there.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`](crate::Error::Lost) if `work` was dropped.
    pub async fn run<O>(&self, work: impl Future<Output = O> + Send) -> Result<O> {
        held_grant::run(self.lost(), work).await
    }

    /// Lets the next ones in, each by a request of its own.
    ///
    /// # Errors
    ///
    /// As of [`LockGuard::release`], of the first that fails; the others are released all the same.
    pub async fn release(self) -> Result<()> {
        let releases: Vec<_> = self.locks.into_iter().map(LockGuard::releasing).collect();
        let mut all = Ok(());
        for release in releases {
            all = all.and(release.await);
        }
        all
    }
}

impl IntoIterator for LockSetGuard {
    type Item = LockGuard;
    type IntoIter = std::vec::IntoIter<LockGuard>;

    fn into_iter(self) -> Self::IntoIter {
        self.locks.into_iter()
    }
}

impl fmt::Debug for LockSetGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeldAll").field(&self.locks).finish()
    }
}

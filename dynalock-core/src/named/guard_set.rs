use std::{future::Future, sync::Arc, time::Duration};

use futures_util::{FutureExt as _, future::select_all};

use super::guard::LockGuard;
use crate::{
    error::{Lost, Result},
    lease::held_grant,
    telemetry::observe,
};

/// The guard of several named locks. [`Locks::acquire_all`](crate::Locks::acquire_all) returns this
/// guard.
///
/// Without `fair`, one transaction acquires all locks of the guard. With `fair`, one transaction
/// enters the queues of all locks of the guard. Each lock has its own heartbeats. If one lock is
/// lost, [`lost`](Self::lost) and [`run`](Self::run) report the loss. After the loss of one lock,
/// the other locks stay held until the guard is released or dropped.
///
/// Keep the guard as long as your program needs the locks. `let _ = locks.acquire_all(["a",
/// "b"]).await?` drops the guard at once, and `let _guard = ..` keeps the guard. The lint
/// `clippy::let_underscore_must_use` finds a `let _` that drops a guard.
#[must_use = "locks that are dropped are released"]
pub struct LockSetGuard {
    /// The guards of the locks, sorted by name and without duplicates.
    locks: Vec<LockGuard>,
}

impl LockSetGuard {
    pub(super) fn new(locks: Vec<LockGuard>) -> Self {
        Self { locks }
    }

    /// Returns the guard of each lock, in the order of the lock names.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let both = locks.acquire_all(["shelf 7", "shelf 9"]).await?;
    /// for lock in both.iter() {
    ///     println!("{} has fence {}", lock.name(), lock.fence());
    /// }
    /// # both.release().await
    /// # }
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &LockGuard> {
        self.locks.iter()
    }

    /// Returns the guard of the lock with the given name, or `None` if the set has no lock with
    /// this name.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let both = locks.acquire_all(["shelf 7", "shelf 9"]).await?;
    /// assert!(both.get("shelf 7").is_some());
    /// # both.release().await
    /// # }
    /// ```
    pub fn get(&self, name: &str) -> Option<&LockGuard> {
        self.locks.binary_search_by(|held| held.name().cmp(name)).ok().map(|place| &self.locks[place])
    }

    /// Returns the [fence](LockGuard::fence) of the lock with the given name, or `None` if the set
    /// has no lock with this name.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let both = locks.acquire_all(["shelf 7", "shelf 9"]).await?;
    /// println!("{:?}", both.fence("shelf 7"));
    /// # both.release().await
    /// # }
    /// ```
    pub fn fence(&self, name: &str) -> Option<u64> {
        self.get(name).map(LockGuard::fence)
    }

    /// Returns the shortest remaining time of all locks of the guard. If one of the locks is lost,
    /// the remaining time is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let both = locks.acquire_all(["shelf 7", "shelf 9"]).await?;
    /// println!("{:?} left", both.remaining());
    /// # both.release().await
    /// # }
    /// ```
    pub fn remaining(&self) -> Duration {
        self.locks.iter().map(LockGuard::remaining).min().unwrap_or_default()
    }

    /// Renews the leases of all locks, one after the other.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let both = locks.acquire_all(["shelf 7", "shelf 9"]).heartbeat(false).await?;
    /// both.extend().await?;
    /// # both.release().await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `extend` stops at the first error of [`LockGuard::extend`], and returns the error.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `extend` at any time. A dropped call of `extend` may have
    /// renewed only some of the leases.
    pub async fn extend(&self) -> Result<()> {
        let all = async {
            for held in &self.locks {
                held.beat().await?;
            }
            Ok(())
        };
        observe("extend", self.table(), all).await
    }

    /// Waits until one of the locks is lost, and returns the reason. The future of `lost` completes
    /// before another caller can acquire the lost lock.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let both = locks.acquire_all(["shelf 7", "shelf 9"]).await?;
    /// tokio::select! {
    ///     lost = both.lost() => println!("stop: {lost}"),
    ///     () = async { /* the work */ } => both.release().await?,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `lost` at any time. The future of `lost` can outlive the
    /// guard, and does not keep the locks held.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        // A guard has at least one lock, and `select_all` needs at least one future.
        select_all(self.locks.iter().map(|held| Box::pin(held.lost()))).map(|(lost, ..)| lost)
    }

    /// Runs the future `work`. If one of the locks is lost, `run` drops the future `work` before
    /// another caller can acquire the lost lock. `run` checks the clock before each poll of `work`,
    /// but cannot interrupt a running poll.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let both = locks.acquire_all(["shelf 7", "shelf 9"]).await?;
    /// let moved = both.run(async { 7 }).await?;
    /// # both.release().await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`](crate::Error::Lost): a lock was lost, and `run` dropped the future `work`.
    ///
    /// # Cancel safety
    ///
    /// If the future of `run` is dropped, the future `work` is dropped too, but the locks are not
    /// released.
    pub async fn run<O>(&self, work: impl Future<Output = O> + Send) -> Result<O> {
        held_grant::run(self.lost(), work).await
    }

    /// Releases each lock by a separate request, and waits for DynamoDB's answers.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let both = locks.acquire_all(["shelf 7", "shelf 9"]).await?;
    /// both.release().await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`LockGuard::release`] are possible. If the release of one lock fails,
    /// `release` still releases the other locks, and returns the first error.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `release` at any time: background tasks finish the
    /// releases.
    pub async fn release(self) -> Result<()> {
        let table = self.table();
        let all = async {
            // All releases start before the first `await`, so that no release waits for the answer
            // to another release.
            let releases: Vec<_> = self.locks.into_iter().map(LockGuard::releasing).collect();
            let mut all = Ok(());
            for release in releases {
                all = all.and(release.await);
            }
            all
        };
        observe("release", table, all).await
    }

    fn table(&self) -> Arc<str> {
        self.locks.first().map(LockGuard::table).unwrap_or_default()
    }
}

impl IntoIterator for LockSetGuard {
    type Item = LockGuard;
    type IntoIter = std::vec::IntoIter<LockGuard>;

    fn into_iter(self) -> Self::IntoIter {
        self.locks.into_iter()
    }
}

debug_fields!(LockSetGuard, self => (self.locks));

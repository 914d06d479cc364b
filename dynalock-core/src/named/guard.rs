use std::{future::Future, sync::Arc, time::Duration};

use super::settings::MODEL;
use crate::{
    codec::Item,
    error::{Lost, Result},
    key::{Key, KeyValue},
    lease::{
        LockToken,
        clause::HolderProof,
        held_grant::{self, HeldGrant, KeptGrant},
        name::parts,
        owner::Owner,
        row::PAYLOAD,
    },
    model::{ItemExpiry, ItemRef},
    telemetry::observe,
    write::guard::{Guard, sealed},
};

/// The guard of a named lock. [`Locks::acquire`](crate::Locks::acquire) returns this guard.
///
/// Heartbeats renew the lease of the lock until the guard is released or dropped.
/// [`release`](Self::release) releases the lock, and waits for DynamoDB's answer. A drop of the
/// guard releases the lock in the background. If the release in the background fails, or if the
/// runtime ends before the release, the lock stays held until its lease expires.
///
/// A process that stops sending heartbeats loses the lock when the lease of the lock ends.
/// [`lost`](Self::lost) and [`run`](Self::run) report the loss of the lock before another caller
/// can acquire the lock. If the lock protects a system outside DynamoDB, this system should refuse
/// each request whose [`fence`](Self::fence) is lower than the highest fence in earlier requests.
///
/// Keep the guard as long as your program needs the lock. `let _ = locks.acquire("a").await?` drops
/// the guard at once, and `let _guard = ..` keeps the guard. The lint
/// `clippy::let_underscore_must_use` finds a `let _` that drops a guard.
#[must_use = "a lock that is dropped is released"]
pub struct LockGuard {
    row_name: Arc<str>,
    held: HeldGrant,
    payload: Option<Vec<u8>>,
}

impl LockGuard {
    pub(super) fn new(row_name: Arc<str>, KeptGrant { guard: held, row }: KeptGrant) -> Self {
        let payload = row.as_ref().and_then(payload_of);
        Self { row_name, held, payload }
    }

    /// Returns the name of the lock.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").await?;
    /// assert_eq!(lock.name(), "nightly-report");
    /// # lock.release().await
    /// # }
    /// ```
    pub fn name(&self) -> &str {
        parts(&self.row_name).0
    }

    /// Returns the namespace of the lock, which [`Locks::namespace`](crate::Locks::namespace)
    /// selects, or `None` if the lock has no namespace.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.clone().namespace("printer").acquire("office 4").await?;
    /// assert_eq!(lock.namespace(), Some("printer"));
    /// # lock.release().await
    /// # }
    /// ```
    pub fn namespace(&self) -> Option<&str> {
        parts(&self.row_name).1
    }

    /// Returns the fence: a number that grows with each grant of this lock, even after releases and
    /// crashes. If the lock protects another system, pass the fence with each request to this
    /// system. The protected system can refuse a request whose fence is lower than the highest
    /// fence in earlier requests.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn write_report(fence: u64) -> dynalock::Result<()> { Ok(()) }
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").await?;
    /// write_report(lock.fence()).await?;
    /// # lock.release().await
    /// # }
    /// ```
    pub fn fence(&self) -> u64 {
        self.held.grant.fence
    }

    /// Returns the label of the holder, which [`Locks::owner`](crate::Locks::owner) sets, or the
    /// random nonce of the grant if the holder has no label.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").owner("worker-7").await?;
    /// assert_eq!(lock.owner(), "worker-7");
    /// # lock.release().await
    /// # }
    /// ```
    pub fn owner(&self) -> &str {
        Owner::parse(&self.held.grant.owner).label
    }

    /// Returns the nonce of the grant: a random text that distinguishes this grant from all other
    /// grants.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").await?;
    /// println!("grant {}", lock.nonce());
    /// # lock.release().await
    /// # }
    /// ```
    pub fn nonce(&self) -> &str {
        Owner::parse(&self.held.grant.owner).nonce
    }

    /// Returns the payload that the acquire call has read from the row of the lock. Returns `None`
    /// if the row of the lock had no payload, or if the lock was [resumed](crate::Locks::resume).
    /// If the acquire call set no payload, `payload` returns the payload of an earlier holder. If
    /// the acquire call set a new payload, it is not specified whether `payload` returns the new
    /// payload or the payload of an earlier holder.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").await?;
    /// if let Some(progress) = lock.payload() {
    ///     println!("an earlier holder left {} bytes", progress.len());
    /// }
    /// # lock.release().await
    /// # }
    /// ```
    pub fn payload(&self) -> Option<&[u8]> {
        self.payload.as_deref()
    }

    /// Returns the fence of the previous holder if the acquire call took over the expired lease of
    /// that holder. Returns `None` if the acquire call took over no expired lease. A previous
    /// holder whose lease expired may have left its work unfinished.
    ///
    /// `Some(fence)` is only a hint that the previous holder crashed. `acquired_after_crash`
    /// returns `None` if another caller or an operator removed the expired lease of the previous
    /// holder. For a lock from [`Locks::acquire_all`](crate::Locks::acquire_all),
    /// `acquired_after_crash` may also return `None` if the reply to the removal of the expired
    /// lease was lost. After a lost reply to the acquire request, `acquired_after_crash` may return
    /// `Some` without a crash. For example, the previous holder has released the lock, or the lock
    /// had no previous holder. If your program must notice every crash, store in your data whether
    /// the work is finished.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").await?;
    /// if let Some(fence) = lock.acquired_after_crash() {
    ///     println!("the holder with fence {fence} did not finish");
    /// }
    /// # lock.release().await
    /// # }
    /// ```
    pub fn acquired_after_crash(&self) -> Option<u64> {
        self.held.grant.taken_over
    }

    /// Returns the time after which another caller can acquire the lock if no heartbeat renews the
    /// lease. The remaining time of a lost lock is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").await?;
    /// println!("{:?} left", lock.remaining());
    /// # lock.release().await
    /// # }
    /// ```
    pub fn remaining(&self) -> Duration {
        self.held.grant.remaining()
    }

    /// Renews the lease by sending one heartbeat.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").heartbeat(false).await?;
    /// lock.extend().await?;
    /// # lock.release().await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`](crate::Error::Lost): the lock is lost.
    /// - [`Error::Corrupt`](crate::Error::Corrupt): a program that does not use dynalock wrote a
    ///   heartbeat number (`_beat`) that no heartbeat can exceed.
    /// - The [errors of every call](crate::Locks#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `extend` at any time. A dropped call of `extend` may have
    /// sent a heartbeat that still renews the lease.
    pub async fn extend(&self) -> Result<()> {
        observe("extend", self.table(), self.beat()).await
    }

    pub(super) async fn beat(&self) -> Result<()> {
        self.held.grant.beat().await
    }

    pub(super) fn table(&self) -> Arc<str> {
        Arc::clone(&self.held.grant.row.table)
    }

    /// Waits until the lock is lost, and returns the reason. The future of `lost` completes before
    /// another caller can acquire the lost lock.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").await?;
    /// tokio::select! {
    ///     lost = lock.lost() => println!("stop: {lost}"),
    ///     () = async { /* the work */ } => lock.release().await?,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `lost` at any time. The future of `lost` can outlive the
    /// guard, and does not keep the lock held.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        let grant = Arc::clone(&self.held.grant);
        async move { grant.lost().await }
    }

    /// Runs the future `work`. If the lock is lost, `run` drops the future `work` before another
    /// caller can acquire the lock. `run` checks the clock before each poll of `work`, but cannot
    /// interrupt a running poll.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").await?;
    /// let pages = lock.run(async { 7 }).await?;
    /// # lock.release().await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`](crate::Error::Lost): the lock was lost, and `run` dropped the future
    ///   `work`.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `run`, the future `work` is dropped too, but the lock is
    /// not released.
    pub async fn run<O>(&self, work: impl Future<Output = O> + Send) -> Result<O> {
        held_grant::run(self.held.grant.lost(), work).await
    }

    /// Releases the lock, and waits for DynamoDB's answer.
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
    /// If the lock is already lost, `release` succeeds.
    ///
    /// - [`Error::Exhausted`](crate::Error::Exhausted): DynamoDB did not answer the release before
    ///   the lease ended, so other callers can acquire the lock.
    /// - [`Error::Unavailable`](crate::Error::Unavailable): the tokio runtime that runs the
    ///   background tasks of the lock was shut down or blocked during the release.
    /// - The [errors of every call](crate::Locks#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `release` at any time: a background task finishes the
    /// release.
    pub async fn release(self) -> Result<()> {
        observe("release", self.table(), self.held.release()).await
    }

    pub(super) fn releasing(self) -> impl Future<Output = Result<()>> + Send + 'static {
        self.held.releasing()
    }

    /// Converts the guard into a token. Another task or process can [resume](crate::Locks::resume)
    /// the lock from the token. After `detach`, no heartbeat renews the lock until a task or
    /// process resumes the lock.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let token = locks.acquire("nightly-report").await?.detach();
    /// println!("{token}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn detach(mut self) -> LockToken {
        self.held.end();
        self.token()
    }

    /// Returns a token for the lock, like [`detach`](Self::detach), and keeps the guard. A process
    /// can store the token, and can resume the lock from the token after a crash or a restart.
    ///
    /// Do not resume the lock from the token while a guard of the lock exists, because two guards
    /// with the same token do not exclude each other. DynamoDB refuses a delayed heartbeat of a
    /// crashed process after another process has resumed the lock. After another process has
    /// resumed the lock from the token, a delayed release by the crashed process can still end the
    /// lease. If an earlier user of the token may have sent a release of the lock, do not resume
    /// the lock from the token.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").await?;
    /// let token = lock.token().to_string();
    /// # lock.release().await
    /// # }
    /// ```
    pub fn token(&self) -> LockToken {
        self.held.grant.token(&self.row_name)
    }
}

pub(super) fn payload_of(row: &Item) -> Option<Vec<u8>> {
    row.get(PAYLOAD).and_then(|value| value.as_b().ok()).map(|blob| blob.as_ref().to_vec())
}

impl Guard for LockGuard {}

impl sealed::Sealed for LockGuard {
    #[expect(private_interfaces, reason = "it is called here alone")]
    fn leased(&self) -> (ItemRef, HolderProof) {
        let grant = &self.held.grant;
        let key = Key::new(KeyValue::S(self.row_name.to_string()), None);
        (
            ItemRef {
                table: Arc::clone(&grant.row.table),
                model: &MODEL,
                key,
                expected: None,
                expiry: ItemExpiry::DEFAULT,
            },
            grant.guard(),
        )
    }
}

debug_fields!(LockGuard, self => {
    name: self.name(),
    owner: self.owner(),
    fence: self.fence(),
    remaining: self.remaining(),
});

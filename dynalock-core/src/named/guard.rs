use std::{future::Future, sync::Arc};

use super::settings::MODEL;
use crate::{
    codec::Item,
    error::Result,
    key::{Key, KeyValue},
    lease::{
        LockToken,
        clause::HolderProof,
        guard_methods,
        held_grant::{HeldGrant, KeptGrant},
        name::parts,
        row::PAYLOAD,
    },
    model::{ItemExpiry, ItemRef},
    telemetry::observe,
    write::guard::{Guard, sealed},
};

/// The guard of a named lock, which [`Locks::acquire`](crate::Locks::acquire) returns.
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

    guard_methods! {
        self, [self.held.grant], {
            /// ```
            /// # use dynalock_core as dynalock;
            /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
            "locks.acquire(\"nightly-report\")"
            /// # held.release().await
            /// # }
            /// ```
        },
        fence;
        /// [`Locks::owner`](crate::Locks::owner) sets the label.
        owner;
        nonce;
        /// After a call for several locks, the result is also `None` if the reply to the removal of
        /// the expired lease was lost.
        acquired_after_crash;
        remaining;
        /// - The [errors of every call](crate::Locks#errors-of-every-call) are possible.
        extend;
        lost;
        run;
    }

    /// Returns the payload that the acquire call has read from the row of the lock. Returns `None`
    /// if the row of the lock had no payload, or if the lock was [resumed](crate::Locks::resume).
    /// If the acquire call set no payload, `payload` returns the payload of an earlier holder. If
    /// the acquire call set a payload, `payload` may return the new payload or the payload of an
    /// earlier holder.
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

    pub(super) async fn beat(&self) -> Result<()> {
        self.held.grant.beat().await
    }

    pub(super) fn table(&self) -> Arc<str> {
        Arc::clone(&self.held.grant.row.table)
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
    /// - [`Error::Unavailable`](crate::Error::Unavailable): the runtime of the lock was shut down
    ///   during the release, or did not run while another runtime waited for the release.
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
    /// Resume the lock from the token only when the guard no longer exists, because two processes
    /// with the same token do not exclude each other. Delayed heartbeats of a crashed process are
    /// harmless. A delayed release by a crashed process can release the lock of the process that
    /// has resumed the lock from the token. Do not resume a lock from a token if the earlier
    /// process with the token may have sent a release.
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

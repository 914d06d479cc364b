use std::{fmt, future::Future, sync::Arc, time::Duration};

use super::locks::MODEL;
use crate::{
    codec::Item,
    error::{Lost, Result},
    key::{Key, KeyValue},
    lease::{
        clause::HolderProof,
        held_grant::{self, HeldGrant, KeptGrant},
        name::parts,
        row::PAYLOAD,
        token::LockToken,
    },
    model::ItemRef,
    write::guard::{Guard, sealed},
};

/// A named lock that is held: [`Locks::acquire`](crate::Locks::acquire).
///
/// Its lease is renewed in the background until it is released or dropped. [`release`](Self::release) says whether DynamoDB has heard of
/// it; dropping the guard releases in the background as best it can: if that fails, or the runtime ends first, the lease ends by itself.
/// It holds no longer than its lease, whatever the process is doing: [`lost`](Self::lost) and [`run`](Self::run) tell in time, and what the
/// lock protects outside of DynamoDB should refuse an older [`fence`](Self::fence) than it has seen.
///
/// The lock is held for as long as this value lives. `let _ = locks.acquire("a").await?` drops it at once; `let _held = ..` keeps it. The lint
/// `clippy::let_underscore_must_use` finds the first form.
#[must_use = "a lock that is dropped is released"]
pub struct LockGuard {
    row_name: Arc<str>,
    guard: HeldGrant,
    payload: Option<Vec<u8>>,
}

impl LockGuard {
    pub(super) fn new(row_name: Arc<str>, KeptGrant { guard, row }: KeptGrant) -> Self {
        let payload = row.as_ref().and_then(payload_of);
        Self { row_name, guard, payload }
    }

    /// The name of the lock.
    pub fn name(&self) -> &str {
        parts(&self.row_name).0
    }

    /// The namespace that it is in: [`Locks::namespace`](crate::Locks::namespace).
    pub fn namespace(&self) -> Option<&str> {
        parts(&self.row_name).1
    }

    pub(super) fn row_name(&self) -> &Arc<str> {
        &self.row_name
    }

    /// A number that grows with each grant of this lock, over releases and crashes. Give it to what the lock protects, which can then refuse
    /// what comes from an earlier holder.
    pub fn fence(&self) -> u64 {
        self.guard.grant.fence
    }

    /// The holder as others see it: the name that was given, and what makes this grant its own.
    pub fn owner(&self) -> &str {
        &self.guard.grant.owner
    }

    /// What the holder before has left in the lock, or this one has given it.
    pub fn payload(&self) -> Option<&[u8]> {
        self.payload.as_deref()
    }

    /// Returns the fence of the previous holder if this call took over its lease, and `None` otherwise. The work of
    /// that holder may be half done.
    ///
    /// The answer is a hint. It is `None` if another caller or an operator has removed the dead holder. In a queue and in a
    /// call for several locks it is also `None` if the reply to that removal was lost. After a lost
    /// reply, a release can look like a crash. If your program must not miss a crash, store the progress of the work
    /// with the work itself.
    pub fn acquired_after_crash(&self) -> Option<u64> {
        self.guard.grant.taken_over
    }

    /// The time that is left before somebody else may enter, if no heartbeat renews it; zero if the lock is lost.
    pub fn remaining(&self) -> Duration {
        self.guard.grant.remaining()
    }

    /// Renews the lease now.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if it is lost; [`Error::Corrupt`] if another program has written a `_beat` that no heartbeat can be above;
    /// [`Error::Rejected`], [`Error::TableNotFound`].
    ///
    /// [`Error::Lost`]: crate::Error::Lost
    /// [`Error::Corrupt`]: crate::Error::Corrupt
    /// [`Error::Rejected`]: crate::Error::Rejected
    /// [`Error::TableNotFound`]: crate::Error::TableNotFound
    pub async fn extend(&self) -> Result<()> {
        self.guard.grant.beat().await
    }

    /// Ends when the lock is lost, before anybody else may enter, with the cause.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        let grant = Arc::clone(&self.guard.grant);
        async move { grant.lost().await }
    }

    /// Runs `work`, and drops it if the lock is lost, before another caller can acquire the lock. The clock is checked
    /// before each poll of `work`. A poll that is running is not interrupted.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`](crate::Error::Lost) if `work` was dropped.
    pub async fn run<O>(&self, work: impl Future<Output = O> + Send) -> Result<O> {
        held_grant::run(self.guard.grant.lost(), work).await
    }

    /// Lets the next one in.
    ///
    /// # Errors
    ///
    /// [`Error::Exhausted`] if DynamoDB did not answer while the lease lasted, which has ended by then; [`Error::Rejected`];
    /// [`Error::Unavailable`] if the runtime that it was granted on was shut down meanwhile. That the lock was lost before is no error.
    ///
    /// [`Error::Exhausted`]: crate::Error::Exhausted
    /// [`Error::Rejected`]: crate::Error::Rejected
    /// [`Error::Unavailable`]: crate::Error::Unavailable
    pub async fn release(self) -> Result<()> {
        self.guard.release().await
    }

    pub(super) fn releasing(self) -> impl Future<Output = Result<()>> + Send + 'static {
        self.guard.releasing()
    }

    /// Gives the lock to a token, which another task or process [resumes](crate::Locks::resume). No heartbeat renews it meanwhile.
    pub fn detach(mut self) -> LockToken {
        self.guard.end();
        self.token()
    }

    /// The table of its row, and what a transaction asks for that is to happen under this lock.
    pub(super) fn row(&self) -> (&Arc<str>, HolderProof) {
        (&self.guard.grant.row.table, self.guard.grant.guard())
    }

    /// Returns the token that [`detach`](Self::detach) returns, and keeps the guard. A process that may die can store
    /// it.
    ///
    /// Resume the token only when this guard is gone: two processes that use one grant do not exclude each other. Late
    /// heartbeats of a dead process do no harm. A late release ends the lock whenever it arrives, so do not resume a
    /// token if its process may have released the lock.
    pub fn token(&self) -> LockToken {
        self.guard.grant.token(&self.row_name)
    }
}

pub(super) fn payload_of(row: &Item) -> Option<Vec<u8>> {
    row.get(PAYLOAD).and_then(|value| value.as_b().ok()).map(|blob| blob.as_ref().to_vec())
}

impl fmt::Debug for LockGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held")
            .field("name", &self.name())
            .field("owner", &self.guard.grant.owner)
            .field("fence", &self.guard.grant.fence)
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

impl Guard for LockGuard {}

impl sealed::Sealed for LockGuard {
    #[expect(private_interfaces, reason = "it is called here alone")]
    fn leased(&self) -> (ItemRef, HolderProof) {
        let (table, holder) = self.row();
        let key = Key::new(KeyValue::S(self.row_name().to_string()), None);
        (ItemRef { table: Arc::clone(table), model: &MODEL, key, expected: None }, holder)
    }
}

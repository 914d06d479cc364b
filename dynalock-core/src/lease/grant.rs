//! The state and the release of a held lock.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use tokio::sync::watch;
use tracing::Span;

use super::{
    clause::{AfterWrite, HolderProof, LeaseEffect},
    options::LeaseOptions,
    queue::{
        dequeue::{dequeue, sweep},
        request::{DequeueReason, Duplicate},
    },
    record::{GrantKind, LockRecord, Waiters},
    row::Row,
    token::LockToken,
};
use crate::{
    clock::{self, Instant},
    codec::Item,
    error::{Error, Lost},
    retry::{Answered, Attempts, Connection, Limits, Purpose, RowSource, SeenRow},
    telemetry,
};

#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) connection: Arc<Connection>,
    pub(crate) row: Row,
    pub(crate) options: LeaseOptions,
    /// The time limit of a call of `extend` or `resume`, with all repetitions of the heartbeat.
    pub(super) deadline: Duration,
    pub(crate) kind: GrantKind,
    pub(crate) owner: Arc<str>,
    pub(crate) fence: u64,
    /// The fence of the previous holder, if the acquire call took over an expired lease.
    pub(crate) taken_over: Option<u64>,
    /// `Duplicate::Possible` if DynamoDB may still receive a delayed duplicate of the request that
    /// added the holder's entry to the queue.
    duplicate: Duplicate,
    pub(super) granted: Instant,
    lease: Mutex<LeaseState>,
    lost: watch::Sender<Option<Lost>>,
    pub(super) span: Span,
}

/// The fields of a [`Grant`] that come from DynamoDB's answer to a request, or from a lock token.
pub(crate) struct GrantFields {
    pub(crate) kind: GrantKind,
    pub(crate) owner: Arc<str>,
    pub(crate) fence: u64,
    pub(crate) taken_over: Option<u64>,
    pub(crate) beat: u64,
    pub(crate) waiters: Waiters,
    pub(crate) duplicate: Duplicate,
    /// A time just before the holder sent the request that started the lease.
    pub(crate) sent: Instant,
}

#[derive(Debug, Clone)]
pub(super) struct LeaseState {
    pub(super) beat: u64,
    /// The end of the lease by the monotonic clock of this machine. The lease of the holder begins
    /// just before the holder sends the request that acquires or renews the lease.
    deadline: Instant,
    pub(super) trouble: Option<Arc<str>>,
    /// `Waiters::Some` if the last received row of the lock showed a waiter behind the holder.
    pub(super) waiters: Waiters,
    /// The effect of the guard's last write. If DynamoDB refuses a heartbeat because a write of the
    /// guard has ended the lease, the lock counts as released, and not as lost.
    pub(super) ends: AfterWrite,
}

/// The difference between the heartbeat numbers of two processes that use the same lock token. In
/// practice, a process sends fewer than 2^20 heartbeats within one ttl. A delayed heartbeat of the
/// previous process has a lower number than each heartbeat of the process that resumes the token.
const BEAT_STRIDE: u64 = 1 << 20;

impl GrantFields {
    /// The holder has sent no heartbeat and has seen no waiter.
    pub(crate) fn new(kind: GrantKind, owner: Arc<str>, fence: u64, sent: Instant) -> Self {
        let (waiters, duplicate) = (Waiters::None, Duplicate::Impossible);
        Self { kind, owner, fence, taken_over: None, beat: 0, waiters, duplicate, sent }
    }
}

impl Grant {
    pub(crate) fn new(
        connection: &Arc<Connection>,
        deadline: Duration,
        row: Row,
        options: LeaseOptions,
        fields: GrantFields,
    ) -> Arc<Self> {
        let GrantFields { kind, owner, fence, taken_over, beat, waiters, duplicate, sent } = fields;
        let lease = LeaseState { beat, deadline: sent + options.ttl, trouble: None, waiters, ends: AfterWrite::Renew };
        let span = telemetry::lease_span(&row.table, fence);
        Arc::new(Self {
            connection: Arc::clone(connection),
            row,
            options,
            deadline,
            kind,
            owner,
            fence,
            taken_over,
            duplicate,
            granted: sent,
            lease: Mutex::new(lease),
            lost: watch::Sender::new(None),
            span,
        })
    }

    /// Delayed heartbeats of the previous process may still reach DynamoDB, so the first heartbeat
    /// number is far above the number in the token.
    pub(crate) fn resumed(
        connection: &Arc<Connection>,
        deadline: Duration,
        row: Row,
        options: LeaseOptions,
        token: LockToken,
    ) -> Arc<Self> {
        let LockToken { owner, fence, beat, ttl, kind, .. } = token;
        let options = LeaseOptions { ttl: ttl.min(LeaseOptions::LONGEST), ..options };
        let beat = beat.saturating_add(BEAT_STRIDE);
        let fields = GrantFields::new(kind, owner, fence, clock::now());
        Self::new(connection, deadline, row, options, GrantFields { beat, ..fields })
    }

    pub(crate) fn token(&self, name: &Arc<str>) -> LockToken {
        LockToken {
            name: Arc::clone(name),
            owner: Arc::clone(&self.owner),
            fence: self.fence,
            beat: self.lease().beat,
            ttl: self.options.ttl,
            kind: self.kind,
        }
    }

    /// The remaining time of a lost lock is zero.
    pub(crate) fn remaining(&self) -> Duration {
        match self.lost_now() {
            Some(_) => Duration::ZERO,
            None => self.lease().deadline.saturating_duration_since(clock::now()),
        }
    }

    /// Returns the reason why the lock is lost, or `None` if the lock is held. The first call of
    /// `lost_now` after the end of the lease records the reason.
    pub(crate) fn lost_now(&self) -> Option<Lost> {
        if let Some(lost) = &*self.lost.borrow() {
            return Some(lost.clone());
        }
        let lease = self.lease().clone();
        if clock::now() < lease.deadline {
            return None;
        }
        Some(self.lose(lease.trouble.map_or(Lost::Expired, Lost::Unreachable)))
    }

    /// Each poll of the returned future compares the clock with the end of the lease, because the
    /// timer of a blocked runtime may fire too late.
    pub(crate) async fn lost(&self) -> Lost {
        let mut waiting = pin!(async {
            let mut changes = self.lost.subscribe();
            loop {
                if let Some(lost) = self.lost_now() {
                    return lost;
                }
                let left = self.lease().deadline.saturating_duration_since(clock::now());
                // The code ignores the result of `within`, because the loop itself tests whether
                // the lock is lost. The watch channel stays open, because `self` owns the sender of
                // the channel.
                let _ = clock::within(left, changes.changed()).await;
            }
        });
        poll_fn(|context| match self.lost_now() {
            Some(lost) => Poll::Ready(lost),
            None => waiting.as_mut().poll(context),
        })
        .await
    }

    /// Each write that renews the lease has a new heartbeat number.
    pub(crate) fn holder(&self, after: AfterWrite) -> HolderProof {
        self.lease().ends = after;
        let effect = match after {
            AfterWrite::Release | AfterWrite::Delete => LeaseEffect::Release { now: self.options.now() },
            AfterWrite::Renew => LeaseEffect::Renew { beat: self.next_beat(), until: self.options.until() },
        };
        HolderProof { effect, ..self.guard() }
    }

    /// The returned proof is for a transaction that does not write the leased item.
    pub(crate) fn guard(&self) -> HolderProof {
        HolderProof { kind: self.kind, owner: Arc::clone(&self.owner), fence: self.fence, effect: LeaseEffect::Keep }
    }

    /// `sent` is a time just before the holder sent the request that renewed the lease.
    pub(crate) fn renewed(&self, sent: Instant) {
        let mut lease = self.lease();
        // The answer to an earlier renewal may arrive after the answer to a later renewal, and must
        // not shorten the lease.
        lease.deadline = lease.deadline.max(sent + self.options.ttl);
        lease.trouble = None;
    }

    pub(super) fn next_beat(&self) -> u64 {
        let mut lease = self.lease();
        lease.beat = lease.beat.saturating_add(1);
        lease.beat
    }

    /// Records what the lock's row shows after DynamoDB refused a request of the holder: the loss of
    /// the lock, or the heartbeat number of another process with the same lock token. The number of
    /// the holder's next heartbeat must exceed the number in the row.
    pub(crate) fn learn(&self, met: Option<&Item>) {
        match self.lease_error(met) {
            Some(Error::Lost(lost)) => drop(self.lose(lost)),
            Some(_) => {}
            None => self.pass_beat(met),
        }
    }

    /// Returns the reason why DynamoDB refused a request of the holder, or `None` if the row shows
    /// that the guard still holds the lock. A reason that the guard has recorded earlier takes
    /// precedence over the reason in the row.
    pub(crate) fn lease_error(&self, met: Option<&Item>) -> Option<Error> {
        if let Some(lost) = self.guard().lost(self.row.layout, met) {
            let lost = if self.shows_own_release(met) { Lost::Released } else { lost };
            return Some(Error::Lost(self.lost.borrow().clone().unwrap_or(lost)));
        }
        LockRecord::of(&self.row.layout, met).has_last_beat().then(|| Error::Corrupt {
            table: Arc::clone(&self.row.table),
            attribute: self.row.layout.beat,
            reason: "no heartbeat can be above it; another program has written it: remove it",
        })
    }

    fn pass_beat(&self, met: Option<&Item>) {
        let stored = LockRecord::of(&self.row.layout, met).beat.unwrap_or(0);
        let mut lease = self.lease();
        if stored >= lease.beat {
            // Delayed heartbeats of another process with the same lock token may still reach
            // DynamoDB, so the next heartbeat number is far above the stored number.
            lease.beat = stored.saturating_add(BEAT_STRIDE);
        }
    }

    /// The row looks the same after a release by the guard and after an operator has broken the
    /// lock, so only a guard that may have sent a release counts the row as its own release.
    fn shows_own_release(&self, met: Option<&Item>) -> bool {
        let released = met.and_then(|row| row.get(self.row.layout.released)).and_then(|owner| owner.as_s().ok());
        self.lease().ends != AfterWrite::Renew && released.is_some_and(|owner| **owner == *self.owner)
    }

    /// The release of a lost lock is not an error.
    pub(crate) async fn release(&self, over: &Arc<Connection>) -> Result<(), Error> {
        // The guard records the release before it sends the release request, so that code that
        // watches the lock stops before the next holder starts.
        self.end_by_release();
        let limits = Limits { deadline: self.options.ttl, ..Limits::default() };
        let mut attempts = Attempts::new(over, limits);
        match self.kind {
            GrantKind::Plain => self.release_plain(&mut attempts).await,
            GrantKind::Fair => self.leave_queue(&mut attempts, over).await,
        }
    }

    /// Releases a lock without a queue, and shares the row with the waiters of this process.
    async fn release_plain(&self, attempts: &mut Attempts) -> Result<(), Error> {
        let mut sent = clock::now();
        let request = || {
            sent = clock::now();
            self.row.release(&self.owner)
        };
        let answer = attempts.write(request).await?;
        let (Row { table, key, .. }, waiters) = (&self.row, &self.connection.local_waiters);
        match answer {
            Answered::Applied(before) => {
                let item = before.map(|before| self.row.after_release(before));
                let seen = || SeenRow { item, sent, source: RowSource::Removal };
                waiters.share_release(table, key, self.fence, seen);
            }
            // The row no longer contains the holder: an earlier attempt has released the lock, or
            // another caller or an operator has removed the holder.
            Answered::Refused(item) => {
                waiters.share(table, key, || SeenRow { item, sent, source: RowSource::ConsistentRead });
            }
        }
        Ok(())
    }

    /// Removes the holder's entry from the queue, or the whole queue if no caller waits. If the
    /// holder has seen no waiter, the holder first reads the lock's row, because a refused removal
    /// of the whole queue would cost another write.
    async fn leave_queue(&self, attempts: &mut Attempts, over: &Arc<Connection>) -> Result<(), Error> {
        let seen = self.lease().waiters;
        let waiters = match seen {
            // If the holder cannot read the row, the holder removes only its own queue entry,
            // because callers may wait behind the entry.
            Waiters::None => self.read(over, false).await.map_or(Waiters::Some, |record| record.waiters()),
            Waiters::Some => Waiters::Some,
        };
        let reason = DequeueReason::Leave { owner: Arc::clone(&self.owner), duplicate: self.duplicate };
        dequeue(&self.row, attempts, &reason, waiters, &self.options).await.map(drop)
    }

    /// Removes a queue without entries. A write that releases a leased item may leave an empty
    /// queue, because the holder does not know whether another caller waits for the lock.
    pub(crate) async fn sweep_queue(&self, over: &Arc<Connection>) {
        let record = self.read(over, true).await;
        if record.is_some_and(|record| record.has_empty_queue && record.fence == Some(self.fence)) {
            sweep(&self.row, over, self.fence, self.duplicate).await;
        }
    }

    async fn read(&self, over: &Arc<Connection>, consistent: bool) -> Option<LockRecord> {
        let once = Limits::of_one_request();
        // The read before the removal of a queue entry must be short, because the removal must
        // succeed before the lease ends.
        let limits = Limits { attempt_timeout: once.attempt_timeout.min(self.options.ttl / 4), ..once };
        let mut attempts = Attempts::new(over, limits).with_purpose(Purpose::Poll);
        let row = attempts.read(&self.row.get(consistent)).await.ok()?;
        Some(LockRecord::of(&self.row.layout, row.as_ref()))
    }

    /// Records that the guard has released the lock. If the lock was lost before the release, the
    /// reason of the loss stays recorded.
    pub(crate) fn end_by_release(&self) {
        if self.lost_now().is_none() {
            self.lose(Lost::Released);
        }
    }

    /// Records the reason why the lock is lost, and returns the recorded reason. A later reason
    /// never replaces the first recorded reason of the loss.
    pub(crate) fn lose(&self, lost: Lost) -> Lost {
        let mut cause = lost;
        let is_first = self.lost.send_if_modified(|slot| match slot {
            Some(first) => {
                cause = first.clone();
                false
            }
            None => {
                *slot = Some(cause.clone());
                true
            }
        });
        if is_first && cause != Lost::Released {
            telemetry::lease_lost(&self.span, &self.row.table, self.fence, &cause);
        }
        cause
    }

    pub(super) fn lease(&self) -> MutexGuard<'_, LeaseState> {
        // A panic cannot leave the lease state half-written, so the code ignores that the mutex is
        // poisoned.
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

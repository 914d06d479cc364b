//! The state of a lock that is held, and its release.

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

/// A lock that is held, with the state of its lease.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) connection: Arc<Connection>,
    pub(crate) row: Row,
    pub(crate) options: LeaseOptions,
    /// The longest time that a caller waits for one heartbeat, with all its retries.
    pub(super) deadline: Duration,
    pub(crate) kind: GrantKind,
    pub(crate) owner: Arc<str>,
    pub(crate) fence: u64,
    /// The fence of the previous holder, if this call took over its lease.
    pub(crate) taken_over: Option<u64>,
    /// Records whether a late copy of the enqueue may still arrive.
    duplicate: Duplicate,
    pub(super) granted: Instant,
    lease: Mutex<LeaseState>,
    lost: watch::Sender<Option<Lost>>,
    /// The span of the lease.
    pub(super) span: Span,
}

/// The fields of a grant that come from a request's answer or from a token.
pub(crate) struct GrantFields {
    pub(crate) kind: GrantKind,
    pub(crate) owner: Arc<str>,
    pub(crate) fence: u64,
    pub(crate) taken_over: Option<u64>,
    pub(crate) beat: u64,
    pub(crate) waiters: Waiters,
    pub(crate) duplicate: Duplicate,
    /// The time at which the request that started the lease was sent.
    pub(crate) sent: Instant,
}

/// The current state of a lease.
#[derive(Debug, Clone)]
pub(super) struct LeaseState {
    pub(super) beat: u64,
    /// The end of the lease by the monotonic clock of this machine. The lease counts from the time
    /// before the renewing request was sent.
    deadline: Instant,
    /// The reason why the last heartbeat failed.
    pub(super) trouble: Option<Arc<str>>,
    /// The waiters behind the holder, as the row showed them at the last read.
    pub(super) waiters: Waiters,
    /// `true` if a write that releases the lease may have been sent. If the write arrives before a
    /// heartbeat, the refused heartbeat is not a loss of the lock.
    releases: bool,
}

/// The distance between the beats of two processes that share one grant. A process sends fewer
/// heartbeats than this number during one lease. The beats of a process that resumes the grant are
/// therefore always above late heartbeats of the previous process.
const BEAT_STRIDE: u64 = 1 << 20;

impl GrantFields {
    /// Returns the fields of a grant that has sent no heartbeat and knows no waiters.
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
        let lease = LeaseState { beat, deadline: sent + options.ttl, trouble: None, waiters, releases: false };
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

    /// Makes a grant that another process has used before. Late heartbeats of that process may
    /// still arrive, so the new beats start above them.
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

    /// Returns the token with which another process can resume the grant.
    pub(crate) fn token(&self, name: &Arc<str>) -> LockToken {
        LockToken {
            name: Arc::clone(name),
            owner: Arc::clone(&self.owner),
            fence: self.fence,
            beat: self.last_beat(),
            ttl: self.options.ttl,
            kind: self.kind,
        }
    }

    /// Returns the time until another caller may acquire the lock.
    pub(crate) fn remaining(&self) -> Duration {
        match self.lost_now() {
            Some(_) => Duration::ZERO,
            None => self.lease().deadline.saturating_duration_since(clock::now()),
        }
    }

    /// Returns the reason why the lock is lost, or `None` if it is held. The first call after the
    /// end of the lease records the reason.
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

    /// Waits until the lock is lost, at the latest at the deadline of its lease.
    ///
    /// Each poll compares the clock with the deadline, because the timer of a blocked runtime may
    /// fire too late.
    pub(crate) async fn lost(&self) -> Lost {
        let mut waiting = pin!(self.wait_for_loss());
        poll_fn(|context| match self.lost_now() {
            Some(lost) => Poll::Ready(lost),
            None => waiting.as_mut().poll(context),
        })
        .await
    }

    async fn wait_for_loss(&self) -> Lost {
        let mut changes = self.lost.subscribe();
        loop {
            if let Some(lost) = self.lost_now() {
                return lost;
            }
            let left = self.lease().deadline.saturating_duration_since(clock::now());
            // The loop decides whether the state changed or the deadline passed. The sender lives
            // as long as `self`, so the channel is open.
            let _ = clock::within(left, changes.changed()).await;
        }
    }

    /// Returns the proof for a write of the item. The proof contains the effect of the write on the
    /// lease.
    pub(crate) fn holder(&self, after: AfterWrite) -> HolderProof {
        let effect = match after {
            AfterWrite::Release => {
                self.lease().releases = true;
                LeaseEffect::Release { now: self.options.now() }
            }
            AfterWrite::Renew => LeaseEffect::Renew { beat: self.next_beat(), until: self.options.until() },
        };
        HolderProof { kind: self.kind, owner: Arc::clone(&self.owner), fence: self.fence, effect }
    }

    /// Returns the proof for a transaction that does not write the item.
    pub(crate) fn guard(&self) -> HolderProof {
        HolderProof { kind: self.kind, owner: Arc::clone(&self.owner), fence: self.fence, effect: LeaseEffect::Keep }
    }

    /// Records that a request renewed the lease. The request was sent at `sent` or later.
    pub(crate) fn renewed(&self, sent: Instant) {
        let mut lease = self.lease();
        // The answers of two renewals may arrive in another order than they were sent.
        lease.deadline = lease.deadline.max(sent + self.options.ttl);
        lease.trouble = None;
    }

    pub(super) fn next_beat(&self) -> u64 {
        let mut lease = self.lease();
        lease.beat = lease.beat.saturating_add(1);
        lease.beat
    }

    /// Interprets the row that refused a heartbeat or a write. `Ok` means that the lock is held and
    /// another process sent a later beat. The next beat will then be above the stored beat.
    pub(crate) fn judge(&self, met: Option<&Item>) -> Result<(), Error> {
        match self.refusal(met) {
            Some(error) => Err(error),
            None => {
                self.pass_beat(met);
                Ok(())
            }
        }
    }

    /// Returns the error of a row that refused a heartbeat or a write, or `None` if the lock is
    /// still held.
    pub(crate) fn refusal(&self, met: Option<&Item>) -> Option<Error> {
        if let Some(lost) = self.guard().lost(self.row.layout, met) {
            return Some(Error::Lost(if self.shows_own_release(met) { Lost::Released } else { lost }));
        }
        LockRecord::of(&self.row.layout, met).has_last_beat().then(|| Error::Corrupt {
            table: Arc::clone(&self.row.table),
            attribute: self.row.layout.beat,
            reason: "no heartbeat can be above it; another program has written it: remove it",
        })
    }

    /// Raises the next beat above the beat of the stored row.
    pub(crate) fn pass_beat(&self, met: Option<&Item>) {
        let stored = LockRecord::of(&self.row.layout, met).beat.unwrap_or(0);
        let mut lease = self.lease();
        if stored >= lease.beat {
            // Another process uses or used this grant. Later heartbeats of that process may still
            // arrive.
            lease.beat = stored.saturating_add(BEAT_STRIDE);
        }
    }

    /// Returns whether a row shows that a write of this guard has released the lease. The break of
    /// a lock by an operator writes the same attribute. The attribute is therefore a proof only
    /// after this guard has sent a write that releases the lease.
    fn shows_own_release(&self, met: Option<&Item>) -> bool {
        let released = met.and_then(|row| row.get(self.row.layout.released)).and_then(|owner| owner.as_s().ok());
        self.lease().releases && released.is_some_and(|owner| **owner == *self.owner)
    }

    /// Releases the lock. The release of a lost lock is not an error.
    pub(crate) async fn release(&self, over: &Arc<Connection>) -> Result<(), Error> {
        // The end is recorded before the request, so that code that watches the lock stops before
        // the next holder starts.
        self.end_by_release();
        let limits = Limits { deadline: self.options.ttl, ..Limits::default() };
        let mut attempts = Attempts::new(over, limits);
        match self.kind {
            GrantKind::Plain => self.release_plain(&mut attempts).await,
            GrantKind::Fair => self.leave_queue(&mut attempts, over).await,
        }
    }

    /// Releases a plain lock, and shares the row with the waiters of this process.
    async fn release_plain(&self, attempts: &mut Attempts) -> Result<(), Error> {
        let mut sent = clock::now();
        let request = || {
            sent = clock::now();
            self.row.release(&self.owner)
        };
        let item = match attempts.write(request).await? {
            Answered::Applied(before) => before.map(|before| self.row.after_release(before)),
            Answered::Refused(met) => met,
        };
        let Row { table, key, .. } = &self.row;
        let seen = || SeenRow { item, sent, source: RowSource::Removal };
        self.connection.local_waiters.share_release(table, key, self.fence, seen);
        Ok(())
    }

    /// Removes the holder's entry from the queue. If no entry follows, removes the queue as well.
    /// One expression cannot remove either an entry or the queue, and a wrong guess costs another
    /// write. A holder that has seen no waiter therefore reads the row first, eventually
    /// consistent.
    async fn leave_queue(&self, attempts: &mut Attempts, over: &Arc<Connection>) -> Result<(), Error> {
        let seen = self.lease().waiters;
        let waiters = match seen {
            // If the read fails, the request that keeps the queue is correct in both cases.
            Waiters::None => self.read(over, false).await.map_or(Waiters::Some, |record| record.waiters()),
            Waiters::Some => Waiters::Some,
        };
        let reason = DequeueReason::Leave { owner: Arc::clone(&self.owner), duplicate: self.duplicate };
        dequeue(&self.row, attempts, &reason, waiters, &self.options).await.map(drop)
    }

    /// Removes an empty queue. A write of the item may leave an empty queue, because the write does
    /// not know whether another entry follows.
    pub(crate) async fn sweep_queue(&self, over: &Arc<Connection>) {
        let record = self.read(over, true).await;
        if record.is_some_and(|record| record.has_empty_queue && record.fence == Some(self.fence)) {
            sweep(&self.row, over, self.fence, self.duplicate).await;
        }
    }

    async fn read(&self, over: &Arc<Connection>, consistent: bool) -> Option<LockRecord> {
        let once = Limits::of_one_request();
        // A slow read must not use up the lease, because the dequeue that follows needs it.
        let limits = Limits { attempt_timeout: once.attempt_timeout.min(self.options.ttl / 4), ..once };
        let mut attempts = Attempts::new(over, limits).with_purpose(Purpose::Poll);
        let row = attempts.read(&self.row.get(consistent)).await.ok()?;
        Some(LockRecord::of(&self.row.layout, row.as_ref()))
    }

    /// Records that the guard has released the lock. If the lease has already ended, the earlier
    /// reason stays.
    pub(crate) fn end_by_release(&self) {
        if self.lost_now().is_none() {
            self.lose(Lost::Released);
        }
    }

    /// Records the reason why the lock is lost, and returns the recorded reason. The first recorded
    /// reason is never replaced.
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
        // A panic cannot leave the state half-written, so a poisoned lock is used like any other.
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of the last heartbeat that was sent.
    pub(crate) fn last_beat(&self) -> u64 {
        self.lease().beat
    }
}

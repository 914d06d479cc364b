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
    /// The time limit of one call of `extend` or `resume`, including all retries of its heartbeat.
    pub(super) deadline: Duration,
    pub(crate) kind: GrantKind,
    pub(crate) owner: Arc<str>,
    pub(crate) fence: u64,
    /// The fence of the previous holder, if the acquire call took over an expired lease.
    pub(crate) taken_over: Option<u64>,
    duplicate: Duplicate,
    pub(super) granted: Instant,
    lease: Mutex<LeaseState>,
    lost: watch::Sender<Option<Lost>>,
    pub(super) span: Span,
}

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
    /// The end of the lease, counted from just before the request that acquired or last renewed the
    /// lease.
    deadline: Instant,
    pub(super) trouble: Option<Arc<str>>,
    pub(super) waiters: Waiters,
    /// The effect that the guard's last write has on the lease.
    pub(super) ends: AfterWrite,
}

/// A process that resumes a lock adds `BEAT_STRIDE` to the heartbeat number in the lock token. No
/// process sends `BEAT_STRIDE` heartbeats within a ttl, so the new number is higher than each
/// number of the process that detached the lock. DynamoDB therefore refuses the delayed heartbeats
/// of that process.
const BEAT_STRIDE: u64 = 1 << 20;

impl GrantFields {
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

    pub(crate) fn remaining(&self) -> Duration {
        match &*self.lost.borrow() {
            Some(_) => Duration::ZERO,
            None => self.lease().deadline.saturating_duration_since(clock::now()),
        }
    }

    /// If the lease has ended, `lost_now` records the loss of the lock.
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
                // The result of `within` does not matter, because the loop itself tests whether the
                // lock is lost.
                let _ = clock::within(left, changes.changed()).await;
            }
        });
        poll_fn(|context| match self.lost_now() {
            Some(lost) => Poll::Ready(lost),
            None => waiting.as_mut().poll(context),
        })
        .await
    }

    pub(crate) fn holder(&self, after: AfterWrite) -> HolderProof {
        self.lease().ends = after;
        let effect = match after {
            AfterWrite::Release | AfterWrite::Delete => LeaseEffect::Release { now: self.options.now() },
            AfterWrite::Renew => LeaseEffect::Renew { beat: self.next_beat(), until: self.options.until() },
        };
        HolderProof { effect, ..self.guard() }
    }

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

    /// `met` is the row that DynamoDB returned with a refused request. If the row shows that the
    /// lock is lost, `learn` records the loss. Otherwise, `learn` records the heartbeat number of
    /// the row, because the next heartbeat needs a higher number.
    pub(crate) fn learn(&self, met: Option<&Item>) {
        match self.lease_error(met) {
            Some(Error::Lost(lost)) => drop(self.lose(lost)),
            Some(_) => {}
            None => self.pass_beat(met),
        }
    }

    /// Returns `None` if the row `met` shows that the holder still has the lock and can renew the
    /// lease. A loss that the guard has already recorded takes precedence over the loss that the
    /// row shows.
    pub(crate) fn lease_error(&self, met: Option<&Item>) -> Option<Error> {
        if let Some(lost) = self.guard().lost(self.row.layout, met) {
            let lost = if self.shows_own_release(met) { Lost::Released } else { lost };
            return Some(Error::Lost(self.lost.borrow().clone().unwrap_or(lost)));
        }
        LockRecord::of(&self.row.layout, met).has_last_beat().then(|| Error::Corrupt {
            table: Arc::clone(&self.row.table),
            key: None,
            attribute: self.row.layout.beat,
            reason: "no heartbeat can be above it; another program has written it: remove it",
            applied: false,
        })
    }

    fn pass_beat(&self, met: Option<&Item>) {
        let stored = LockRecord::of(&self.row.layout, met).beat.unwrap_or(0);
        let mut lease = self.lease();
        if stored >= lease.beat {
            lease.beat = stored.saturating_add(BEAT_STRIDE);
        }
    }

    /// Returns `true` if the row shows a release by this guard. The holder's release and an
    /// operator's `break_lock` leave the same attributes in the row, so the result is `false` if
    /// this guard has sent no release.
    fn shows_own_release(&self, met: Option<&Item>) -> bool {
        let released = met.and_then(|row| row.get(self.row.layout.released)).and_then(|owner| owner.as_s().ok());
        self.lease().ends != AfterWrite::Renew && released.is_some_and(|owner| **owner == *self.owner)
    }

    /// The release of a lost lock is not an error.
    pub(crate) async fn release(&self, over: &Arc<Connection>) -> Result<(), Error> {
        // The guard records the release before it sends the request, so that code that watches the
        // lock stops before the next holder starts.
        self.end_by_release();
        let limits = Limits { deadline: self.options.ttl, ..Limits::default() };
        let mut attempts = Attempts::new(over, limits);
        match self.kind {
            GrantKind::Plain => self.release_plain(&mut attempts).await,
            GrantKind::Fair => self.leave_queue(&mut attempts, over).await,
        }
    }

    async fn release_plain(&self, attempts: &mut Attempts) -> Result<(), Error> {
        let mut sent = clock::now();
        let request = || {
            sent = clock::now();
            self.row.release(&self.owner)
        };
        let answer = attempts.write(request).await?;
        match answer {
            Answered::Applied(before) => {
                self.share_release(before.map(|before| self.row.after_release(before)), sent);
            }
            // The row no longer contains the holder: an earlier attempt has released the lock, or
            // another caller has removed the holder.
            Answered::Refused(item) => self.share_read(item, sent),
        }
        Ok(())
    }

    /// Wakes the waiters of this process after the release of a lock without a fair queue.
    pub(super) fn share_release(&self, item: Option<Item>, sent: Instant) {
        let (Row { table, key, .. }, waiters) = (&self.row, &self.connection.local_waiters);
        let seen = || SeenRow { item, sent, source: RowSource::Removal };
        waiters.share_release(table, key, self.fence, seen);
    }

    fn share_read(&self, item: Option<Item>, sent: Instant) {
        let (Row { table, key, .. }, waiters) = (&self.row, &self.connection.local_waiters);
        waiters.share(table, key, || SeenRow { item, sent, source: RowSource::ConsistentRead });
    }

    /// If the holder has seen no waiter, the holder reads the lock's row before it removes the
    /// queue. DynamoDB refuses the removal of a queue with waiters, and a refused removal costs
    /// more than a read.
    async fn leave_queue(&self, attempts: &mut Attempts, over: &Arc<Connection>) -> Result<(), Error> {
        let seen = self.lease().waiters;
        let waiters = match seen {
            // After a failed read, callers may wait behind the holder, so the holder removes only
            // its own entry.
            Waiters::None => {
                let row = self.read(over, false).await;
                row.map_or(Waiters::Some, |row| self.record(row.as_ref()).waiters())
            }
            Waiters::Some => Waiters::Some,
        };
        let reason = DequeueReason::Leave { owner: Arc::clone(&self.owner), duplicate: self.duplicate };
        dequeue(&self.row, attempts, &reason, waiters, &self.options).await.map(drop)
    }

    /// Reads the row after a write that has released the lease of an item. The read passes the row
    /// to the waiters of this process, and shows whether the queue is empty. A write that releases
    /// the lease of an item removes only the holder's entry. If the queue is then empty, a second
    /// request removes the queue.
    pub(crate) async fn sweep_queue(&self, over: &Arc<Connection>) {
        let sent = clock::now();
        let Some(row) = self.read(over, true).await else { return };
        let record = self.record(row.as_ref());
        self.share_read(row, sent);
        if record.has_empty_queue && record.fence == Some(self.fence) {
            sweep(&self.row, over, self.fence, self.duplicate).await;
        }
    }

    fn record(&self, row: Option<&Item>) -> LockRecord {
        LockRecord::of(&self.row.layout, row)
    }

    /// Returns `None` if the read fails, and `Some(None)` if the row is missing.
    async fn read(&self, over: &Arc<Connection>, consistent: bool) -> Option<Option<Item>> {
        let once = Limits::of_one_request();
        // The read before the removal of a queue entry must be short, because the removal must
        // succeed before the lease ends.
        let limits = Limits { attempt_timeout: once.attempt_timeout.min(self.options.ttl / 4), ..once };
        let mut attempts = Attempts::new(over, limits).with_purpose(Purpose::Poll);
        attempts.read(&self.row.get(consistent)).await.ok()
    }

    pub(crate) fn end_by_release(&self) {
        if self.lost_now().is_none() {
            self.lose(Lost::Released);
        }
    }

    /// Returns the first recorded reason of the loss. A later reason never replaces the first
    /// reason.
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
        // A panic cannot leave the lease state half-written, so a poisoned mutex is harmless.
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

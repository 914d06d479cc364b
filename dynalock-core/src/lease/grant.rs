//! A lock that is held: what is known of its lease, and the task that renews it.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Poll,
    time::Duration,
};

use tokio::sync::watch;

use super::{
    clause::{AfterWrite, GrantKind, HolderProof, LeaseEffect},
    options::LeaseOptions,
    queue::request::Duplicate,
    record::{LockRecord, Waiters},
    row::{HeartbeatFields, Row},
    token::LockToken,
};
use crate::{
    clock::{self, Instant},
    codec::Item,
    error::{Error, Lost},
    random,
    retry::{Answered, Attempts, Connection, Limits},
};

/// A grant, for as long as it is held.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) connection: Arc<Connection>,
    pub(crate) row: Row,
    pub(crate) options: LeaseOptions,
    pub(crate) hold: GrantKind,
    pub(crate) owner: Arc<str>,
    pub(crate) fence: u64,
    /// The fence of the holder before, if this call took its lease over.
    pub(crate) taken_over: Option<u64>,
    /// Whether a copy of the request for its place in the queue may come yet.
    pub(crate) duplicate: Duplicate,
    granted: Instant,
    lease: Mutex<LeaseState>,
    lost: watch::Sender<Option<Lost>>,
}

/// What is known of the lease.
#[derive(Debug, Clone)]
struct LeaseState {
    beat: u64,
    /// When it ends by this machine's monotonic clock, counted from before the request that renewed it was sent.
    deadline: Instant,
    /// Why the last heartbeat failed.
    trouble: Option<Arc<str>>,
    /// Who stood behind it in the queue, when that was seen last.
    waiters: Waiters,
}

/// What became of a heartbeat of a lock that is held still.
enum BeatResult {
    Renewed,
    /// A later one was first: how long the lease lasts is not known by this one.
    Overtaken,
}

/// The distance that a process keeps from the beats of another process under the same grant. It is more than one sends while its lease lasts, so
/// a late heartbeat of a process that has died is always below those of the process that goes on.
const BEAT_STRIDE: u64 = 1 << 20;

impl Grant {
    pub(crate) fn new(
        (connection, row, options): (Arc<Connection>, Row, LeaseOptions),
        (hold, owner): (GrantKind, Arc<str>),
        (fence, taken_over): (u64, Option<u64>),
        beat: u64,
        sent: Instant,
    ) -> Self {
        let lease = LeaseState { beat, deadline: sent + options.ttl, trouble: None, waiters: Waiters::None };
        let (lease, lost) = (Mutex::new(lease), watch::Sender::new(None));
        let duplicate = Duplicate::Impossible;
        Self { connection, row, options, hold, owner, fence, taken_over, duplicate, granted: sent, lease, lost }
    }

    /// A grant that another process has begun to use. Its heartbeats may still be on their way.
    pub(crate) fn resumed(connection: &Arc<Connection>, row: Row, options: LeaseOptions, token: LockToken) -> Self {
        let LockToken { owner, fence, beat, ttl, hold, .. } = token;
        let options = LeaseOptions { ttl: ttl.min(LeaseOptions::LONGEST), ..options };
        let of = (Arc::clone(connection), row, options);
        Self::new(of, (hold, owner), (fence, None), beat.saturating_add(BEAT_STRIDE), clock::now())
    }

    /// That of a place in a queue.
    pub(crate) fn with_place(self, waiters: Waiters, duplicate: Duplicate) -> Self {
        self.lease().waiters = waiters;
        Self { duplicate, ..self }
    }

    /// The token that another process can resume it with.
    pub(crate) fn token(&self, name: &Arc<str>) -> LockToken {
        LockToken {
            name: Arc::clone(name),
            owner: Arc::clone(&self.owner),
            fence: self.fence,
            beat: self.last_beat(),
            ttl: self.options.ttl,
            hold: self.hold,
        }
    }

    /// The time that is left before somebody else may enter.
    pub(crate) fn remaining(&self) -> Duration {
        match self.is_lost() {
            Some(_) => Duration::ZERO,
            None => self.lease().deadline.saturating_duration_since(clock::now()),
        }
    }

    /// Why it is lost, if it is.
    pub(crate) fn is_lost(&self) -> Option<Lost> {
        if let Some(lost) = &*self.lost.borrow() {
            return Some(lost.clone());
        }
        let lease = self.lease().clone();
        if clock::now() < lease.deadline {
            return None;
        }
        Some(self.lose(lease.trouble.map_or(Lost::Expired, Lost::Unreachable)))
    }

    /// Ends when the lock is lost, at the latest at the deadline of its lease.
    ///
    /// Each poll compares the clock with the deadline: on a runtime that stood still, the timer has not fired yet.
    pub(crate) async fn lost(&self) -> Lost {
        let mut waiting = pin!(self.wait_for_loss());
        poll_fn(|context| match self.is_lost() {
            Some(lost) => Poll::Ready(lost),
            None => waiting.as_mut().poll(context),
        })
        .await
    }

    async fn wait_for_loss(&self) -> Lost {
        let mut changes = self.lost.subscribe();
        loop {
            if let Some(lost) = self.is_lost() {
                return lost;
            }
            let left = self.lease().deadline.saturating_duration_since(clock::now());
            // Whether that was a change or the deadline is looked up above. The sender lives as long as `self`.
            let _ = clock::within(left, changes.changed()).await;
        }
    }

    /// Renews the lease with one heartbeat, which is sent again until the lease ends.
    pub(crate) async fn beat(&self) -> Result<(), Error> {
        self.beat_with(None).await
    }

    /// As [`beat`](Self::beat), with what the holder leaves in the lock.
    pub(crate) async fn beat_with(&self, payload: Option<&[u8]>) -> Result<(), Error> {
        self.beat_over(&self.connection, payload).await
    }

    async fn beat_over(&self, connection: &Arc<Connection>, payload: Option<&[u8]>) -> Result<(), Error> {
        let pause = self.options.ttl / 40;
        loop {
            if let Some(lost) = self.is_lost() {
                return Err(Error::Lost(lost));
            }
            match self.beat_once(connection, payload).await {
                Ok(BeatResult::Renewed) => return Ok(()),
                Ok(BeatResult::Overtaken) => {}
                Err(Error::Lost(lost)) => return Err(Error::Lost(self.lose(lost))),
                Err(
                    error @ (Error::Rejected(_)
                    | Error::Misconfigured(_)
                    | Error::TableNotFound { .. }
                    | Error::TableMismatch { .. }
                    | Error::Corrupt { .. }),
                ) => {
                    self.lease().trouble = Some(error.to_string().into());
                    return Err(error);
                }
                Err(error) => {
                    tracing::debug!(%error, "a heartbeat failed");
                    self.lease().trouble = Some(error.to_string().into());
                }
            }
            // Also after one that was overtaken: two who overtake each other would send without a pause.
            clock::sleep(pause.min(self.remaining())).await;
        }
    }

    /// What a write under the lease asks for and does to it.
    pub(crate) fn holder(&self, ends: AfterWrite) -> HolderProof {
        let then = match ends {
            AfterWrite::Release => LeaseEffect::Release { at: self.options.now() },
            AfterWrite::Renew => LeaseEffect::Renew { beat: self.next_beat(), until: self.options.until() },
        };
        HolderProof { hold: self.hold, owner: Arc::clone(&self.owner), fence: self.fence, then }
    }

    /// What a transaction asks for that does not write the item.
    pub(crate) fn guard(&self) -> HolderProof {
        HolderProof { hold: self.hold, owner: Arc::clone(&self.owner), fence: self.fence, then: LeaseEffect::Keep }
    }

    /// A request that renews the lease was answered; it was sent no earlier than this.
    pub(crate) fn renewed(&self, sent: Instant) {
        let mut lease = self.lease();
        lease.deadline = lease.deadline.max(sent + self.options.ttl);
        lease.trouble = None;
    }

    fn next_beat(&self) -> u64 {
        let mut lease = self.lease();
        lease.beat = lease.beat.saturating_add(1);
        lease.beat
    }

    /// One heartbeat, one request.
    async fn beat_once(&self, connection: &Arc<Connection>, payload: Option<&[u8]>) -> Result<BeatResult, Error> {
        let beat = self.next_beat();
        // A request that is lost must leave time for others, and one that is slow must have a chance.
        let patience = (self.options.ttl / 10).max((self.options.ttl / 4).min(Duration::from_millis(500)));
        let limits = Limits { attempt_timeout: patience, deadline: self.options.ttl, ..Limits::of_one_request() };
        let sent = clock::now();
        let mut attempts = Attempts::new(connection, limits);
        let answer = attempts.update(|| {
            let beat = HeartbeatFields { fence: self.fence, number: beat, until: self.options.until(), payload };
            self.row.beat(self.hold, &self.owner, &beat)
        });
        match answer.await? {
            Answered::Applied(before) => {
                self.renewed(sent);
                self.lease().waiters = LockRecord::of(&self.row.layout, before.as_ref()).waiters();
                Ok(BeatResult::Renewed)
            }
            Answered::Refused(met) => self.judge(met.as_ref()).map(|()| BeatResult::Overtaken),
        }
    }

    /// Says what a refused heartbeat, or write, shows: `Ok` if only a later beat was first, and the next one will be above that.
    pub(crate) fn judge(&self, met: Option<&Item>) -> Result<(), Error> {
        if let Some(lost) = self.guard().lost(self.row.layout, met) {
            return Err(Error::Lost(lost));
        }
        let record = LockRecord::of(&self.row.layout, met);
        if record.has_last_beat() {
            return Err(Error::Corrupt {
                table: Arc::clone(&self.row.table),
                attribute: self.row.layout.beat,
                reason: "no heartbeat can be above it; another program has written it: remove it",
            });
        }
        let stored = record.beat.unwrap_or(0);
        let mut lease = self.lease();
        if stored >= lease.beat {
            // Another process uses this grant, or did: later ones of its heartbeats may be on their way.
            lease.beat = stored.saturating_add(BEAT_STRIDE);
        }
        Ok(())
    }

    /// Lets the next one in. A lock that is lost already is none of ours to release.
    pub(crate) async fn release(&self, over: &Arc<Connection>) -> Result<(), Error> {
        // Before the next one may enter.
        self.lose(Lost::Expired);
        let limits = Limits { deadline: self.options.ttl, ..Limits::default() };
        let mut attempts = Attempts::new(over, limits);
        match self.hold {
            GrantKind::Plain => attempts.update(|| self.row.disown(&self.owner)).await.map(drop),
            GrantKind::Fair => self.leave(&mut attempts, over).await,
        }
    }

    /// Beats until the lock is lost or dropped, or held for as long as it may be.
    pub(crate) async fn keep(self: Arc<Self>, over: Arc<Connection>) {
        let grant = Arc::downgrade(&self);
        let mut rng = random::generator();
        let ttl = self.options.ttl;
        // A third of a ttl after the request that was acknowledged last was sent, however long its answer took.
        let next = |remaining: Duration| remaining.saturating_sub(ttl / 3 * 2).max(ttl / 40);
        let mut pause = next(self.remaining());
        let last = self.options.max_hold.and_then(|longest| self.granted.checked_add(longest));
        drop(self);
        loop {
            clock::sleep(pause.mul_f64(0.9 + 0.2 * rng.f64())).await;
            let Some(grant) = grant.upgrade() else { return };
            if last.is_some_and(|last| clock::now() >= last) {
                return;
            }
            pause = match grant.beat_over(&over, None).await {
                Ok(()) => next(grant.remaining()),
                Err(Error::Lost(_)) => return,
                // Credentials and tables come back: as long as the lease lasts.
                Err(_) => ttl / 12,
            };
        }
    }

    /// The first cause stays.
    pub(crate) fn lose(&self, lost: Lost) -> Lost {
        let mut cause = lost;
        self.lost.send_if_modified(|slot| match slot {
            Some(first) => {
                cause = first.clone();
                false
            }
            None => {
                *slot = Some(cause.clone());
                true
            }
        });
        cause
    }

    /// Who stands behind it in the queue, as it was seen last.
    pub(crate) fn waiters(&self) -> Waiters {
        self.lease().waiters
    }

    fn lease(&self) -> MutexGuard<'_, LeaseState> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the last beat that was sent.
    pub(crate) fn last_beat(&self) -> u64 {
        self.lease().beat
    }
}

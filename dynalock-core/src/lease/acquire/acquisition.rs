use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::future::{Either, select};
use tokio::sync::oneshot;

use super::{holds::WaiterPlace, observer::ExpiryObserver, polls::Polls, spec::AcquireSpec};
use crate::{
    clock::{self, Instant},
    codec::Item,
    error::{Error, Result, Spent, Unavailable},
    lease::{
        grant::Grant,
        held_grant::{HeldGrant, KeptGrant},
        options::Wait,
        queue::dequeue::{DequeueResult, evict},
        record::LockRecord,
    },
    random,
    retry::{Answered, Attempts, Backoff, Limits, Purpose, RowSource, SeenRow},
    telemetry::{self, detached, failure},
};

/// The time limit of a request that a call sends after the end of its wait, for example to remove
/// its queue entry.
pub(crate) const LAST_REQUEST: Duration = Duration::from_millis(50);

pub(crate) struct Acquisition<'a> {
    pub(crate) spec: &'a AcquireSpec,
    order: Order,
    /// The owner text of the next attempt. After the call has entered a queue, `owner` is the
    /// call's entry in the queue.
    pub(crate) owner: Arc<str>,
    pub(crate) observer: ExpiryObserver,
    pub(crate) polls: Polls<'a>,
    /// The number of attempts to acquire the lock, including the current attempt.
    requests: u32,
    started: Instant,
    /// `end` is `None` if the call waits without a limit.
    end: Option<Instant>,
    /// The fence of the last holder whose expired lease the call has removed.
    taken_over: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    Any,
    /// The queue may have at most `most` entries.
    Fair {
        most: usize,
    },
}

pub(crate) enum AttemptResult<G, D> {
    Granted(G),
    Denied(D),
    /// DynamoDB granted the lock, but the lease ended before the call could use the lock.
    GrantOver,
}

pub(crate) struct Denial {
    /// The index of the lock in the list of the call's locks.
    pub(crate) index: usize,
    pub(crate) record: LockRecord,
}

pub(crate) struct Acquired {
    pub(crate) grant: Arc<Grant>,
    /// The last received state of the lock's row, or of the leased item.
    pub(crate) row: Option<Item>,
}

/// The channel sender for the result of an acquire call. The method `closed` of this sender waits
/// until the caller has dropped the future of the acquire call.
pub(crate) type Caller = oneshot::Sender<Result<Vec<KeptGrant>>>;

pub(crate) enum Stop {
    Failed(Error),
    CallerGone,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl<'a> Acquisition<'a> {
    pub(crate) fn new(spec: &'a AcquireSpec, order: Order, owner: Arc<str>) -> Self {
        let started = clock::now();
        let end = match spec.wait {
            Wait::No => Some(started),
            Wait::For(duration) => started.checked_add(duration),
            Wait::Forever => None,
        };
        let (observer, polls) = (ExpiryObserver::new(spec.options, spec.row.layout.unit), Polls::new(spec));
        Self { spec, order, owner, observer, polls, requests: 0, started, end, taken_over: None }
    }

    pub(crate) fn begin_attempt(&mut self) {
        self.requests += 1;
    }

    /// Returns the time limit of the next request of the call. For a call that waits, the limit is
    /// the remaining wait, but at least [`LAST_REQUEST`]. The limit is never longer than
    /// `limits.deadline`.
    pub(crate) fn deadline(&self, limits: Limits) -> Duration {
        match self.is_single_attempt() {
            true => limits.deadline,
            false => limits.deadline.min(self.remaining_wait().max(LAST_REQUEST)),
        }
    }

    pub(crate) fn attempts(&self) -> Attempts {
        self.attempts_within(self.spec.limits)
    }

    pub(crate) fn attempts_within(&self, limits: Limits) -> Attempts {
        let AcquireSpec { call_cost, connection, .. } = self.spec;
        let limits = Limits { deadline: self.deadline(limits), ..limits };
        Attempts::on(call_cost.clone(), connection, limits).with_purpose(Purpose::Acquire)
    }

    pub(crate) fn polling(&self) -> Attempts {
        self.attempts().with_purpose(Purpose::Poll)
    }

    pub(crate) fn is_single_attempt(&self) -> bool {
        self.end == Some(self.started)
    }

    pub(crate) fn remaining_wait(&self) -> Duration {
        self.end.map_or(Duration::MAX, |end| end.saturating_duration_since(clock::now()))
    }

    fn elapsed(&self) -> Duration {
        clock::now().duration_since(self.started)
    }

    pub(crate) fn spent(&self) -> Spent {
        Spent::new(self.requests, self.elapsed())
            .with_cost(self.spec.call_cost.as_ref().map(|call_cost| call_cost.cost()))
    }

    /// Returns the fence of the expired holder that the call has removed. Returns `None` if other
    /// grants lie between this holder and the grant with the fence `fence`.
    pub(crate) fn taken_over_before(&self, fence: u64) -> Option<u64> {
        // Each grant raises the fence by one.
        self.taken_over.filter(|expired| expired.checked_add(1) == Some(fence))
    }

    /// With [`Order::Fair`], the condition of the enter request requires that the row has no owner
    /// attribute.
    fn is_denied_by(&self, record: &LockRecord) -> bool {
        match self.order {
            Order::Any => record.is_held_by_another(&self.owner),
            Order::Fair { .. } => record.owner.is_some(),
        }
    }

    pub(crate) fn observe(&mut self, record: LockRecord) {
        self.polls.observe(&record);
        self.observer.observe(record);
    }

    /// `places` is the number of queue entries before the waiter's entry.
    pub(crate) fn pause_in_queue(&mut self, places: usize) -> Duration {
        let places = u32::try_from(places).unwrap_or(u32::MAX);
        self.observer.pause_in_queue(self.polls.pause(WaiterPlace::Behind(places)))
    }

    /// Returns whether the call must send the next attempt to acquire the lock.
    async fn poll(&mut self) -> Result<bool, Error> {
        // If the item to lock is missing, DynamoDB would refuse an attempt to acquire the lease.
        if self.observer.record().is_none() {
            return Ok(false);
        }
        // The condition of the acquire request tests the end of the lease, so the call needs no
        // read of the lock's row.
        if self.observer.remaining().is_zero() {
            self.observer.expects_the_end();
            return Ok(true);
        }
        let sent = clock::now();
        let item = self.polling().read(&self.spec.row.get(false)).await?;
        let seen = SeenRow { item, sent, source: RowSource::EventualRead };
        self.polls.share(&seen);
        let record = LockRecord::of(&self.spec.row.layout, seen.item.as_ref());
        let is_denied = self.is_denied_by(&record);
        match is_denied {
            true => self.observe(record),
            false => self.observer.saw_free(),
        }
        Ok(!is_denied)
    }

    /// Removes an expired holder, or waits for the release or the end of the holder's lease.
    /// Returns an error if the queue is full.
    ///
    /// A separate request removes an expired holder. An enter request cannot remove a holder, and
    /// the answer to a transaction for several locks does not show the previous holders.
    pub(crate) async fn after_denial(&mut self, record: LockRecord, caller: &mut Caller) -> Result<(), Stop> {
        let is_full =
            matches!(self.order, Order::Fair { most } if record.owner.is_none() && record.queue.len() >= most);
        self.observe(record);
        if self.evict_expired_head().await? || self.remove_expired_owner().await? {
            return Ok(());
        }
        if is_full {
            return Err(self.queue_full().into());
        }
        self.wait(caller).await
    }

    /// Returns `false` if the queue has no expired head, or if the head has renewed its lease.
    pub(crate) async fn evict_expired_head(&mut self) -> Result<bool, Error> {
        let Some(record) = self.observer.record().filter(|_| self.observer.has_expired_head()) else {
            return Ok(false);
        };
        let mut attempts = self.attempts();
        let result = evict(&self.spec.row, &mut attempts, record, &self.spec.options).await?;
        // If the reply to a successful removal of the head was lost, DynamoDB refuses the repeated
        // removal.
        if result == DequeueResult::Removed || result == DequeueResult::AlreadyGone && attempts.is_in_doubt() {
            self.taken_over = record.last_fence();
        }
        Ok(result != DequeueResult::StillThere)
    }

    async fn remove_expired_owner(&mut self) -> Result<bool, Error> {
        let Some(record) = self.observer.record() else { return Ok(false) };
        if record.owner.is_none() || !self.observer.remaining().is_zero() {
            return Ok(false);
        }
        let Some(remove) = self.spec.row.remove_expired(record, &self.observer.expired()) else { return Ok(false) };
        let is_removed = matches!(self.attempts().write(|| remove.clone()).await?, Answered::Applied(_));
        if is_removed {
            self.taken_over = record.fence;
        }
        Ok(is_removed)
    }

    /// Sends a heartbeat for a lock that DynamoDB has granted to the call. The heartbeat fails if
    /// DynamoDB does not answer before the [`deadline`](Self::deadline) of the call's requests.
    pub(crate) async fn beat_in_time(&self, grant: &Grant, payload: Option<&[u8]>) -> Result<(), Error> {
        let beat = clock::within(self.deadline(self.spec.limits), grant.beat_with(payload)).await;
        beat.unwrap_or_else(|| Err(self.exhausted(Unavailable::Timeout)))
    }

    pub(crate) async fn keep(&self, Acquired { grant, row }: Acquired) -> Result<KeptGrant, Error> {
        // Only a granted lease makes DynamoDB refuse a delete of the item by another caller, so the
        // call reads the item after the grant.
        let row = match self.spec.row.is_separate() {
            true => Some(Box::pin(self.read_item(&grant)).await?),
            false => row,
        };
        Ok(KeptGrant { guard: HeldGrant::new(grant, self.spec.background.clone()), row })
    }

    async fn read_item(&self, grant: &Arc<Grant>) -> Result<Item, Error> {
        let mut attempts = self.attempts();
        match attempts.read(&self.spec.row.get_item()).await {
            Ok(Some(item)) => Ok(item),
            Ok(None) => {
                if let Err(error) = grant.release(&self.spec.connection).await {
                    telemetry::background_failed("release", &error);
                }
                let spent = attempts.spent();
                Err(self.spec.not_found(Spent { attempts: spent.attempts + 1, ..spent }))
            }
            Err(error) => {
                release_later(grant);
                Err(error)
            }
        }
    }

    pub(crate) async fn sleep(&self, pause: Duration, caller: &mut Caller) -> Result<(), Stop> {
        match clock::within(self.within_wait(pause)?, caller.closed()).await {
            Some(()) => Err(Stop::CallerGone),
            None => Ok(()),
        }
    }

    /// Returns an error if the call's wait for the lock has ended.
    fn within_wait(&self, pause: Duration) -> Result<Duration, Error> {
        match self.remaining_wait() {
            Duration::ZERO => Err(self.locked()),
            remaining => Ok(pause.min(remaining)),
        }
    }

    /// Returns the lock's row as soon as another request of the same client has received the row,
    /// or returns `None` after `pause`.
    pub(crate) async fn sleep_until_seen(
        &mut self,
        pause: Duration,
        caller: &mut Caller,
    ) -> Result<Option<SeenRow>, Stop> {
        let pause = self.within_wait(pause)?;
        match clock::within(pause, select(pin!(caller.closed()), pin!(self.polls.seen()))).await {
            Some(Either::Left(_)) => Err(Stop::CallerGone),
            Some(Either::Right((seen, _))) => Ok(Some(seen)),
            None => Ok(None),
        }
    }

    async fn wait(&mut self, caller: &mut Caller) -> Result<(), Stop> {
        self.polls.join(&self.owner);
        // If no read has shown a holder of the lock, the call makes the next attempt at once.
        while self.observer.record().is_some() {
            let pause = self.observer.pause(self.polls.pause(WaiterPlace::Plain));
            let is_over = match self.sleep_until_seen(pause, caller).await? {
                Some(seen) => self.see(&seen),
                None => self.poll().await?,
            };
            if is_over {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether the call must send the next attempt to acquire the lock. If several calls of
    /// one `Locks` or repository wait for the same lock without a queue, only the call that has
    /// waited longest sends attempts.
    fn see(&mut self, seen: &SeenRow) -> bool {
        let record = LockRecord::of(&self.spec.row.layout, seen.item.as_ref());
        if self.is_denied_by(&record) {
            self.observe(record);
            return false;
        }
        self.polls.observe_free();
        match self.order {
            Order::Any => seen.source != RowSource::RemovalForOthers && self.polls.is_first(),
            Order::Fair { .. } => true,
        }
    }

    pub(crate) async fn pause_before_retry(&self, backoff: &mut Backoff) -> Result<(), Error> {
        let remaining = match self.is_single_attempt() {
            true => self.spec.limits.deadline.saturating_sub(self.elapsed()),
            false => self.remaining_wait(),
        };
        let pause = backoff.next(Backoff::FIRST, &mut random::generator());
        if pause >= remaining {
            return Err(self.exhausted(Unavailable::TooLate));
        }
        clock::sleep(pause).await;
        Ok(())
    }

    pub(crate) fn exhausted(&self, last: Unavailable) -> Error {
        Error::Exhausted { spent: self.spent(), last: Box::new(Error::Unavailable(last)) }
    }

    /// Returns [`Error::QueueFull`] for a call that waits, and [`Error::Locked`] for a call that
    /// does not wait.
    fn queue_full(&self) -> Error {
        if self.is_single_attempt() {
            return self.locked();
        }
        let entries = self.observer.record().map_or(0, |record| record.queue.len());
        // The head of the queue is the holder, and does not wait.
        let (table, waiting) = (Arc::clone(&self.spec.row.table), entries.saturating_sub(1));
        Error::QueueFull { table, name: self.spec.shown_name(), waiting, spent: self.spent() }
    }

    pub(crate) fn locked(&self) -> Error {
        let AcquireSpec { row, options, .. } = self.spec;
        let record = self.observer.record().cloned().unwrap_or_default();
        record.locked(&row.table, self.spec.shown_name(), options, self.spent())
    }
}

/// Replaces [`Error::Exhausted`] by [`Error::Locked`] if two conditions are true. The call's wait
/// has ended, and a lock of the call had a holder at its last read.
pub(crate) fn at_the_end<'a, 's: 'a>(stop: Stop, all: impl IntoIterator<Item = &'a Acquisition<'s>>) -> Stop {
    if !matches!(stop, Stop::Failed(Error::Exhausted { .. })) {
        return stop;
    }
    let is_over =
        |acquisition: &Acquisition<'_>| acquisition.remaining_wait().is_zero() && !acquisition.is_single_attempt();
    let held = all.into_iter().find(|acquisition| is_over(acquisition) && acquisition.observer.saw_holder());
    held.map_or(stop, |acquisition| acquisition.locked().into())
}

pub(crate) async fn wait(all: &mut [Acquisition<'_>], caller: &mut Caller) -> Result<(), Stop> {
    if let [only] = all {
        return only.wait(caller).await;
    }
    loop {
        let mut held: Vec<_> = all.iter_mut().filter(|acquisition| acquisition.observer.record().is_some()).collect();
        let pauses = held.iter_mut().map(|held| held.observer.pause(held.polls.pause(WaiterPlace::Plain)));
        let Some(pause) = pauses.min() else { return Ok(()) };
        held[0].sleep(pause, caller).await?;
        for acquisition in all.iter_mut() {
            if acquisition.poll().await? {
                return Ok(());
            }
        }
    }
}

pub(crate) fn release_later(grant: &Arc<Grant>) {
    let (grant, table) = (Arc::clone(grant), Arc::clone(&grant.row.table));
    let release = async move { grant.release(&grant.connection).await };
    tokio::spawn(detached("release", table, release, failure));
}

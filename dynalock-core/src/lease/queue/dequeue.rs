//! Taking who holds a lock or waits for it out of its row, by itself or by whoever is in its way, and the queue with its last head.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tokio::task::JoinHandle;

use super::request::{DequeueFields, Duplicate, EvictReason};
use crate::{
    clock,
    codec::Item,
    error::Error,
    lease::{
        acquire::{
            observer::{ExpiryObserver, LAST_REQUEST},
            one::{AcquireSpec, Caller, WaitResult},
        },
        options::LeaseOptions,
        record::{LockRecord, Waiters},
        row::{Row, RowId},
    },
    operation::UpdateItem,
    random,
    retry::{Answered, Attempts, Backoff, Connection, Limits, PendingGuard},
};

/// What became of a head that was to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DequeueResult {
    Removed,
    /// It was gone already: somebody else was first, or an attempt whose reply was lost.
    AlreadyGone,
    /// It is there still.
    StillThere,
}

/// What a row that has refused the request says of the head.
enum HeadSeen {
    Gone,
    /// It is there, and may go.
    Same,
    /// It is there, and has shown itself.
    Alive,
}

impl Row {
    /// The head goes by its own request, as somebody who holds the lock or gives up.
    pub(crate) async fn leave_as(
        &self,
        attempts: &mut Attempts,
        (entry, waiters): (&str, Waiters),
        duplicate: Duplicate,
        options: &LeaseOptions,
    ) -> Result<DequeueResult, Error> {
        let leave = |waiters| self.leave(entry, waiters, DequeueFields { duplicate, now: options.now() });
        let head = |met: &LockRecord| if met.place_of(entry) == Some(0) { HeadSeen::Same } else { HeadSeen::Gone };
        self.depart(attempts, waiters, duplicate, leave, head).await
    }

    /// Takes out a head, as the mark shows it, that has died, or that is to go.
    pub(crate) async fn take_out(
        &self,
        attempts: &mut Attempts,
        record: &LockRecord,
        evidence: EvictReason,
        options: &LeaseOptions,
    ) -> Result<DequeueResult, Error> {
        let Some(head) = record.head_observation() else { return Ok(DequeueResult::AlreadyGone) };
        let evict = |waiters| self.evict(head, evidence, waiters, options.now());
        let head_in = |met: &LockRecord| match met.head_observation() {
            Some(now) if now == head => HeadSeen::Same,
            Some(now) if now.is_same_stay(head) && evidence == EvictReason::Operator => HeadSeen::Same,
            Some(now) if now.is_same_stay(head) => HeadSeen::Alive,
            Some(_) | None => HeadSeen::Gone,
        };
        self.depart(attempts, record.waiters(), Duplicate::Impossible, evict, head_in).await
    }

    /// Takes a dead head out of the queue; `false` if it is there still.
    pub(crate) async fn evict_dead(
        &self,
        attempts: &mut Attempts,
        record: &LockRecord,
        options: &LeaseOptions,
    ) -> Result<bool, Error> {
        Ok(self.take_out(attempts, record, EvictReason::Expired, options).await? != DequeueResult::StillThere)
    }

    /// Sends the request, and once more if somebody has come behind the head since.
    async fn depart(
        &self,
        attempts: &mut Attempts,
        mut waiters: Waiters,
        duplicate: Duplicate,
        request: impl Fn(Waiters) -> UpdateItem,
        head_in: impl Fn(&LockRecord) -> HeadSeen,
    ) -> Result<DequeueResult, Error> {
        loop {
            let (departed, empty_since) = match attempts.update(|| request(waiters)).await? {
                Answered::Applied(before) => {
                    let before = LockRecord::of(&self.layout, before.as_ref());
                    let was_last = waiters == Waiters::Some && before.waiters() == Waiters::None;
                    (DequeueResult::Removed, before.last_fence().filter(|_| was_last))
                }
                Answered::Refused(met) => {
                    let met = LockRecord::of(&self.layout, met.as_ref());
                    match head_in(&met) {
                        // The request that leaves those behind in their places fits nobody behind, too: a refusal of that has another
                        // reason, which does not pass by sending it again.
                        HeadSeen::Same if waiters == Waiters::None => {
                            waiters = Waiters::Some;
                            continue;
                        }
                        HeadSeen::Same | HeadSeen::Alive => return Ok(DequeueResult::StillThere),
                        HeadSeen::Gone => (DequeueResult::AlreadyGone, met.fence.filter(|_| met.is_abandoned)),
                    }
                }
            };
            if let Some(fence) = empty_since {
                self.sweep_up(attempts.connection(), fence, duplicate).await;
            }
            return Ok(departed);
        }
    }

    /// Removes what a queue has left in which nobody stands since that fence. What stays, if this fails, is in nobody's way.
    pub(crate) async fn sweep_up(&self, over: &Arc<Connection>, fence: u64, duplicate: Duplicate) {
        let mut attempts = Attempts::new(over, Limits::of_one_request());
        if let Err(error) = attempts.update(|| self.sweep(fence, duplicate)).await {
            tracing::debug!(%error, "an empty queue stays in its row");
        }
    }
}

impl AcquireSpec {
    /// Takes a dead head out of the queue; `false` if it is there still, since it has shown itself meanwhile.
    pub(crate) async fn evict(&self, record: &LockRecord, observer: &mut ExpiryObserver) -> Result<bool, Error> {
        let mut attempts = self.attempts(observer);
        let departed = self.row.take_out(&mut attempts, record, EvictReason::Expired, &self.options).await?;
        // After a lost reply, the departure cannot be told from one that somebody else has caused.
        if departed == DequeueResult::Removed || departed == DequeueResult::AlreadyGone && attempts.is_in_doubt() {
            observer.taken_over = record.last_fence();
        }
        Ok(departed != DequeueResult::StillThere)
    }

    /// Takes away an owner whose lease has ended; `false` if there is none.
    pub(crate) async fn clear(&self, record: &LockRecord, observer: &mut ExpiryObserver) -> Result<bool, Error> {
        observer.watch(record);
        if record.owner.is_none() || !self.left(record, observer).is_zero() {
            return Ok(false);
        }
        let Some(clear) = self.row.clear(record, &self.dead(observer)) else { return Ok(false) };
        let answer = self.attempts(observer).update(|| clear.clone()).await?;
        let is_cleared = matches!(answer, Answered::Applied(_));
        if is_cleared {
            observer.taken_over = record.fence;
        }
        Ok(is_cleared)
    }

    /// Gives up a place in the queue, also if the entry has moved. It tries until the entry is gone, for at most ten
    /// minutes, or for a ttl if that is longer.
    ///
    /// Each entry that stays delays the callers behind it by a ttl, and a client without replies would add entry after
    /// entry. Later calls of the client therefore wait until the entry is removed
    /// ([`after_abandoned`](Self::after_abandoned)).
    async fn abandon(&self, entry: &str, duplicate: Duplicate, mut pending: Option<PendingGuard<RowId>>) {
        const LONGEST: Duration = Duration::from_mins(10);
        let started = clock::now();
        let (mut backoff, mut rng) = (Backoff::default(), random::generator());
        // Retries of its own, and none of the budget that all calls share: an outage is what this is for.
        while let Err(error) = self.abandon_once(entry, duplicate).await {
            tracing::debug!(%error, "a place in a queue could not be given up");
            if matches!(error, Error::TableNotFound { .. }) {
                return;
            }
            pending.get_or_insert_with(|| self.connection.abandoned.begin(self.row.id()));
            let pause = backoff.next(Backoff::FIRST, &mut rng);
            if clock::now().duration_since(started) + pause >= self.options.ttl.max(LONGEST) {
                return;
            }
            clock::sleep(pause).await;
        }
    }

    /// One try, whose requests are not sent again.
    async fn abandon_once(&self, entry: &str, duplicate: Duplicate) -> Result<(), Error> {
        let read = |item: Option<Item>| LockRecord::of(&self.row.layout, item.as_ref());
        let once = Limits::of_one_request();
        let limits = Limits { attempt_timeout: self.limits.attempt_timeout.saturating_mul(2), ..once };
        let mut attempts = Attempts::new(&self.connection, limits);
        let mut record = read(attempts.read(&self.row.get(true)).await?);
        // A place only gets better: so this ends.
        while let Some(index) = record.place_of(entry) {
            if index == 0 {
                let who = (entry, record.waiters());
                return match self.row.leave_as(&mut attempts, who, duplicate, &self.options).await? {
                    DequeueResult::Removed | DequeueResult::AlreadyGone => Ok(()),
                    DequeueResult::StillThere => Err(attempts.too_late()),
                };
            }
            record = match attempts.update(|| self.row.abandon(entry, index)).await? {
                Answered::Applied(_) => return Ok(()),
                Answered::Refused(met) => read(met),
            };
            if record.place_of(entry).is_some_and(|place| place >= index) {
                return Err(attempts.too_late());
            }
        }
        Ok(())
    }

    /// Gives up, in the background, a place that may have been taken.
    pub(crate) fn abandon_later(&self, entry: Arc<str>, duplicate: Duplicate) {
        drop(self.abandoning(entry, duplicate));
    }

    /// Gives up a place in each queue, and waits a moment for the answers. If DynamoDB answers in time, the entries
    /// are gone when the call ends.
    pub(crate) async fn abandon_at_the_end(all: impl Iterator<Item = &Self>, entry: &Arc<str>, duplicate: Duplicate) {
        let tasks: Vec<_> = all.filter_map(|spec| spec.abandoning(Arc::clone(entry), duplicate)).collect();
        let done = async {
            for task in tasks {
                drop(task.await);
            }
        };
        // What takes longer goes on in the background.
        let _ = clock::within(LAST_REQUEST, done).await;
    }

    /// A task, unless the runtime has ended.
    fn abandoning(&self, entry: Arc<str>, duplicate: Duplicate) -> Option<JoinHandle<()>> {
        let spec = self.clone();
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        // Whose request was in doubt is cut off perhaps: the next call is to know of it at once.
        let pending = (duplicate == Duplicate::Possible).then(|| self.connection.abandoned.begin(self.row.id()));
        Some(runtime.spawn(async move { spec.abandon(&entry, duplicate, pending).await }))
    }

    /// Waits until no earlier place in the queue has still to be given up: a client whose line is cut would fill the queue otherwise.
    pub(crate) async fn after_abandoned(
        &self,
        observer: &ExpiryObserver,
        caller: &mut impl Caller,
    ) -> Result<WaitResult, Error> {
        let id = self.row.id();
        let (mut done, mut gone) = (pin!(self.connection.abandoned.done(&id)), pin!(caller.gone()));
        let either = poll_fn(|context| match done.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(WaitResult::ToAsk),
            Poll::Pending => gone.as_mut().poll(context).map(|()| WaitResult::Gone),
        });
        let waited = clock::within(self.limits(observer).deadline, either).await;
        waited.ok_or_else(|| observer.unanswered())
    }
}

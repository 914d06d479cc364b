//! The worker: the task that combines the waiting calls on one key into batches, and sends one
//! write for each batch.

use std::{mem, sync::Arc, time::Duration};

use super::{
    call::BoxedQueuedCall,
    copy::{CopyWrite, WorkingCopy},
    queue::{AfterPause, CallQueue, Queues},
};
use crate::{
    clock::{self, Instant},
    codec::{Item, Stored},
    error::Error,
    key::Key,
    model::Versioned,
    repository::{Repository, Session, session::NextRun},
    telemetry,
    write::{intent::ItemChange, send::WriteResult},
};

pub(super) struct Worker<T> {
    repository: Repository<T>,
    key: Key,
    queues: Arc<Queues<T>>,
    state: WorkerState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkerState {
    Working,
    /// The worker pauses after a batch with at least one conflict. While the worker pauses, a new
    /// call on the key starts another worker in the runtime of the new caller. The runtime of the
    /// pausing worker may stand still.
    Pausing,
    /// The worker has removed its empty queue, or another worker has taken the queue over.
    Done,
}

struct Batch<T> {
    calls: Vec<BoxedQueuedCall<T>>,
    runs: u32,
    /// The number of writes of the batch that DynamoDB refused because another writer had changed
    /// the item.
    refusals: u32,
}

struct AfterBatch {
    /// The item from which the next batch may start without a read, or `None` if the next batch
    /// must read the item.
    next: Option<Item>,
    refusals: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemAge {
    /// The worker may have read the item before a call of the batch entered the queue.
    BeforeCalls,
    AfterCalls,
}

struct AppliedBatch<T> {
    /// The result for the callers of the batch: the item, or `NotFound` if the key has no item.
    stored: Result<Stored<T>, Error>,
    next: Option<Item>,
}

enum Attempt<T> {
    Applied(AppliedBatch<T>),
    /// The batch would write nothing, but the item on which its closures ran may be outdated.
    Outdated,
    Conflict {
        expected: Option<u64>,
        met: Option<Item>,
    },
}

/// The longest pause of a worker after a batch with at least one conflict.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The maximum number of bytes that all calls except the first may together add to the write of a
/// batch.
const MOST_GROWTH: usize = 64 * 1024;

/// The time limit for one run of all closures of a batch.
const LONGEST_RUN: Duration = Duration::from_millis(100);

impl<T: Versioned + Clone> Worker<T> {
    pub(super) fn new(repository: Repository<T>, key: Key, queues: Arc<Queues<T>>) -> Self {
        Self { repository, key, queues, state: WorkerState::Working }
    }

    pub(super) async fn run(mut self, pauses_until: Option<Instant>) {
        if let Some(until) = pauses_until {
            clock::sleep(until.saturating_duration_since(clock::now())).await;
        }
        let mut last = None;
        while let Some(calls) = self.queues.next_batch(&self.key) {
            let work = self.work(Batch { calls, runs: 0, refusals: 0 }, last);
            let AfterBatch { next, refusals } =
                telemetry::detached("batch", Arc::clone(&self.repository.table), work, |_| None).await;
            last = next;
            if refusals > 0 {
                match self.pause().await {
                    AfterPause::SameWorker => last = None,
                    AfterPause::AnotherWorker => break,
                }
            }
        }
        self.state = WorkerState::Done;
    }

    /// After a pause, the worker must read the item again, because another writer may have changed
    /// the item.
    async fn pause(&mut self) -> AfterPause {
        let pause = (4 * self.repository.connection.round_trip()).min(LONGEST_PAUSE);
        self.queues.change(&self.key, |queue| queue.pause_until(clock::now() + pause));
        self.state = WorkerState::Pausing;
        clock::sleep(pause).await;
        self.state = WorkerState::Working;
        self.queues.end_pause(&self.key)
    }

    async fn work(&self, mut batch: Batch<T>, last: Option<Item>) -> AfterBatch {
        let mut session = Session::under(&self.repository, self.repository.outside());
        let result = self.write(&mut session, &mut batch, last).await;
        let Batch { calls, runs, refusals } = batch;
        telemetry::batch(&self.repository.table, calls.len(), runs);
        for call in &calls {
            telemetry::follow(call.span());
        }
        let next = match result {
            Ok(AppliedBatch { stored, next }) => {
                self.queues.change(&self.key, CallQueue::double);
                for call in calls {
                    call.answer(stored.as_ref());
                }
                next
            }
            Err(error) => {
                telemetry::background_failed("batch", &error);
                self.fail(calls, &error);
                None
            }
        };
        AfterBatch { next, refusals }
    }

    fn fail(&self, calls: Vec<BoxedQueuedCall<T>>, error: &Error) {
        // If the item would be too large, the worker halves the batch repeatedly, until only the
        // call that makes the item too large fails.
        if calls.len() > 1 && is_of_content(error) {
            self.queues.change(&self.key, |queue| queue.halve(calls.len()));
            return self.put_back(calls);
        }
        // If the write of a batch fails, each closure that returned an error runs again, because
        // the item on which the closure ran was never stored.
        let (refused, failed): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| call.is_refused());
        self.put_back(refused);
        for call in failed {
            call.answer(Err(error));
        }
    }

    /// `last` is the item that the last batch wrote, or `None` if the worker must read the item.
    async fn write(
        &self,
        session: &mut Session<T>,
        batch: &mut Batch<T>,
        last: Option<Item>,
    ) -> Result<AppliedBatch<T>, Error> {
        session.attempts.allow(batch.time_left());
        let get = session.get(&self.key)?;
        let (mut item, mut age) = match last {
            Some(item) => (Some(item), ItemAge::BeforeCalls),
            None => (session.attempts.read(&get).await?, self.join(session, batch)),
        };
        loop {
            match self.attempt(session, batch, item, age).await? {
                Attempt::Applied(committed) => return Ok(committed),
                Attempt::Outdated => {
                    batch.thaw();
                    item = session.attempts.read(&get).await?;
                    // The item contains the id of a refused write, which DynamoDB has applied late.
                    if session.shows_refused_run(item.as_ref()) {
                        return Err(session.indeterminate());
                    }
                    age = ItemAge::AfterCalls;
                }
                Attempt::Conflict { expected, met } => {
                    batch.refusals += 1;
                    batch.thaw();
                    item = match Box::pin(session.next_run(&get, &self.key, expected, met)).await? {
                        NextRun::On(item) => item,
                        // The calls in the batch may differ from the calls in the write that
                        // DynamoDB has applied late.
                        NextRun::AppliedLate(_) => return Err(session.indeterminate()),
                    };
                    age = self.join(session, batch);
                }
            }
        }
    }

    /// No write of the batch may be in flight when `join` adds calls to the batch.
    fn join(&self, session: &mut Session<T>, batch: &mut Batch<T>) -> ItemAge {
        let before = batch.calls.len();
        self.queues.change(&self.key, |queue| queue.fill(&mut batch.calls));
        session.attempts.allow(batch.time_left());
        if batch.calls.len() > before { ItemAge::BeforeCalls } else { ItemAge::AfterCalls }
    }

    async fn attempt(
        &self,
        session: &mut Session<T>,
        batch: &mut Batch<T>,
        mut item: Option<Item>,
        age: ItemAge,
    ) -> Result<Attempt<T>, Error> {
        batch.freeze(session.attempts.spent().attempts);
        if batch.calls.is_empty() {
            let stored = Err(session.not_found(&self.key));
            return Ok(Attempt::Applied(AppliedBatch { stored, next: None }));
        }
        // An expired item counts as absent. A create may overwrite an expired item that has not
        // changed since the read.
        let expired = item.take_if(|item| session.is_expired(item));
        let mut copy = WorkingCopy::new(&self.repository, &self.key, session.attempts.spent(), item)?;
        let rest = batch.run(&mut copy);
        self.put_back(rest);
        let (absent, after) = (copy.not_found(), copy.item());
        let (result, expected) = match copy.into_write() {
            CopyWrite::Absent | CopyWrite::Unchanged(..) if age == ItemAge::BeforeCalls => {
                return Ok(Attempt::Outdated);
            }
            CopyWrite::Absent => return Ok(Attempt::Applied(AppliedBatch { stored: Err(absent), next: None })),
            CopyWrite::Unchanged(value, basis) => {
                let stored = Ok(Stored::unchanged(value, basis));
                return Ok(Attempt::Applied(AppliedBatch { stored, next: after }));
            }
            CopyWrite::Update(value, basis, changes) => {
                let expected = basis.state.revision.number();
                (session.update(value, ItemChange::Update(basis), changes).await?, Some(expected))
            }
            CopyWrite::Create(value) => (session.create(value, expired).await?, None),
        };
        Ok(match result {
            WriteResult::Applied(stored) => {
                // A version other than `expected` plus one shows that another writer has changed
                // the item after the write.
                let is_newest = stored.version() == expected.unwrap_or(0).saturating_add(1);
                // During a pause between two attempts, another writer may have changed the written
                // item, so the next batch must read the item.
                let is_fresh = session.attempts.pauses() == 0;
                let mut next = after.filter(|_| is_newest && is_fresh);
                if let Some(item) = &mut next {
                    stored.write_state_into(item);
                }
                Attempt::Applied(AppliedBatch { stored: Ok(stored), next })
            }
            WriteResult::Conflict(met) => Attempt::Conflict { expected, met },
        })
    }

    /// `calls` must contain only calls whose changes were certainly not written.
    fn put_back(&self, mut calls: Vec<BoxedQueuedCall<T>>) {
        for call in &mut calls {
            call.thaw();
        }
        self.queues.change(&self.key, |queue| queue.put_back(calls));
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        // A worker that has not finished its work is dropped only if its runtime was shut down, or
        // if the user's implementation of `Clone` or `Drop` panicked.
        let is_abandoned = match self.state {
            WorkerState::Working => true,
            WorkerState::Pausing => self.queues.end_pause(&self.key) == AfterPause::SameWorker,
            WorkerState::Done => false,
        };
        if is_abandoned {
            self.queues.close(&self.key);
        }
    }
}

impl<T> Batch<T> {
    /// Marks each call as in flight, and then removes the calls whose callers have stopped waiting.
    /// The mark must come first: without the mark, a caller could stop waiting after the removal,
    /// and the write of the batch would still contain the caller's change.
    fn freeze(&mut self, attempts: u32) {
        for call in &self.calls {
            call.freeze(attempts);
        }
        self.calls.retain(|call| !call.is_left());
    }

    fn thaw(&mut self) {
        for call in &mut self.calls {
            call.thaw();
        }
    }

    /// Returns the calls whose closures did not run because the batch reached a limit.
    fn run(&mut self, copy: &mut WorkingCopy<'_, T>) -> Vec<BoxedQueuedCall<T>>
    where
        T: Versioned,
    {
        self.runs += 1;
        let started = clock::now();
        let mut rest = mem::take(&mut self.calls).into_iter();
        let mut most_bytes = None;
        for call in rest.by_ref() {
            self.calls.extend(call.run(copy));
            let bytes = copy.changed_bytes();
            // The limit does not include the bytes of the first call, because one call may write a
            // large item.
            let most_bytes = *most_bytes.get_or_insert(bytes + MOST_GROWTH);
            if bytes > most_bytes || clock::now().duration_since(started) > LONGEST_RUN {
                break;
            }
        }
        rest.collect()
    }

    fn time_left(&self) -> Duration {
        self.calls.iter().map(|call| call.time_left()).max().unwrap_or_default()
    }
}

/// Returns `true` if the content of a batch is invalid or too large. A smaller batch may then
/// succeed.
fn is_of_content(error: &Error) -> bool {
    match error {
        Error::ItemTooLarge { .. } | Error::ExpressionTooLong { .. } | Error::InvalidKey { .. } | Error::Encode(_) => {
            true
        }
        Error::Rejected(refusal) => refusal.is_of_content(),
        _ => false,
    }
}

//! The task that writes the batches of one key.

use std::{mem, sync::Arc, time::Duration};

use super::{
    call::BoxedQueuedCall,
    copy::{CopyWrite, WorkingCopy},
    queue::Queues,
};
use crate::{
    clock,
    codec::{Item, Stored, decode_stored},
    error::Error,
    key::Key,
    lease::LeasePolicy,
    model::Versioned,
    repository::{Repository, Session},
    telemetry,
    write::{intent::Change, send::WriteResult},
};

/// The task of one queue. The task ends when the queue is empty.
pub(super) struct Worker<T> {
    repository: Repository<T>,
    key: Key,
    queues: Arc<Queues<T>>,
    state: WorkerState,
}

/// The relation of a worker to its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkerState {
    /// The queue waits for this worker.
    Working,
    /// The worker has removed its queue. Another worker may have made a new queue for the key.
    Done,
}

/// The calls that are written together.
struct Batch<T> {
    calls: Vec<BoxedQueuedCall<T>>,
    /// The number of times that the calls were applied to a working copy.
    runs: u32,
}

/// The age of the item from which a batch starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemAge {
    /// A call has entered the queue after the item was read or written. Another writer may have
    /// changed the item before this call.
    BeforeCalls,
    /// The item was read after all calls of the batch had entered the queue.
    AfterCalls,
}

/// The result of a batch whose outcome is certain.
struct Committed<T> {
    /// The item for the callers, or the error of the callers if there is no item.
    stored: Result<Stored<T>, Error>,
    /// The item from which the next batch may start.
    next: Option<Item>,
}

/// The result of one attempt to write a batch.
enum Attempt<T> {
    Committed(Committed<T>),
    /// The batch would write nothing, and has decided on an item that may be outdated.
    Outdated,
    /// Another writer was faster. The fields are the version that the write required, and the item
    /// that refused the write.
    Conflict {
        expected: Option<u64>,
        met: Option<Item>,
    },
}

/// The growth of a write, in bytes, after which its batch runs no further call.
const MOST_GROWTH: usize = 64 * 1024;

/// The time after which a batch runs no further call.
const LONGEST_RUN: Duration = Duration::from_millis(100);

impl<T: Versioned + Clone> Worker<T> {
    pub(super) fn new(repository: Repository<T>, key: Key, queues: Arc<Queues<T>>) -> Self {
        Self { repository, key, queues, state: WorkerState::Working }
    }

    pub(super) async fn run(mut self) {
        let mut last = None;
        while let Some(calls) = self.queues.next_batch(&self.key) {
            let work = self.work(Batch { calls, runs: 0 }, last);
            last = telemetry::detached("batch", Arc::clone(&self.repository.table), work, |_| None).await;
        }
        self.state = WorkerState::Done;
    }

    /// Writes one batch and answers its calls. Returns the item from which the next batch may start.
    async fn work(&self, mut batch: Batch<T>, last: Option<Item>) -> Option<Item> {
        let mut session = Session::under(&self.repository, LeasePolicy::outside(T::MODEL, self.repository.options));
        let result = self.write(&mut session, &mut batch, last).await;
        let Batch { calls, runs } = batch;
        telemetry::batch(&self.repository.table, calls.len(), runs);
        for call in &calls {
            telemetry::follow(call.span());
        }
        match result {
            Ok(Committed { stored, next }) => {
                self.queues.double(&self.key);
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
        }
    }

    /// Answers the calls of a batch that failed, or puts them back.
    fn fail(&self, calls: Vec<BoxedQueuedCall<T>>, error: &Error) {
        // One call may have made the item too large. Smaller batches find this call.
        if calls.len() > 1 && is_of_content(error) {
            self.queues.halve(&self.key, calls.len());
            return self.put_back(calls);
        }
        // A refusal has no effect, and was decided on a state that was not committed.
        let (refused, failed): (Vec<_>, Vec<_>) = calls.into_iter().partition(|call| call.is_refused());
        self.put_back(refused);
        for call in failed {
            call.answer(Err(error));
        }
    }

    /// Attempts to write a batch until the outcome is certain. Starts from the item that the last
    /// batch has left, or reads the item.
    async fn write(
        &self,
        session: &mut Session<T>,
        batch: &mut Batch<T>,
        last: Option<Item>,
    ) -> Result<Committed<T>, Error> {
        session.allow(batch.time_left());
        let get = session.get(&self.key)?;
        let (mut item, mut age) = match last {
            Some(item) => (Some(item), ItemAge::BeforeCalls),
            None => (session.read(&get).await?, self.join(session, batch)),
        };
        loop {
            match self.attempt(session, batch, item, age).await? {
                Attempt::Committed(committed) => return Ok(committed),
                Attempt::Outdated => {
                    batch.thaw();
                    item = session.read(&get).await?;
                    age = ItemAge::AfterCalls;
                }
                Attempt::Conflict { expected, met } => {
                    batch.thaw();
                    item = Box::pin(session.after_conflict(&get, &self.key, expected, met)).await?;
                    // A late copy of an earlier attempt may have been applied.
                    if let Some(item) = item.take_if(|item| session.has_written(item)) {
                        // After several runs, it is unknown which of them was applied.
                        if batch.runs > 1 {
                            return Err(session.indeterminate());
                        }
                        return Ok(Committed { stored: Ok(decode_stored(session.table(), item)?), next: None });
                    }
                    age = self.join(session, batch);
                }
            }
        }
    }

    /// Adds waiting calls to a batch that is not frozen. Returns the age of the item that the batch
    /// has.
    fn join(&self, session: &mut Session<T>, batch: &mut Batch<T>) -> ItemAge {
        let before = batch.calls.len();
        self.queues.fill(&self.key, &mut batch.calls);
        session.allow(batch.time_left());
        if batch.calls.len() > before { ItemAge::BeforeCalls } else { ItemAge::AfterCalls }
    }

    /// Applies the calls of a batch to an item, and writes the result.
    async fn attempt(
        &self,
        session: &mut Session<T>,
        batch: &mut Batch<T>,
        mut item: Option<Item>,
        age: ItemAge,
    ) -> Result<Attempt<T>, Error> {
        batch.freeze(session.spent().attempts);
        if batch.calls.is_empty() {
            let stored = Err(session.not_found(&self.key));
            return Ok(Attempt::Committed(Committed { stored, next: None }));
        }
        // A create overwrites an expired item, if the item is still unchanged.
        let expired = item.take_if(|item| session.is_expired(item));
        let mut copy = WorkingCopy::new(&self.repository, &self.key, session.spent(), item)?;
        let rest = batch.run(&mut copy);
        self.put_back(rest);
        let (absent, after) = (copy.not_found(), copy.item());
        let (result, expected) = match copy.into_write() {
            CopyWrite::Absent | CopyWrite::Unchanged(..) if age == ItemAge::BeforeCalls => {
                return Ok(Attempt::Outdated);
            }
            CopyWrite::Absent => return Ok(Attempt::Committed(Committed { stored: Err(absent), next: None })),
            CopyWrite::Unchanged(value, basis) => {
                let stored = Ok(Stored::unchanged(value, basis));
                return Ok(Attempt::Committed(Committed { stored, next: after }));
            }
            CopyWrite::Update(value, basis, changes) => {
                let expected = basis.state.revision.number();
                (session.update(value, Change::Update(basis), changes).await?, Some(expected))
            }
            CopyWrite::Create(value) => (session.create(value, expired).await?, None),
        };
        Ok(match result {
            WriteResult::Applied(stored) => {
                // The write of this run was applied, and not that of an earlier run.
                let is_own = match expected {
                    Some(version) => stored.version() == version.saturating_add(1),
                    None => stored.version() == 1 && batch.runs == 1,
                };
                // An item that was kept over a pause may be outdated.
                let is_fresh = session.pauses() == 0;
                let mut next = after.filter(|_| is_own && is_fresh);
                if let Some(item) = &mut next {
                    stored.write_state_into(item);
                }
                Attempt::Committed(Committed { stored: Ok(stored), next })
            }
            WriteResult::Conflict(met) => Attempt::Conflict { expected, met },
        })
    }

    /// Puts calls back in front of their queue. These calls have no effect.
    fn put_back(&self, mut calls: Vec<BoxedQueuedCall<T>>) {
        for call in &mut calls {
            call.thaw();
        }
        self.queues.put_back(&self.key, calls);
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        // The runtime was shut down, or a `Clone` or a `Drop` of the user panicked.
        if self.state == WorkerState::Working {
            self.queues.close(&self.key);
        }
    }
}

impl<T> Batch<T> {
    /// Freezes the batch until the outcome of its next attempt is certain. Calls whose callers have
    /// left are taken out.
    fn freeze(&mut self, attempts: u32) {
        for call in &self.calls {
            call.freeze(attempts);
        }
        self.calls.retain(|call| !call.is_left());
    }

    /// Records that no attempt of the batch was applied.
    fn thaw(&mut self) {
        for call in &mut self.calls {
            call.thaw();
        }
    }

    /// Applies the calls to a working copy, in their order. Returns the calls for which the batch
    /// has no room.
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
            // The first call counts nothing, so that a large item can be written.
            let most_bytes = *most_bytes.get_or_insert(bytes + MOST_GROWTH);
            if bytes > most_bytes || clock::now().duration_since(started) > LONGEST_RUN {
                break;
            }
        }
        rest.collect()
    }

    /// Returns the time until the latest deadline of a call.
    fn time_left(&self) -> Duration {
        self.calls.iter().map(|call| call.time_left()).max().unwrap_or_default()
    }
}

/// Returns whether another content of the write may be accepted.
fn is_of_content(error: &Error) -> bool {
    match error {
        Error::ItemTooLarge { .. } | Error::ExpressionTooLong { .. } | Error::InvalidKey { .. } | Error::Encode(_) => {
            true
        }
        Error::Rejected(refusal) => refusal.is_of_content(),
        _ => false,
    }
}

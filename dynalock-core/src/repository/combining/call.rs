//! The two sides of a combined call: the worker, which runs the closure, and the caller, which
//! waits for the result.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::Arc,
    thread,
    time::Duration,
};

use tokio::sync::oneshot;
use tracing::Span;

use super::{
    change::CombinedChange,
    copy::WorkingCopy,
    progress::{CallProgress, Phase, Progress},
};
use crate::{
    clock::{self, Instant},
    codec::Stored,
    error::{Error, Spent, Unavailable},
    model::Versioned,
    telemetry::{self, CallFailure},
};

/// `QueuedCall` hides the type of the call's closure, so that one queue can contain calls with
/// different closures.
pub(super) trait QueuedCall<T>: Send {
    /// Records that the write of the call's batch is in flight. `attempts` is the number of
    /// requests that the batch has sent before the write.
    fn freeze(&self, attempts: u32);

    /// Records that the write of the call's batch was not applied, and forgets the error of the
    /// closure.
    fn thaw(&mut self);

    fn is_left(&self) -> bool;

    fn time_left(&self) -> Duration;

    /// Runs the closure on the working copy, which stays unchanged if the closure fails. If the
    /// closure panics, the caller gets the panic, and `run` returns `None`.
    fn run(self: Box<Self>, copy: &mut WorkingCopy<'_, T>) -> Option<BoxedQueuedCall<T>>;

    /// Returns whether the last run of the call's closure returned an error.
    fn is_refused(&self) -> bool;

    fn span(&self) -> &Span;

    /// If the last run of the closure returned an error, the caller gets the error of the closure
    /// instead of the result of the batch.
    fn answer(self: Box<Self>, result: Result<&Stored<T>, &Error>);
}

pub(super) type BoxedQueuedCall<T> = Box<dyn QueuedCall<T>>;

/// The result of a combined call, or the panic of its closure.
type Answer<T, E> = thread::Result<Result<Stored<T>, CallFailure<E>>>;

struct WorkerSide<T, C: CombinedChange<T>> {
    change: C,
    refusal: Option<C::Error>,
    limit: TimeLimit,
    progress: Arc<CallProgress>,
    span: Span,
    answer: oneshot::Sender<Answer<T, C::Error>>,
}

pub(super) struct CallerSide<T, E> {
    table: Arc<str>,
    limit: TimeLimit,
    progress: Arc<CallProgress>,
    answer: oneshot::Receiver<Answer<T, E>>,
}

#[derive(Debug, Clone, Copy)]
struct TimeLimit {
    started: Instant,
    deadline: Duration,
}

pub(super) fn call<T, C>(
    table: &Arc<str>,
    deadline: Duration,
    change: C,
) -> (BoxedQueuedCall<T>, CallerSide<T, C::Error>)
where
    T: Versioned + Clone,
    C: CombinedChange<T>,
{
    let (send, receive) = oneshot::channel();
    let (limit, progress) = (TimeLimit { started: clock::now(), deadline }, Arc::<CallProgress>::default());
    let caller = CallerSide { table: Arc::clone(table), limit, progress: Arc::clone(&progress), answer: receive };
    let span = telemetry::current_span();
    (Box::new(WorkerSide { change, refusal: None, limit, progress, span, answer: send }), caller)
}

impl<T, C> QueuedCall<T> for WorkerSide<T, C>
where
    T: Versioned + Clone,
    C: CombinedChange<T>,
{
    fn freeze(&self, attempts: u32) {
        self.progress.freeze(attempts);
    }

    fn thaw(&mut self) {
        self.refusal = None;
        self.progress.thaw();
    }

    fn is_left(&self) -> bool {
        self.progress.is_left()
    }

    fn time_left(&self) -> Duration {
        self.limit.deadline.saturating_sub(self.limit.elapsed())
    }

    fn run(mut self: Box<Self>, copy: &mut WorkingCopy<'_, T>) -> Option<BoxedQueuedCall<T>> {
        let change = &mut self.change;
        // `AssertUnwindSafe` is correct: after a panic, the closure never runs again, so no code
        // can observe a broken state of the closure.
        let run = AssertUnwindSafe(|| {
            let value = change.apply(copy)?;
            copy.with(value).map_err(C::Error::from)
        });
        self.refusal = match panic::catch_unwind(run) {
            Ok(Ok(next)) => {
                copy.accept(next);
                None
            }
            Ok(Err(refusal)) => Some(refusal),
            Err(panic) => {
                // `send` fails if the caller has dropped the future of the call.
                drop(self.answer.send(Err(panic)));
                return None;
            }
        };
        Some(self)
    }

    fn is_refused(&self) -> bool {
        self.refusal.is_some()
    }

    fn span(&self) -> &Span {
        &self.span
    }

    fn answer(self: Box<Self>, result: Result<&Stored<T>, &Error>) {
        let result = match (self.refusal, result) {
            (Some(refusal), _) => Err(CallFailure::Closure(refusal)),
            (None, Ok(stored)) => Ok(stored.clone()),
            (None, Err(error)) => Err(CallFailure::Library(error.clone())),
        };
        // `send` fails if the caller has dropped the future of the call.
        drop(self.answer.send(Ok(result)));
    }
}

impl<T, E> CallerSide<T, E> {
    pub(super) async fn result(mut self) -> Result<Stored<T>, CallFailure<E>> {
        let answer = match clock::within(self.limit.deadline, &mut self.answer).await {
            Some(Ok(answer)) => answer,
            Some(Err(_)) => return Err(self.unanswered(Unavailable::WorkerEnded).into()),
            // The worker may have sent the result at the moment of the deadline.
            None => match self.answer.try_recv() {
                Ok(answer) => answer,
                Err(_) => return Err(self.unanswered(Unavailable::TooLate).into()),
            },
        };
        match answer {
            Ok(result) => result,
            Err(panic) => panic::resume_unwind(panic),
        }
    }

    fn unanswered(&self, why: Unavailable) -> Error {
        let is_too_late = matches!(why, Unavailable::TooLate);
        let Progress { phase, attempts } = self.progress.leave();
        let (spent, last) = (Spent::new(attempts, self.limit.elapsed()), Box::new(Error::Unavailable(why)));
        match phase {
            Phase::Frozen => {
                let table = Arc::clone(&self.table);
                Error::Indeterminate { table, expected: None, found: None, spent, last: Some(last) }
            }
            Phase::Waiting | Phase::Left if is_too_late => Error::Exhausted { spent, last },
            Phase::Waiting | Phase::Left => *last,
        }
    }
}

impl<T, E> Drop for CallerSide<T, E> {
    fn drop(&mut self) {
        self.progress.leave();
    }
}

impl TimeLimit {
    fn elapsed(&self) -> Duration {
        clock::now().duration_since(self.started)
    }
}

mod requests;

pub(crate) use requests::Answered;

use std::{cell::Cell, future::Future, sync::Arc, time::Duration};

use super::{
    Backoff, Connection, Limits,
    connection::DEPARTED,
    pace::{ConflictBackoff, ConflictStep},
};
use crate::{
    clock::{self, Instant},
    error::{Error, Refusal, Spent, Unavailable},
    operation::Failure,
    random,
};

/// How long DynamoDB remembers a ClientRequestToken.
const TOKEN_LIFE: Duration = Duration::from_mins(10);

/// One call of the public API, over all its requests.
#[derive(Debug)]
pub(crate) struct Attempts {
    connection: Arc<Connection>,
    limits: Limits,
    started: Instant,
    /// Attempts so far, which the limit counts; reads that were answered are left out.
    count: u32,
    /// Those of them that the SDK did not send.
    unsent: u32,
    in_doubt: bool,
    pauses: u32,
    rng: fastrand::Rng,
    backoff: Backoff,
    pacer: ConflictBackoff,
}

/// The state of a call after a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterConflict {
    /// The next attempt starts from the item that the conflict returned.
    AtOnce,
    /// The call has slept, so what it read before is old.
    Slept,
    /// The call ends with the conflict.
    NoTimeLeft,
}

impl Attempts {
    pub(crate) fn new(connection: &Arc<Connection>, limits: Limits) -> Self {
        Self {
            limits,
            started: clock::now(),
            connection: Arc::clone(connection),
            count: 0,
            unsent: 0,
            in_doubt: false,
            pauses: 0,
            rng: random::generator(),
            backoff: Backoff::default(),
            pacer: ConflictBackoff::new(limits.pace),
        }
    }

    /// The requests that were sent so far, and the time since the call began.
    pub(crate) fn spent(&self) -> Spent {
        Spent::new(self.count.saturating_sub(self.unsent), self.elapsed())
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Whether the outcome of a request is unknown: it may have been applied, or may still be.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.in_doubt
    }

    /// The attempts of a call that began earlier, and has sent so many requests that failed or met a conflict.
    pub(crate) fn since(connection: &Arc<Connection>, limits: Limits, started: Instant, attempts: u32) -> Self {
        Self { started, count: attempts, ..Self::new(connection, limits) }
    }

    /// Sets the number of requests that the whole call has sent, here and elsewhere.
    pub(crate) fn set_sent(&mut self, attempts: u32) {
        self.count = attempts + self.unsent;
    }

    /// How often it has slept between requests.
    pub(crate) fn pauses(&self) -> u32 {
        self.pauses
    }

    pub(crate) fn rng(&mut self) -> &mut fastrand::Rng {
        &mut self.rng
    }

    /// Sends a request that may be repeated without harm, until an answer comes.
    pub(crate) async fn repeat<O, F>(&mut self, table: &Arc<str>, request: impl FnMut() -> F) -> Result<O, Error>
    where
        F: Future<Output = Result<O, Failure>>,
    {
        self.repeat_of(1, table, request).await
    }

    /// Like [`repeat`](Self::repeat), for a request of so many items.
    pub(crate) async fn repeat_of<O, F>(
        &mut self,
        items: usize,
        table: &Arc<str>,
        mut request: impl FnMut() -> F,
    ) -> Result<O, Error>
    where
        F: Future<Output = Result<O, Failure>>,
    {
        loop {
            match self.attempt_of(items, request()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => self.pause(table, failure).await?,
            }
        }
    }

    /// Sleeps after a conflict with an item of this size at this version, if the pace asks for it.
    pub(crate) async fn pause_after_conflict(&mut self, size: usize, version: u64) -> AfterConflict {
        let pause = self.pace(size, version);
        if !self.may_go_on(pause) {
            return AfterConflict::NoTimeLeft;
        }
        if pause.is_zero() {
            return AfterConflict::AtOnce;
        }
        clock::sleep(pause).await;
        AfterConflict::Slept
    }

    /// The version that the item of the last conflict is at after the sleep.
    pub(crate) fn read_after_pause(&mut self, version: u64) {
        self.pacer.read(version, clock::now(), self.connection.round_trip.get());
    }

    /// How long to sleep before the next attempt; not at all while an item that was returned is new.
    fn pace(&mut self, size: usize, version: u64) -> Duration {
        let (now, srtt) = (clock::now(), self.connection.round_trip.get());
        let pause = match self.pacer.conflict(size, version, now, srtt, &mut self.rng) {
            ConflictStep::AtOnce => Duration::ZERO,
            ConflictStep::Sleep(pause) => pause,
        };
        tracing::debug!(attempts = self.count, ?pause, "conflict");
        pause
    }

    /// Waits between two requests of a call that waits for something on the server.
    pub(crate) async fn wait(&mut self, backoff: &mut Backoff, last: Error) -> Result<(), Error> {
        let pause = backoff.next(Backoff::FIRST, &mut self.rng);
        if !self.may_go_on(pause) {
            return Err(self.exhausted(last));
        }
        clock::sleep(pause).await;
        Ok(())
    }

    /// One request for one item.
    pub(crate) async fn attempt<O>(&mut self, request: impl Future<Output = Result<O, Failure>>) -> Result<O, Failure> {
        self.attempt_of(1, request).await
    }

    /// One request for so many items under the attempt's timeout, which doubles while no answer comes: a first request may have to fetch
    /// credentials and open a connection, and one that is cut off there starts anew.
    pub(crate) async fn attempt_of<O>(
        &mut self,
        items: usize,
        request: impl Future<Output = Result<O, Failure>>,
    ) -> Result<O, Failure> {
        self.limits.check().map_err(Failure::InvalidSetting)?;
        let sent = clock::now();
        let timeout = self.limits.attempt_timeout_of(items).saturating_mul(1 << self.backoff.failures().min(3));
        let timeout = timeout.min(self.time_left());
        self.count += 1;
        let attempt = async {
            let outcome = clock::within(timeout, request).await.unwrap_or_else(|| Err(Failure::timeout()));
            (outcome, DEPARTED.with(Cell::get))
        };
        let (outcome, departed) = DEPARTED.scope(Cell::new(false), attempt).await;
        // What could not be signed, or waited for credentials, was not sent.
        let outcome = if departed { outcome } else { outcome.map_err(Failure::unsent) };
        // A host name without an address is found out after the departure.
        if outcome.is_err() && (!departed || matches!(outcome, Err(Failure::Misconfigured(_)))) {
            self.unsent += 1;
        }
        self.in_doubt |= matches!(&outcome, Err(failure) if failure.leaves_doubt());
        let answered = match &outcome {
            Ok(_) | Err(Failure::Condition(_)) => true,
            Err(Failure::Cancelled(reasons)) => !reasons.pass(),
            Err(_) => false,
        };
        if answered {
            self.connection.budget.deposit();
            self.connection.round_trip.sample(clock::now().duration_since(sent));
            self.backoff.reset();
        }
        outcome
    }

    /// Sleeps before the next attempt, or returns the error that ends the call.
    pub(crate) async fn pause(&mut self, table: &Arc<str>, failure: Failure) -> Result<(), Error> {
        let (last, costs) = match failure {
            Failure::NoTable => {
                return Err(Error::TableNotFound { table: Arc::clone(table), spent: self.spent() });
            }
            Failure::Misconfigured(why) => return Err(Error::Misconfigured(why)),
            Failure::InvalidSetting(why) => return Err(Error::InvalidSetting(why)),
            Failure::Permanent(refusal) if refusal.is_of_key_schema() => {
                return Err(mismatch(table, &refusal.after(self.spent())));
            }
            Failure::Permanent(refusal) => return Err(Error::Rejected(refusal.after(self.spent()))),
            Failure::Condition(_) | Failure::Cancelled(_) => {
                return Err(Error::Rejected(unexpected_condition().after(self.spent())));
            }
            Failure::TokenReused => return Err(Error::TokenReused { spent: self.spent() }),
            // Both will end, and are no outage that retries could make worse.
            Failure::Contention(refusal) | Failure::InProgress(refusal) => {
                (Error::Contention(refusal.after(self.spent())), false)
            }
            Failure::Capacity(refusal) => (Error::Throttled(refusal.after(self.spent())), true),
            Failure::Unsent(why) | Failure::Ambiguous(why) => (Error::Unavailable(why.after(self.spent())), true),
        };
        self.pause_after(last, costs).await
    }

    /// Sleeps before the next attempt, or gives up with what the last one met. A retry that `costs` is paid for by the budget.
    pub(crate) async fn pause_after(&mut self, last: Error, costs: bool) -> Result<(), Error> {
        let first = match &last {
            // The ring shows what became of a lost reply only until others have written it full: ask before that.
            Error::Unavailable(_) => self.connection.round_trip.get().min(Backoff::FIRST),
            _ => Backoff::FIRST,
        };
        let pause = self.backoff.next(first, &mut self.rng);
        tracing::debug!(attempts = self.count, ?pause, error = %last, "again");
        if !self.may_go_on(pause) || (costs && !self.connection.budget.withdraw()) {
            return Err(self.exhausted(last));
        }
        self.pauses += 1;
        clock::sleep(pause).await;
        Ok(())
    }

    /// Whether another request may be sent after a pause.
    pub(crate) fn may_go_on(&self, pause: Duration) -> bool {
        let attempts_left = self.limits.attempts.is_none_or(|limit| self.count < limit);
        attempts_left && self.elapsed() + pause < self.limits.deadline
    }

    fn time_left(&self) -> Duration {
        self.limits.deadline.saturating_sub(self.elapsed())
    }

    /// Refuses to begin a write after the deadline.
    pub(crate) fn check_time(&self) -> Result<(), Error> {
        if self.time_left().is_zero() { Err(self.too_late()) } else { Ok(()) }
    }

    /// Whether DynamoDB still knows the tokens of this call.
    pub(crate) fn tokens_are_known(&self) -> bool {
        self.elapsed() < TOKEN_LIFE
    }

    fn elapsed(&self) -> Duration {
        clock::now().duration_since(self.started)
    }

    /// The error of a call that has no time left for its next request.
    pub(crate) fn too_late(&self) -> Error {
        self.exhausted(Error::Unavailable(Unavailable::TooLate))
    }

    /// The error of a call that gives up after this error.
    pub(crate) fn exhausted(&self, last: Error) -> Error {
        Error::Exhausted { spent: self.spent(), last: Box::new(last) }
    }

    /// The error of a write in doubt whose outcome stays unknown. `stop` is the error that ended the retries.
    pub(crate) fn indeterminate(
        &self,
        table: &Arc<str>,
        expected: Option<u64>,
        found: Option<u64>,
        stop: Option<Error>,
    ) -> Error {
        let last = stop.map(|stop| match stop {
            Error::Exhausted { last, .. } => last,
            stop => Box::new(stop),
        });
        Error::Indeterminate { table: Arc::clone(table), expected, found, spent: self.spent(), last }
    }
}

/// The error of a request whose key DynamoDB refused.
pub(crate) fn mismatch(table: &Arc<str>, refusal: &Refusal) -> Error {
    let reason = format!("{refusal}; `create_table` compares both keys and says what differs");
    Error::TableMismatch { table: Arc::clone(table), reason }
}

/// The names of all tables of a request, each once.
pub(crate) fn tables<'t>(all: impl IntoIterator<Item = &'t Arc<str>>) -> Arc<str> {
    let mut names: Vec<&str> = Vec::new();
    for table in all {
        if !names.contains(&&**table) {
            names.push(table);
        }
    }
    names.join(", ").into()
}

/// The refusal of a request without a condition for its condition. DynamoDB never sends this, but a broken gateway may.
pub(crate) fn unexpected_condition() -> Refusal {
    let message = "a request without a condition was refused for its condition";
    Refusal::new("ConditionalCheckFailedException", message, None)
}

mod requests;

pub(crate) use requests::Answered;

use std::{cell::Cell, future::Future, sync::Arc, time::Duration};

use super::{
    Backoff, CallCost, Connection, Limits, Purpose,
    call_cost::{CostContext, CostOutcome, MeteredAttempt},
    pace::{ConflictBackoff, ConflictStep, Times},
};
use crate::{
    clock::{self, Instant},
    error::{Error, Refusal, Spent, Unavailable},
    operation::{Failure, IN_FLIGHT, InFlight},
    random, telemetry,
};

/// The time for which a call relies on its ClientRequestToken. DynamoDB remembers a token for ten
/// minutes. The margin of one minute is for requests that arrive late.
const TOKEN_LIFE: Duration = Duration::from_mins(9);

/// The longest window of the pauses of a unit of work after `TransactionConflict`.
const LONGEST_AFTER_CONTENTION: Duration = Duration::from_millis(500);

/// One call of the public API, with all its requests.
#[derive(Debug)]
pub(crate) struct Attempts {
    connection: Arc<Connection>,
    limits: Limits,
    started: Instant,
    /// The number of attempts so far, which the limit of the call applies to. An answered read does
    /// not count as an attempt.
    count: u32,
    /// The number of these attempts that never left the SDK.
    unsent: u32,
    in_doubt: bool,
    /// The cost of the call, or `None` if the call is not metered.
    call_cost: Option<Arc<CallCost>>,
    cost_context: CostContext,
    pauses: u32,
    /// The number of attempts in a row that were not answered.
    unanswered: u32,
    rng: LazyRng,
    backoff: Backoff,
    pacer: ConflictBackoff,
    /// The smoothed duration of a run of the closure of a unit of work. Each run has a weight of one
    /// eighth. Zero for other calls.
    run: Duration,
}

/// The random numbers of a call. A call that needs none, such as a read without a retry, does not
/// ask the operating system for a seed.
#[derive(Debug, Default)]
struct LazyRng(Option<fastrand::Rng>);

impl LazyRng {
    fn get(&mut self) -> &mut fastrand::Rng {
        self.0.get_or_insert_with(random::generator)
    }
}

/// The next step of a call after a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterConflict {
    /// The next attempt starts from the item that the conflict returned.
    AtOnce,
    /// The call has slept, so the items that it read before may be outdated.
    Slept,
    /// The call has no time left, and ends with the conflict.
    NoTimeLeft,
}

impl Attempts {
    pub(crate) fn new(connection: &Arc<Connection>, limits: Limits) -> Self {
        Self::on(CallCost::begin_call(connection.meter.as_ref(), limits.budget), connection, limits)
    }

    /// Starts a part of a call whose cost is counted here.
    pub(crate) fn on(call_cost: Option<Arc<CallCost>>, connection: &Arc<Connection>, limits: Limits) -> Self {
        Self {
            call_cost,
            cost_context: CostContext::default(),
            limits,
            started: clock::now(),
            connection: Arc::clone(connection),
            count: 0,
            unsent: 0,
            in_doubt: false,
            pauses: 0,
            unanswered: 0,
            rng: LazyRng::default(),
            backoff: Backoff::default(),
            pacer: ConflictBackoff::new(limits.pace),
            run: Duration::ZERO,
        }
    }

    /// Sets the purpose of the following requests.
    pub(crate) fn with_purpose(mut self, purpose: Purpose) -> Self {
        self.cost_context.purpose = purpose;
        self
    }

    /// Exempts the following reads from the budget of the call, because they find out whether a
    /// write was applied.
    pub(crate) fn exempt_reads(&mut self) {
        self.cost_context.reads_are_exempt = true;
    }

    /// Returns the number of requests that were sent, the time since the start of the call, and its
    /// cost.
    pub(crate) fn spent(&self) -> Spent {
        let cost = self.call_cost.as_ref().map(|call_cost| call_cost.cost());
        Spent::new(self.count.saturating_sub(self.unsent), self.elapsed()).with_cost(cost)
    }

    /// Returns the cost of the call, or `None` if the call is not metered.
    pub(crate) fn call_cost(&self) -> Option<Arc<CallCost>> {
        self.call_cost.clone()
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Returns whether a request of this call has an unknown outcome: the request may have been
    /// applied, or may still be applied later.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.in_doubt
    }

    /// Continues a call that began earlier and has already used `attempts` attempts.
    pub(crate) fn since(self, started: Instant, attempts: u32) -> Self {
        Self { started, count: attempts, ..self }
    }

    /// Sets the number of attempts of the whole call, including attempts that were counted in
    /// another `Attempts`.
    pub(crate) fn set_sent(&mut self, attempts: u32) {
        self.count = attempts + self.unsent;
    }

    /// Returns the number of sleeps between requests.
    pub(crate) fn pauses(&self) -> u32 {
        self.pauses
    }

    pub(crate) fn rng(&mut self) -> &mut fastrand::Rng {
        self.rng.get()
    }

    /// Sends a request again until DynamoDB answers it or the call ends. The request must be safe
    /// to repeat.
    pub(crate) async fn repeat<O, F>(&mut self, table: &Arc<str>, request: impl FnMut() -> F) -> Result<O, Error>
    where
        F: Future<Output = Result<O, Failure>>,
    {
        self.repeat_of(1, table, request).await
    }

    /// Repeats a request for `items` items, like [`repeat`](Self::repeat).
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

    /// Sleeps after a conflict with an item of this size, if the pace requires a sleep. Ends the call
    /// if the next attempt would not be answered before the deadline: the outcome of a write that
    /// the deadline interrupts would be unknown.
    pub(crate) async fn pause_after_conflict(&mut self, size: usize) -> AfterConflict {
        let turn = self.turn();
        // After a sleep, the call reads the item again, so it needs a second round trip.
        let longest = self.time_left().saturating_sub(2 * turn);
        let times = Times { age: self.elapsed(), round_trip: turn, longest };
        let step = self.pacer.conflict(size, times, &self.connection.contenders, self.rng.get());
        telemetry::conflict(step.pause());
        match step {
            ConflictStep::AtOnce if self.may_go_on(turn) => AfterConflict::AtOnce,
            ConflictStep::Sleep(pause) if pause <= longest && self.may_go_on(pause) => {
                clock::sleep(pause).await;
                AfterConflict::Slept
            }
            ConflictStep::AtOnce | ConflictStep::Sleep(_) => AfterConflict::NoTimeLeft,
        }
    }

    /// Records a run of the closure of a unit of work, which began at this time and ends now. The
    /// sleeps of the unit of work are measured in runs, because a run takes longer than a round
    /// trip.
    pub(crate) fn ran_since(&mut self, began: Instant) {
        let run = clock::now().duration_since(began);
        self.run = if self.run.is_zero() { run } else { (7 * self.run + run) / 8 };
    }

    /// Returns the time from the first read of an attempt to the answer of its write: a run of the
    /// closure and a round trip.
    fn turn(&self) -> Duration {
        self.run + self.connection.round_trip.get()
    }

    /// Sleeps between two requests of a call that waits for a change on the server.
    pub(crate) async fn wait(&mut self, backoff: &mut Backoff, last: Error) -> Result<(), Error> {
        let pause = backoff.next(Backoff::FIRST, self.rng.get());
        if !self.may_go_on(pause) {
            return Err(self.exhausted(last));
        }
        clock::sleep(pause).await;
        Ok(())
    }

    /// Sends one attempt of a request for one item.
    pub(crate) async fn attempt<O>(&mut self, request: impl Future<Output = Result<O, Failure>>) -> Result<O, Failure> {
        self.attempt_of(1, request).await
    }

    /// Sends one attempt of a request for `items` items. The timeout doubles with each attempt in a
    /// row that had no answer: the first attempt may have to fetch credentials and open a
    /// connection, and each attempt after a timeout starts these steps again.
    pub(crate) async fn attempt_of<O>(
        &mut self,
        items: usize,
        request: impl Future<Output = Result<O, Failure>>,
    ) -> Result<O, Failure> {
        self.limits.check().map_err(Failure::InvalidSetting)?;
        let sent = clock::now();
        let timeout = self.limits.attempt_timeout_of(items).saturating_mul(1 << self.unanswered.min(3));
        let timeout = timeout.min(self.time_left());
        // The attempt is counted before it is sent, because the caller may drop this future at any
        // time.
        self.count += 1;
        let metered_attempt = self.call_cost.as_ref().map(|call_cost| call_cost.begin_attempt(self.cost_context));
        let metered = metered_attempt.as_ref().map(|attempt| Arc::clone(attempt.request()));
        let attempt = async {
            let outcome = clock::within(timeout, request).await.unwrap_or_else(|| Err(Failure::timeout()));
            (outcome, IN_FLIGHT.with(|in_flight| in_flight.departed.get()))
        };
        let (outcome, departed) = IN_FLIGHT.scope(InFlight { departed: Cell::new(false), metered }, attempt).await;
        // If the request has not departed, it was still waiting for credentials or for its
        // signature, so it was not sent.
        let outcome = if departed { outcome } else { outcome.map_err(Failure::unsent) };
        // The SDK hands the request over before the connector looks up the host name, so `departed`
        // is true even for an unknown host name.
        if outcome.is_err() && (!departed || matches!(outcome, Err(Failure::Misconfigured(_)))) {
            self.unsent += 1;
        }
        if let Some(attempt) = metered_attempt {
            self.end_metered(attempt, &outcome);
        }
        self.in_doubt |= matches!(&outcome, Err(failure) if failure.leaves_doubt());
        self.unanswered = match &outcome {
            Err(Failure::Unsent(_) | Failure::Ambiguous(_)) => self.unanswered.saturating_add(1),
            Ok(_) | Err(_) => 0,
        };
        // A false condition is an answer, too: the service works, and the round trip is a valid
        // sample.
        let answered = match &outcome {
            Ok(_) | Err(Failure::Condition(_)) => true,
            Err(Failure::Cancelled(reasons)) => !reasons.pass(),
            Err(_) => false,
        };
        if answered {
            self.connection.retry_budget.deposit();
            self.connection.round_trip.sample(clock::now().duration_since(sent));
            self.backoff.reset();
        }
        outcome
    }

    /// Charges a metered request.
    fn end_metered<O>(&mut self, attempt: MeteredAttempt, outcome: &Result<O, Failure>) {
        let is_read = attempt.is_read();
        let ended = attempt.end(outcome);
        let context = &mut self.cost_context;
        match ended {
            CostOutcome::Lost => context.repeats_lost = true,
            CostOutcome::Answered | CostOutcome::Refused => context.repeats_lost = false,
            CostOutcome::Free => {}
        }
        context.reads_are_exempt |= !is_read && matches!(ended, CostOutcome::Lost | CostOutcome::Answered);
    }

    /// Sleeps before the next attempt, or returns the error that ends the call.
    pub(crate) async fn pause(&mut self, table: &Arc<str>, failure: Failure) -> Result<(), Error> {
        // Another transaction or an earlier copy of the request is still running, and will soon
        // end. DynamoDB is not overloaded, so the retry does not use the budget.
        let costs = !matches!(failure, Failure::Contention(_) | Failure::InProgress(_));
        let last = self.failed(table, failure)?;
        self.pause_after(last, costs).await
    }

    /// Converts a failure into an error. Returns `Ok` if another attempt may succeed, and `Err` if
    /// the failure ends the call.
    pub(crate) fn failed(&self, table: &Arc<str>, failure: Failure) -> Result<Error, Error> {
        match failure {
            Failure::NoTable => Err(Error::TableNotFound { table: Arc::clone(table), spent: self.spent() }),
            Failure::Misconfigured(why) => Err(Error::Misconfigured(why)),
            Failure::InvalidSetting(why) => Err(Error::InvalidSetting(why)),
            Failure::OverBudget(over) => {
                let budget = self.call_cost.as_ref().map(|call_cost| call_cost.budget()).unwrap_or_default();
                Err(Error::BudgetExceeded { budget, needed: over.needed, spent: self.spent() })
            }
            Failure::Permanent(refusal) if refusal.is_of_key_schema() => {
                Err(mismatch(table, &refusal.after(self.spent())))
            }
            Failure::Permanent(refusal) => Err(Error::Rejected(refusal.after(self.spent()))),
            Failure::Condition(_) | Failure::Cancelled(_) => {
                Err(Error::Rejected(unexpected_condition().after(self.spent())))
            }
            Failure::TokenReused => Err(Error::TokenReused { spent: self.spent() }),
            Failure::Contention(refusal) | Failure::InProgress(refusal) => {
                Ok(Error::Contention(refusal.after(self.spent())))
            }
            Failure::Capacity(refusal) => Ok(Error::Throttled(refusal.after(self.spent()))),
            Failure::Unsent(why) | Failure::Ambiguous(why) => Ok(Error::Unavailable(why.after(self.spent()))),
        }
    }

    /// Sleeps before the next attempt. If the call allows no further attempt, returns the error of
    /// the last attempt. If `costs` is `true`, the retry takes a token from the retry budget.
    pub(crate) async fn pause_after(&mut self, last: Error, costs: bool) -> Result<(), Error> {
        let pause = match &last {
            // The item shows the outcome of a lost reply only until later writes remove the write
            // id from the ring. The first pause is therefore short.
            Error::Unavailable(_) => {
                self.backoff.next(self.connection.round_trip.get().min(Backoff::FIRST), self.rng.get())
            }
            // A unit of work competes with whole runs of others. Shorter first pauses cost more
            // refusals, and longer last pauses raise the p99:
            // `cargo bench --bench transactions_contention`.
            Error::Cancelled(_) if !costs && !self.run.is_zero() => {
                self.backoff.next_up_to(LONGEST_AFTER_CONTENTION, 10 * self.turn(), self.rng.get())
            }
            _ => self.backoff.next(Backoff::FIRST, self.rng.get()),
        };
        // The order of these tests matters: a retry that has no time left must not take a token
        // from the budget.
        if !self.may_go_on(pause) || (costs && !self.connection.retry_budget.withdraw()) {
            return Err(self.exhausted(last));
        }
        self.pauses += 1;
        telemetry::retry(&last, pause);
        clock::sleep(pause).await;
        Ok(())
    }

    /// Returns whether the deadline and the number of attempts allow another request after a pause.
    pub(crate) fn may_go_on(&self, pause: Duration) -> bool {
        let attempts_left = self.limits.attempts.is_none_or(|limit| self.count < limit);
        attempts_left && self.elapsed() + pause < self.limits.deadline
    }

    /// Moves the deadline to this time from now.
    pub(crate) fn allow(&mut self, time: Duration) {
        self.limits.deadline = self.elapsed().saturating_add(time);
    }

    fn time_left(&self) -> Duration {
        self.limits.deadline.saturating_sub(self.elapsed())
    }

    /// Returns an error if the deadline has passed, so that no write starts after the deadline.
    pub(crate) fn check_time(&self) -> Result<(), Error> {
        if self.time_left().is_zero() { Err(self.too_late()) } else { Ok(()) }
    }

    /// Returns whether DynamoDB still remembers the client request tokens of this call.
    pub(crate) fn tokens_are_known(&self) -> bool {
        // The token was first sent after the start of the call, so DynamoDB remembers the token for
        // longer than this calculation assumes.
        self.elapsed() < TOKEN_LIFE
    }

    fn elapsed(&self) -> Duration {
        clock::now().duration_since(self.started)
    }

    /// Returns the error of a call that has no time left for its next request.
    pub(crate) fn too_late(&self) -> Error {
        self.exhausted(Error::Unavailable(Unavailable::TooLate))
    }

    /// Returns the error of a call whose last attempt failed with `last`.
    pub(crate) fn exhausted(&self, last: Error) -> Error {
        Error::Exhausted { spent: self.spent(), last: Box::new(last) }
    }

    /// Returns the error of a write whose outcome stays unknown. `stop` is the error that ended the
    /// retries.
    pub(crate) fn indeterminate(
        &self,
        table: &Arc<str>,
        expected: Option<u64>,
        found: Option<u64>,
        stop: Option<Error>,
    ) -> Error {
        let last = stop.map(|stop| match stop {
            // `Indeterminate` already contains the attempts and the time, so the inner `Exhausted`
            // is removed.
            Error::Exhausted { last, .. } => last,
            stop => Box::new(stop),
        });
        Error::Indeterminate { table: Arc::clone(table), expected, found, spent: self.spent(), last }
    }
}

/// Returns the error for a request whose key attributes differ from those of its table.
pub(crate) fn mismatch(table: &Arc<str>, refusal: &Refusal) -> Error {
    let reason = format!("{refusal}; `create_table` compares both keys and says what differs");
    Error::TableMismatch { table: Arc::clone(table), reason }
}

/// Returns a refusal for a false condition of a request that has no condition. DynamoDB never sends
/// a false condition for a request without a condition, but a broken gateway may.
pub(crate) fn unexpected_condition() -> Refusal {
    let message = "a request without a condition was refused for its condition";
    Refusal::new("ConditionalCheckFailedException", message, None)
}

mod requests;

pub(crate) use requests::Answered;

use std::{
    cell::{Cell, LazyCell},
    future::Future,
    sync::Arc,
    time::Duration,
};

use super::{
    Backoff, CallCost, Connection, Limits, Purpose,
    call_cost::{CostContext, CostOutcome, MeteredAttempt},
    pace::{ConflictBackoff, Times},
};
use crate::{
    clock::{self, Instant},
    error::{Error, Refusal, Spent, Unavailable},
    operation::{Failure, IN_FLIGHT, InFlight},
    random, telemetry,
};

/// `TOKEN_LIFE` is one minute shorter than the ten minutes for which DynamoDB remembers a
/// ClientRequestToken, because a repeated request may arrive late at DynamoDB.
const TOKEN_LIFE: Duration = Duration::from_mins(9);

/// The longest pause of a unit of work (a call of `transact`) after a `TransactionConflict`.
const LONGEST_AFTER_CONTENTION: Duration = Duration::from_millis(500);

/// One call of the public API: the limits of the call, and the state of its requests and retries.
#[derive(Debug)]
pub(crate) struct Attempts {
    connection: Arc<Connection>,
    limits: Limits,
    started: Instant,
    /// The number of attempts so far, except the reads that DynamoDB has answered.
    count: u32,
    /// The number of attempts in `count` whose requests never left the SDK.
    unsent: u32,
    in_doubt: bool,
    /// The call has ended because the retry budget was empty.
    out_of_retries: bool,
    call_cost: Option<Arc<CallCost>>,
    cost_context: CostContext,
    pauses: u32,
    unanswered: u32,
    /// A call that needs no random numbers does not ask the operating system for a seed.
    rng: LazyCell<fastrand::Rng>,
    backoff: Backoff,
    pacer: ConflictBackoff,
    /// The moving average of the time that the closure of a `transact` call takes, or zero for all
    /// other calls.
    run: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterConflict {
    /// The next attempt follows without a sleep, and starts from the item that DynamoDB returned
    /// with the conflict.
    AtOnce,
    /// The call has slept, so the items that the call read before the sleep may be outdated.
    Slept,
    /// The deadline or the limit of attempts allows no further attempt.
    NoTimeLeft,
}

impl Attempts {
    pub(crate) fn new(connection: &Arc<Connection>, limits: Limits) -> Self {
        Self::on(CallCost::begin_call(connection.meter.as_ref(), limits.budget), connection, limits)
    }

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
            out_of_retries: false,
            pauses: 0,
            unanswered: 0,
            rng: LazyCell::new(random::generator),
            backoff: Backoff::default(),
            pacer: ConflictBackoff::new(limits.pace.unwrap_or_default()),
            run: Duration::ZERO,
        }
    }

    pub(crate) fn with_purpose(mut self, purpose: Purpose) -> Self {
        self.cost_context.purpose = purpose;
        self
    }

    /// The capacity budget must not prevent the reads that find out whether DynamoDB has applied a
    /// write.
    pub(crate) fn exempt_reads(&mut self) {
        self.cost_context.reads_are_exempt = true;
    }

    pub(crate) fn spent(&self) -> Spent {
        let cost = self.call_cost.as_ref().map(|call_cost| call_cost.cost());
        let spent = Spent::new(self.count.saturating_sub(self.unsent), self.elapsed()).with_cost(cost);
        Spent { out_of_retries: self.out_of_retries, ..spent }
    }

    pub(crate) fn call_cost(&self) -> Option<Arc<CallCost>> {
        self.call_cost.clone()
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    pub(crate) fn is_in_doubt(&self) -> bool {
        self.in_doubt
    }

    pub(crate) fn since(self, started: Instant, attempts: u32) -> Self {
        Self { started, count: attempts, ..self }
    }

    /// `attempts` is the number of requests of the whole call, which may use several `Attempts`.
    pub(crate) fn set_sent(&mut self, attempts: u32) {
        self.count = attempts + self.unsent;
    }

    /// Returns the number of pauses after failed requests, without the sleeps after conflicts.
    pub(crate) fn pauses(&self) -> u32 {
        self.pauses
    }

    pub(crate) fn rng(&mut self) -> &mut fastrand::Rng {
        &mut self.rng
    }

    /// `repeat` may send `request` several times, so `request` must be idempotent.
    pub(crate) async fn repeat<O, F>(&mut self, table: &Arc<str>, request: impl FnMut() -> F) -> Result<O, Error>
    where
        F: Future<Output = Result<O, Failure>>,
    {
        self.repeat_of(1, table, request).await
    }

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

    /// `size` is the size of the item in bytes.
    pub(crate) async fn pause_after_conflict(&mut self, size: usize) -> AfterConflict {
        let turn = self.turn();
        // After a sleep, the call needs time for two round trips: a read of the item and the write.
        let longest = self.time_left().saturating_sub(2 * turn);
        let times = Times { age: self.elapsed(), round_trip: turn, longest };
        let pause = self.pacer.conflict(size, times, &self.connection.contenders, &mut self.rng);
        telemetry::conflict(pause.unwrap_or_default());
        match pause {
            None if self.may_go_on(turn) => AfterConflict::AtOnce,
            Some(pause) if pause <= longest && self.may_go_on(pause) => {
                clock::sleep(pause).await;
                AfterConflict::Slept
            }
            None | Some(_) => AfterConflict::NoTimeLeft,
        }
    }

    /// The sleeps of a `transact` call grow with the average run time of its closure, because each
    /// attempt runs the closure.
    pub(crate) fn ran_since(&mut self, began: Instant) {
        let run = clock::now().duration_since(began);
        self.run = if self.run.is_zero() { run } else { (7 * self.run + run) / 8 };
    }

    fn turn(&self) -> Duration {
        self.run + self.connection.round_trip.get()
    }

    /// Sleeps before the next request of a call that waits for DynamoDB, for example for a new
    /// table.
    pub(crate) async fn wait(&mut self, backoff: &mut Backoff, last: Error) -> Result<(), Error> {
        let pause = backoff.next(Backoff::FIRST, &mut self.rng);
        if !self.may_go_on(pause) {
            return Err(self.exhausted(last));
        }
        clock::sleep(pause).await;
        Ok(())
    }

    pub(crate) async fn attempt<O>(&mut self, request: impl Future<Output = Result<O, Failure>>) -> Result<O, Failure> {
        self.attempt_of(1, request).await
    }

    /// The timeout of a request doubles after each attempt without an answer, up to eight times the
    /// first timeout. With a constant timeout, a slow credentials provider or a slow connection
    /// could make every attempt fail.
    pub(crate) async fn attempt_of<O>(
        &mut self,
        items: usize,
        request: impl Future<Output = Result<O, Failure>>,
    ) -> Result<O, Failure> {
        self.limits.check().map_err(Failure::InvalidSetting)?;
        let sent = clock::now();
        let timeout = self.limits.attempt_timeout_of(items).saturating_mul(1 << self.unanswered.min(3));
        let timeout = timeout.min(self.time_left());
        // The code counts the attempt before the request is sent, because the caller may drop the
        // future.
        self.count += 1;
        let metered_attempt = self.call_cost.as_ref().map(|call_cost| call_cost.begin_attempt(self.cost_context));
        let metered = metered_attempt.as_ref().map(|attempt| Arc::clone(&attempt.request));
        let attempt = async {
            let outcome = clock::within(timeout, request).await.unwrap_or_else(|| Err(Failure::timeout()));
            (outcome, IN_FLIGHT.with(|in_flight| in_flight.departed.get()))
        };
        let (outcome, departed) = IN_FLIGHT.scope(InFlight { departed: Cell::new(false), metered }, attempt).await;
        // A request that has not departed still waits for credentials or for a signature, so
        // DynamoDB has not received the request.
        let outcome = if departed { outcome } else { outcome.map_err(Failure::unsent) };
        // A misconfigured request counts as unsent even if `departed` is true, because `departed`
        // becomes true before the connector looks up the host name.
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
        // A refusal because of a false condition shows that DynamoDB is available, and gives a
        // valid sample of the round trip time.
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

    fn end_metered<O>(&mut self, attempt: MeteredAttempt, outcome: &Result<O, Failure>) {
        let is_read = attempt.request.is_read();
        let ended = attempt.end(outcome);
        let context = &mut self.cost_context;
        match ended {
            CostOutcome::Lost => context.repeats_lost = true,
            CostOutcome::Answered | CostOutcome::Refused => context.repeats_lost = false,
            CostOutcome::Free => {}
        }
        context.reads_are_exempt |= !is_read && matches!(ended, CostOutcome::Lost | CostOutcome::Answered);
    }

    /// Sleeps before the next attempt, or returns an error if `failure` ends the call.
    pub(crate) async fn pause(&mut self, table: &Arc<str>, failure: Failure) -> Result<(), Error> {
        // `Contention` and `InProgress` do not show an overload of DynamoDB, so the retry takes no
        // token from the retry budget.
        let costs = !matches!(failure, Failure::Contention(_) | Failure::InProgress(_));
        let pause = self.failed(table, failure).and_then(|last| self.next_pause(last, costs))?;
        clock::sleep(pause).await;
        Ok(())
    }

    /// Returns the error in `Ok` if another attempt may succeed, and in `Err` if the failure ends
    /// the call.
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

    /// If `costs` is `true`, the retry takes a token from the retry budget.
    pub(crate) async fn pause_after(&mut self, last: Error, costs: bool) -> Result<(), Error> {
        let pause = self.next_pause(last, costs)?;
        clock::sleep(pause).await;
        Ok(())
    }

    /// Returns the duration of the sleep before the next attempt, or an error if no attempt may
    /// follow. `next_pause` is not `async`, because an `async` function would keep `last` in its
    /// future during the sleep.
    fn next_pause(&mut self, last: Error, costs: bool) -> Result<Duration, Error> {
        let pause = match &last {
            // The first pause after a lost reply is at most one round trip, because later writes
            // may soon remove the write id from the item.
            Error::Unavailable(_) => {
                self.backoff.next(self.connection.round_trip.get().min(Backoff::FIRST), &mut self.rng)
            }
            // After short pauses, units of work (calls of `transact`) often conflict again. In the
            // benchmark `transactions_contention`, shorter first pauses cost more refusals, and
            // longer last pauses raise the p99 of the durations.
            Error::Cancelled(_) if !costs && !self.run.is_zero() => {
                self.backoff.next_up_to(LONGEST_AFTER_CONTENTION, 10 * self.turn(), &mut self.rng)
            }
            _ => self.backoff.next(Backoff::FIRST, &mut self.rng),
        };
        // A call without time left must not take a token from the retry budget.
        if !self.may_go_on(pause) {
            return Err(self.exhausted(last));
        }
        if costs && !self.connection.retry_budget.withdraw(clock::now()) {
            self.out_of_retries = true;
            return Err(self.exhausted(last));
        }
        self.pauses += 1;
        telemetry::retry(&last, pause);
        Ok(pause)
    }

    pub(crate) fn may_go_on(&self, pause: Duration) -> bool {
        let attempts_left = self.limits.attempts.is_none_or(|limit| self.count < limit);
        attempts_left && self.elapsed() + pause < self.limits.deadline
    }

    pub(crate) fn allow(&mut self, time: Duration) {
        self.limits.deadline = self.elapsed().saturating_add(time);
    }

    fn time_left(&self) -> Duration {
        self.limits.deadline.saturating_sub(self.elapsed())
    }

    /// Each call that writes an item invokes `check_time` before the first request.
    pub(crate) fn check_time(&self) -> Result<(), Error> {
        if self.time_left().is_zero() { Err(self.too_late()) } else { Ok(()) }
    }

    /// Returns `true` if DynamoDB certainly still remembers the ClientRequestToken of the call.
    pub(crate) fn tokens_are_known(&self) -> bool {
        // `elapsed` counts from the start of the call, before DynamoDB has received the token.
        self.elapsed() < TOKEN_LIFE
    }

    fn elapsed(&self) -> Duration {
        clock::now().duration_since(self.started)
    }

    pub(crate) fn too_late(&self) -> Error {
        self.exhausted(Error::Unavailable(Unavailable::TooLate))
    }

    pub(crate) fn exhausted(&self, last: Error) -> Error {
        Error::Exhausted { spent: self.spent(), last: Box::new(last) }
    }

    /// `stop` is the error that has ended the retries of the write.
    pub(crate) fn indeterminate(
        &self,
        table: &Arc<str>,
        expected: Option<u64>,
        found: Option<u64>,
        stop: Option<Error>,
    ) -> Error {
        let last = stop.map(|stop| match stop {
            // `Exhausted` and `Indeterminate` both contain the cost of the call, so the code takes
            // only the error `last` out of `Exhausted`.
            Error::Exhausted { last, .. } => last,
            stop => Box::new(stop),
        });
        Error::Indeterminate { table: Arc::clone(table), expected, found, spent: self.spent(), last }
    }
}

pub(crate) fn mismatch(table: &Arc<str>, refusal: &Refusal) -> Error {
    let reason = format!("{refusal}; `verify_table` compares the table with its type and says what differs");
    Error::TableMismatch { table: Arc::clone(table), index: None, reason }
}

/// A broken gateway may report a false condition for a request without a condition.
pub(crate) fn unexpected_condition() -> Refusal {
    let message = "a request without a condition was refused for its condition";
    Refusal::new("ConditionalCheckFailedException", message, None)
}

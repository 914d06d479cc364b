use std::{cell::Cell, future::Future, sync::Arc, time::Duration};

use super::{
    Backoff, Connection, Limits,
    connection::DEPARTED,
    pace::{Pacer, Step},
};
use crate::{
    clock::{self, Instant},
    codec::{self, Item, ring_of, version_in},
    error::{CancellationClass, Error, Refusal, Unavailable},
    operation::{Failure, Get, GetMany, Reason, Reasons, Sending, Snapshot, Transact, Update, Write},
    random,
    version::{Expected, Found, Incarnation, Revision, Verdict, WriteId, verdict},
};

/// How long DynamoDB remembers a ClientRequestToken.
const TOKEN_LIFE: Duration = Duration::from_mins(10);

/// One call of the public API, over all its requests.
#[derive(Debug)]
pub(crate) struct Effort {
    connection: Arc<Connection>,
    limits: Limits,
    started: Instant,
    attempts: u32,
    pauses: u32,
    rng: fastrand::Rng,
    backoff: Backoff,
    pacer: Pacer,
}

/// What a write rests on, and what marks it.
#[derive(Clone, Copy)]
pub(crate) struct Aim<'a> {
    pub(crate) expected: Expected<'a>,
    pub(crate) id: WriteId,
    pub(crate) version_attribute: &'static str,
    pub(crate) late: Late,
}

/// What becomes of a late copy of a write that was refused although the item has not been written since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Late {
    /// It may be applied yet.
    MayPass,
    /// It is refused for ever, as the write of a holder is whose beat was overtaken.
    Refused,
}

/// Whether an earlier attempt may have been applied, and whether DynamoDB would have known it.
#[derive(Clone, Copy)]
struct Doubt {
    in_doubt: bool,
    known_token: bool,
}

/// What marks the writes of a transaction, and what they rest on.
#[derive(Clone, Copy)]
pub(crate) struct TransactionAim<'a> {
    pub(crate) id: WriteId,
    /// By write: the revision that its condition rests on.
    pub(crate) rests: &'a [Option<&'a Revision>],
}

/// What became of a conditional write.
pub(crate) enum Written {
    /// It was applied, and this says so.
    Applied(Proof),
    /// It was not applied; the item that it met.
    Conflict(Option<Item>),
}

/// What became of an update that may be repeated.
pub(crate) enum Answered {
    /// It was applied; the item before it.
    Applied(Option<Item>),
    /// Its condition was false; the item that it met.
    Refused(Option<Item>),
}

/// What became of a transaction.
pub(crate) enum Transacted {
    Applied,
    /// Nothing was applied, for these reasons of its actions.
    Cancelled(Vec<Reason>),
}

/// What shows that a write was applied.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof {
    /// The reply to the attempt that was sent last.
    Reply,
    /// The id in an item of this incarnation: some attempt was applied.
    Id(Incarnation),
    /// There is no item where one was to be deleted: some attempt was applied, or somebody else's.
    Absence,
}

impl Effort {
    pub(crate) fn new(connection: &Arc<Connection>, limits: Limits) -> Self {
        Self {
            limits,
            started: clock::now(),
            connection: Arc::clone(connection),
            attempts: 0,
            pauses: 0,
            rng: random::generator(),
            backoff: Backoff::default(),
            pacer: Pacer::new(limits.pace),
        }
    }

    /// Attempts so far, and the time since the call began.
    pub(crate) fn spent(&self) -> (u32, Duration) {
        (self.attempts, self.elapsed())
    }

    /// An effort of a call that began before, and has sent so many requests that failed or met a conflict.
    pub(crate) fn since(connection: &Arc<Connection>, limits: Limits, started: Instant, attempts: u32) -> Self {
        Self { started, attempts, ..Self::new(connection, limits) }
    }

    /// Counts requests that were sent beside it.
    pub(crate) fn has_sent(&mut self, attempts: u32) {
        self.attempts = attempts;
    }

    /// How often it has slept between requests.
    pub(crate) fn pauses(&self) -> u32 {
        self.pauses
    }

    pub(crate) fn rng(&mut self) -> &mut fastrand::Rng {
        &mut self.rng
    }

    /// Reads an item, again until an answer comes. Reads that are answered do not count as attempts.
    pub(crate) async fn read(&mut self, get: &Get) -> Result<Option<Item>, Error> {
        let client = self.connection.client.clone();
        let item = self.repeat(&get.table, || Box::pin(get.send(&client))).await?;
        self.attempts -= 1;
        Ok(item)
    }

    /// Reads several items of a table, until all have been answered for: those that are there, in any order.
    pub(crate) async fn read_many(&mut self, table: &Arc<str>, keys: Vec<Item>) -> Result<Vec<Item>, Error> {
        let client = self.connection.client.clone();
        let mut items = Vec::with_capacity(keys.len());
        let mut backoff = Backoff::default();
        let mut left = keys;
        while !left.is_empty() {
            let keys = left.split_off(left.len().saturating_sub(GetMany::MOST));
            let get = GetMany { table: Arc::clone(table), keys };
            let (found, unprocessed) = self.repeat(table, || Box::pin(get.send(&client))).await?;
            self.attempts -= 1;
            items.extend(found);
            if !unprocessed.is_empty() {
                let rest = Refusal::new("UnprocessedKeys", "some of the keys were not read", None);
                self.wait(&mut backoff, Error::Throttled(rest.after(self.spent()))).await?;
            }
            left.extend(unprocessed);
        }
        Ok(items)
    }

    /// Reads several items as of one moment.
    pub(crate) async fn snapshot(&mut self, snapshot: &Snapshot) -> Result<Vec<Option<Item>>, Error> {
        let client = self.connection.client.clone();
        let tables = tables(snapshot.subjects.iter().map(|(table, _)| table));
        let items = self.repeat(&tables, || Box::pin(snapshot.send(&client))).await?;
        self.attempts -= 1;
        Ok(items)
    }

    /// Sends a request that may be repeated without harm, until an answer comes.
    pub(crate) async fn repeat<O, F>(&mut self, table: &Arc<str>, mut request: impl FnMut() -> F) -> Result<O, Error>
    where
        F: Future<Output = Result<O, Failure>>,
    {
        loop {
            match self.attempt(request()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => self.pause(table, failure).await?,
            }
        }
    }

    /// Sends a write until its outcome is known, each time under the same id. `again` makes it anew, which costs less than to keep a
    /// copy of each write that succeeds at once.
    pub(crate) async fn write(
        &mut self,
        mut write: Write,
        mut again: impl FnMut() -> Result<Write, Error>,
        sending: &Sending,
        aim: Aim<'_>,
    ) -> Result<Written, Error> {
        let client = self.connection.client.clone();
        let table = Arc::clone(&write.table);
        let mut in_doubt = false;
        if self.left().is_zero() {
            return Err(self.exhausted(Error::Unavailable(Unavailable::TooLate)));
        }
        loop {
            let stop = match self.attempt(Box::pin(write.send(&client, sending))).await {
                Ok(()) => return Ok(Written::Applied(Proof::Reply)),
                Err(Failure::Condition(item)) => match self.seen(item, &mut again).await {
                    Ok(item) => {
                        // An applied write whose token DynamoDB knows would have succeeded again.
                        let known_token = matches!(sending, Sending::Once(_)) && self.elapsed() < TOKEN_LIFE;
                        let doubt = Doubt { in_doubt, known_token };
                        return self.judge(&table, aim, doubt, item);
                    }
                    Err(stop) => stop,
                },
                Err(failure) => {
                    in_doubt |= failure.leaves_doubt();
                    match self.pause(&table, failure).await.and_then(|()| again()) {
                        Ok(same) => {
                            write = same;
                            continue;
                        }
                        Err(stop) => stop,
                    }
                }
            };
            return Err(match in_doubt {
                true => self.indeterminate(&table, aim.expected.version(), None, Some(stop)),
                false => stop,
            });
        }
    }

    /// Sends an update until it is answered, made anew for each attempt: its own condition has to make repeating it harmless.
    pub(crate) async fn update(&mut self, mut make: impl FnMut() -> Update) -> Result<Answered, Error> {
        let client = self.connection.client.clone();
        loop {
            let update = make();
            let (table, key) = (Arc::clone(&update.table), update.key.clone());
            match self.attempt(Box::pin(update.send(&client))).await {
                Ok(before) => return Ok(Answered::Applied(before)),
                Err(Failure::Condition(Some(item))) => return Ok(Answered::Refused(Some(item))),
                Err(Failure::Condition(None)) => {
                    return Ok(Answered::Refused(self.read(&Get { table, key, consistent: true }).await?));
                }
                Err(failure) => self.pause(&table, failure).await?,
            }
        }
    }

    /// Sends a transaction until its outcome is known, each time under the same token: DynamoDB applies it at most once in ten
    /// minutes. `cancelled` makes an error of reasons that were met to the end.
    pub(crate) async fn transact(
        &mut self,
        transact: &Transact,
        table: &Arc<str>,
        aim: TransactionAim<'_>,
        cancelled: impl Fn(Vec<Reason>, (u32, Duration)) -> Error,
    ) -> Result<Transacted, Error> {
        let client = self.connection.client.clone();
        let mut in_doubt = false;
        if self.left().is_zero() {
            return Err(self.exhausted(Error::Unavailable(Unavailable::TooLate)));
        }
        loop {
            let paused = match self.attempt(Box::pin(transact.send(&client))).await {
                Ok(()) => return Ok(Transacted::Applied),
                Err(Failure::Cancelled(reasons)) if reasons.pass() => {
                    let costs = reasons.lack_capacity();
                    let last = cancelled(reasons.into_vec(), self.spent());
                    self.pause_after(last, costs).await
                }
                Err(Failure::Cancelled(reasons)) => match self.judge_cancelled(reasons, aim, in_doubt) {
                    Some(outcome) => return Ok(outcome),
                    None => return Err(self.indeterminate(table, None, None, None)),
                },
                Err(failure) => {
                    in_doubt |= failure.leaves_doubt();
                    self.pause(table, failure).await
                }
            };
            match paused {
                Ok(()) => {}
                Err(stop) if in_doubt => return Err(self.indeterminate(table, None, None, Some(stop))),
                Err(stop) => return Err(stop),
            }
        }
    }

    /// What a cancellation proves; nothing if it cannot be told.
    ///
    /// A transaction that had been applied would have succeeded again, while DynamoDB knows its token; after that, its id in an item that it
    /// wrote shows it. Where an attempt is in doubt, that it was not applied before is not enough: DynamoDB remembers the tokens of transactions that have
    /// happened, so a late copy of one that was refused may still be applied. Not if one of its conditions can never hold again: the item has
    /// another version than it rested on, in the same life, or that life is over.
    fn judge_cancelled(&self, reasons: Reasons, aim: TransactionAim<'_>, in_doubt: bool) -> Option<Transacted> {
        let ring = |reason: &Reason| reason.item.as_ref().and_then(ring_of);
        let reasons = reasons.into_vec();
        if in_doubt && reasons.iter().any(|reason| ring(reason).is_some_and(|ring| ring.contains(aim.id))) {
            return Some(Transacted::Applied);
        }
        let is_final = |(reason, rests): (&Reason, Option<&Revision>)| {
            reason.class() == Some(CancellationClass::Conflict)
                && rests.is_some_and(|revision| revision.is_over(reason.item.is_some(), ring(reason).as_ref()))
        };
        let is_certain = || self.elapsed() < TOKEN_LIFE && reasons.iter().zip(aim.rests.iter().copied()).any(is_final);
        (!in_doubt || is_certain()).then_some(Transacted::Cancelled(reasons))
    }

    /// The item to go on from after a conflict: the one that the conflict returned, or after a sleep a fresh one.
    pub(crate) async fn after_conflict(
        &mut self,
        returned: Option<Item>,
        get: &Get,
        version: impl Fn(&Item) -> u64,
        conflict: impl FnOnce(Option<Item>, (u32, Duration)) -> Error,
    ) -> Result<Option<Item>, Error> {
        let number = |item: &Option<Item>| item.as_ref().map_or(0, &version);
        let size = returned.as_ref().map_or(0, codec::size);
        let pause = self.pace(size, number(&returned));
        if !self.may_go_on(pause) {
            return Err(self.exhausted(conflict(returned, self.spent())));
        }
        if pause.is_zero() {
            return Ok(returned);
        }
        clock::sleep(pause).await;
        let item = self.read(get).await?;
        self.read_after_pause(number(&item));
        Ok(item)
    }

    /// Sleeps after a conflict with an item of this size at this version, if the pace says so, and says whether it did.
    pub(crate) async fn pause_after_conflict(
        &mut self,
        size: usize,
        version: u64,
        conflict: impl FnOnce((u32, Duration)) -> Error,
    ) -> Result<bool, Error> {
        let pause = self.pace(size, version);
        if !self.may_go_on(pause) {
            return Err(self.exhausted(conflict(self.spent())));
        }
        if !pause.is_zero() {
            clock::sleep(pause).await;
        }
        Ok(!pause.is_zero())
    }

    /// The version that the item of the last conflict is at after the sleep.
    pub(crate) fn read_after_pause(&mut self, version: u64) {
        self.pacer.read(version, clock::now(), self.connection.round_trip.get());
    }

    /// How long to sleep before the next attempt; not at all while an item that was returned is new.
    fn pace(&mut self, size: usize, version: u64) -> Duration {
        let (now, srtt) = (clock::now(), self.connection.round_trip.get());
        let pause = match self.pacer.conflict(size, version, now, srtt, &mut self.rng) {
            Step::AtOnce => Duration::ZERO,
            Step::Sleep(pause) => pause,
        };
        tracing::debug!(attempts = self.attempts, ?pause, "conflict");
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

    /// One request under the attempt's timeout, which doubles while no answer comes: a first request may have to fetch credentials
    /// and open a connection, and one that is cut off there starts anew.
    async fn attempt<O>(&mut self, request: impl Future<Output = Result<O, Failure>>) -> Result<O, Failure> {
        let sent = clock::now();
        let timeout = self.limits.attempt_timeout.saturating_mul(1 << self.backoff.failures().min(3)).min(self.left());
        self.attempts += 1;
        let attempt = async {
            let outcome = clock::within(timeout, request).await.unwrap_or_else(|| Err(Failure::timeout()));
            (outcome, DEPARTED.with(Cell::get))
        };
        let outcome = match DEPARTED.scope(Cell::new(false), attempt).await {
            // What could not be signed, or waited for credentials, was not sent.
            (Err(Failure::Ambiguous(why)), false) => Err(Failure::Unsent(why)),
            (outcome, _) => outcome,
        };
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

    /// Sleeps before the next attempt, or says why there is none.
    async fn pause(&mut self, table: &Arc<str>, failure: Failure) -> Result<(), Error> {
        let (last, costs) = match failure {
            Failure::NoTable => {
                let (attempts, elapsed) = self.spent();
                return Err(Error::TableNotFound { table: Arc::clone(table), attempts, elapsed });
            }
            Failure::Permanent(refusal) => return Err(Error::Rejected(refusal.after(self.spent()))),
            Failure::Condition(_) | Failure::Cancelled(_) => {
                return Err(Error::Rejected(unexpected_condition().after(self.spent())));
            }
            Failure::TokenReused => {
                let (attempts, elapsed) = self.spent();
                return Err(Error::TokenReused { attempts, elapsed });
            }
            // Both will end, and are no outage that retries could make worse.
            Failure::Contention(refusal) | Failure::InProgress(refusal) => {
                (Error::Contention(refusal.after(self.spent())), false)
            }
            Failure::Capacity(refusal) => (Error::Throttled(refusal.after(self.spent())), true),
            Failure::Unsent(why) | Failure::Ambiguous(why) => (Error::Unavailable(why), true),
        };
        self.pause_after(last, costs).await
    }

    /// Sleeps before the next attempt, or gives up with what the last one met. A retry that `costs` is paid for by the budget.
    async fn pause_after(&mut self, last: Error, costs: bool) -> Result<(), Error> {
        let first = match &last {
            // The ring shows what became of a lost reply only until others have written it full: ask before that.
            Error::Unavailable(_) => self.connection.round_trip.get().min(Backoff::FIRST),
            _ => Backoff::FIRST,
        };
        let pause = self.backoff.next(first, &mut self.rng);
        tracing::debug!(attempts = self.attempts, ?pause, error = %last, "again");
        if !self.may_go_on(pause) || (costs && !self.connection.budget.withdraw()) {
            return Err(self.exhausted(last));
        }
        self.pauses += 1;
        clock::sleep(pause).await;
        Ok(())
    }

    /// The item that a condition met. An engine that does not return it is asked for it; so is DynamoDB when there was none.
    async fn seen(
        &mut self,
        returned: Option<Item>,
        again: &mut impl FnMut() -> Result<Write, Error>,
    ) -> Result<Option<Item>, Error> {
        match returned {
            Some(item) => Ok(Some(item)),
            None => {
                let Write { table, key, .. } = again()?;
                self.read(&Get { table, key, consistent: true }).await
            }
        }
    }

    fn judge(&self, table: &Arc<str>, aim: Aim<'_>, doubt: Doubt, item: Option<Item>) -> Result<Written, Error> {
        let ring = item.as_ref().and_then(ring_of);
        let found = if item.is_some() { Found::Present(ring.as_ref()) } else { Found::Absent };
        let verdict = match verdict(aim.expected, aim.id, doubt.in_doubt && !doubt.known_token, found) {
            // It was refused for something that may pass, like a lease: a copy that is still on its way may be applied then.
            Verdict::Conflict if doubt.in_doubt && aim.late == Late::MayPass && is_unmoved(aim, item.as_ref()) => {
                Verdict::Unknown
            }
            verdict => verdict,
        };
        match verdict {
            Verdict::Applied => Ok(Written::Applied(ring.map_or(Proof::Absence, |ring| Proof::Id(ring.incarnation())))),
            Verdict::Conflict => Ok(Written::Conflict(item)),
            Verdict::Unknown => {
                let found = item.as_ref().and_then(|item| version_in(item, aim.version_attribute));
                Err(self.indeterminate(table, aim.expected.version(), found, None))
            }
        }
    }

    fn may_go_on(&self, pause: Duration) -> bool {
        let attempts_left = self.limits.attempts.is_none_or(|limit| self.attempts < limit);
        attempts_left && self.elapsed() + pause < self.limits.deadline
    }

    fn left(&self) -> Duration {
        self.limits.deadline.saturating_sub(self.elapsed())
    }

    fn elapsed(&self) -> Duration {
        clock::now().duration_since(self.started)
    }

    fn exhausted(&self, last: Error) -> Error {
        Error::Exhausted { attempts: self.attempts, elapsed: self.elapsed(), last: Box::new(last) }
    }

    /// A write in doubt of which no more can be found out, and what ended the search.
    fn indeterminate(&self, table: &Arc<str>, expected: Option<u64>, found: Option<u64>, stop: Option<Error>) -> Error {
        let last = stop.map(|stop| match stop {
            Error::Exhausted { last, .. } => last,
            stop => Box::new(stop),
        });
        let (attempts, elapsed) = self.spent();
        Error::Indeterminate { table: Arc::clone(table), expected, found, attempts, elapsed, last }
    }
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

/// Whether the item is still in the revision that the write rested on.
fn is_unmoved(aim: Aim<'_>, item: Option<&Item>) -> bool {
    let (Expected::Unchanged(read) | Expected::Deleted(read)) = aim.expected else { return false };
    item.is_some_and(|item| version_in(item, aim.version_attribute) == read.version && ring_of(item) == read.ring)
}

/// What DynamoDB does not answer to a request without a condition, and a broken gateway may.
pub(crate) fn unexpected_condition() -> Refusal {
    let message = "a request without a condition was refused for its condition";
    Refusal::new("ConditionalCheckFailedException", message, None)
}

//! The steps of a client of the model, and the faults of the network.

use std::rc::Rc;

use super::{
    Sending, Setup,
    rules::{Batches, Drawn, LostPatch, Patch, RefusedRuns},
    world::{Basis, Change, Request, World},
};
use crate::version::{Doubt, LateCopies, Verdict, ring::tests::id as write_id};

/// A call of a client of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Create,
    /// The client reads the item, and sends one write of the item. After a conflict, the client
    /// sends no other write.
    Update,
    /// After each conflict, the client reads the item again and sends another write, until the
    /// server applies a write.
    Modify,
    /// If the item is missing, the client creates the item. If the item exists, the client does the
    /// same as for `Modify`.
    Upsert,
    Delete,
    /// The client writes the item without a read.
    Patch,
    /// An update with a token from the caller. The update starts from the item with which the model
    /// search begins. All `Given` calls of a model search have the same token: they stand for one
    /// call that several processes make.
    Given,
    /// An upsert through a handle that combines calls. Consecutive `Combined` calls of a script
    /// wait in one queue. Like the worker of the queue, the client writes the changes of one or
    /// more waiting calls together, with one write id.
    Combined,
    /// The client updates the item that its last batch has returned, without a read.
    UpdateReturned,
    /// A call of a program that does not use the library. In the model, a foreign call sends one
    /// request, and always receives the answer.
    Foreign(Foreign),
}

/// A request of a program that does not use write ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Foreign {
    /// An update that increments the version and leaves the write ids unchanged.
    Count,
    /// A put over the stored item, with a version that is higher by one, and without write ids.
    Put,
    /// A put of a new item, with version 1 and without write ids.
    PutNew,
    /// An update that removes the version of the item.
    Strip,
    /// An update that removes the patch ids from the item, and leaves the version unchanged.
    Wipe,
    Delete,
}

impl Call {
    /// Returns `true` if the client repeats the call after a conflict.
    fn is_repeated(self) -> bool {
        matches!(self, Self::Modify | Self::Upsert | Self::Combined)
    }
}

/// The result of a call in the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum End {
    Open,
    Applied,
    /// A delete has returned `certain: false`: the item is absent, but another caller may have
    /// deleted the item. The field `life` is the number of deletes that the server had applied
    /// before it created the deleted item.
    Gone {
        life: Option<u8>,
    },
    /// The call has returned an error that proves that the call has written nothing, for example
    /// `Conflict`, `AlreadyExists`, `NotFound` or `Exhausted`.
    Conflict,
    Indeterminate,
}

/// The state of one client of the model.
#[derive(Clone, Hash)]
pub(super) struct Client {
    number: u8,
    /// The number of calls of the client that have ended.
    done: u8,
    phase: Phase,
    /// The item that the client's last call returned, or `None` if the last call was not a
    /// successful combined call.
    returned: Option<Basis>,
}

#[derive(Clone, Hash)]
enum Phase {
    /// The next step of the client is the read with which a call starts, or the read after a
    /// conflict.
    Reading {
        attempts: u8,
        batch: Batch,
    },
    Sending(Attempt),
    /// The next step of the client is a read, because the server refused a request without
    /// returning the item.
    Looking(Attempt),
}

#[derive(Clone, Hash)]
struct Attempt {
    request: Rc<Request>,
    /// The number of requests that earlier runs of the call's closure have sent.
    before: u8,
    /// The number of requests that the call has sent so far.
    sent: u8,
    in_doubt: bool,
    batch: Batch,
}

/// The combined calls that a client writes together, with one write id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Batch {
    /// The number of calls whose changes the batch writes.
    calls: u8,
    /// The number of callers that have left the batch. The batch does not write the change of a
    /// caller that has left.
    left: u8,
}

impl Batch {
    /// A batch with one call.
    const ONE: Self = Self { calls: 1, left: 0 };
}

/// An event in the trace of a counterexample.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    Reads,
    IsAnswered,
    IsThrottled,
    IsRefusedWithoutItem,
    GetsNoAnswer,
    GetsNoAnswerForWhatIsLost,
    Looks,
    ArrivesLate,
    TenMinutesPass,
    GivesUp,
}

/// One step of the model: the number of the client or call, the event, and the state of the model
/// after the event.
pub(super) type Step = (u8, Event, World);

impl Client {
    pub(super) fn new(number: u8) -> Self {
        Self { number, done: 0, phase: Phase::Reading { attempts: 0, batch: Batch::ONE }, returned: None }
    }

    /// Adds all possible next steps of the client to `steps`.
    pub(super) fn steps(&self, setup: &Setup, world: &World, steps: &mut Vec<Step>) {
        let Some(&call) = setup.scripts[usize::from(self.number)].get(usize::from(self.done)) else { return };
        if let Call::Foreign(act) = call {
            let number = self.call(setup);
            if let Some(next) = world.foreign(number, act, setup) {
                steps.push((self.number, Event::IsAnswered, self.ends(setup, next, End::Indeterminate)));
            }
            return;
        }
        match &self.phase {
            Phase::Reading { attempts, batch } => {
                for basis in self.bases(world, call) {
                    for batch in self.joined(setup, *batch) {
                        for at in setup.clocks.times() {
                            let next = self.start(setup, world.clone(), basis.clone(), batch, *attempts, *at);
                            steps.push((self.number, Event::Reads, next));
                        }
                    }
                }
            }
            Phase::Sending(attempt) if is_lost_patch(setup, attempt) && !has_token(setup, attempt) => {
                self.judge(setup, world, call, attempt, |next| steps.push((self.number, Event::Looks, next)));
            }
            Phase::Sending(attempt) if is_lost_patch(setup, attempt) && world.are_tokens_forgotten => {
                let next = self.ends(setup, world.clone(), End::Indeterminate);
                steps.push((self.number, Event::GivesUp, next));
            }
            Phase::Sending(attempt) => {
                self.is_answered(setup, world, call, attempt, steps);
                self.gets_no_answer(setup, world, attempt, steps);
                if call == Call::Patch {
                    steps.push((self.number, Event::IsThrottled, self.after_throttling(setup, world.clone(), attempt)));
                }
            }
            Phase::Looking(attempt) => {
                self.judge(setup, world, call, attempt, |next| steps.push((self.number, Event::Looks, next)));
            }
        }
    }

    /// Returns the items from which a call may compute its write.
    fn bases(&self, world: &World, call: Call) -> Vec<Option<Basis>> {
        match (call, &self.returned) {
            (Call::UpdateReturned, returned) => vec![returned.clone()],
            // A batch starts either from the item that the last batch returned, or from a read of
            // the item.
            (Call::Combined, Some(returned)) => vec![Some(returned.clone()), world.basis()],
            _ => vec![world.basis()],
        }
    }

    /// Returns the batches that are possible if none, some or all of the waiting calls join a
    /// batch.
    fn joined(&self, setup: &Setup, batch: Batch) -> impl Iterator<Item = Batch> + use<> {
        let rest = &setup.scripts[usize::from(self.number)][usize::from(self.done)..];
        let combined = rest.iter().take_while(|call| **call == Call::Combined).count();
        let most = u8::try_from(combined).unwrap() - batch.left;
        (batch.calls..=most.max(batch.calls)).map(move |calls| Batch { calls, ..batch })
    }

    /// Returns the state of the model after a caller has left the batch. Only the caller of the
    /// batch's last call may leave. A caller that leaves a batch receives an error: its call has
    /// written nothing. To keep the number of model states small, a caller leaves a batch only when
    /// the queue is empty.
    fn left(&self, setup: &Setup, world: &World, batch: Batch) -> Option<(World, Batch)> {
        let is_queue_empty = self.joined(setup, batch).count() == 1;
        let calls = batch.calls.checked_sub(1).filter(|calls| *calls > 0 && is_queue_empty)?;
        let mut world = world.clone();
        world.end(self.call(setup) + calls, End::Conflict);
        Some((world, Batch { calls, left: batch.left + 1 }))
    }

    /// Returns the state of the model in which the client sends the first request after a read. The
    /// client computes the request from the item `basis`.
    fn start(&self, setup: &Setup, world: World, basis: Option<Basis>, batch: Batch, sent: u8, at: u64) -> World {
        let call = setup.scripts[usize::from(self.number)][usize::from(self.done)];
        if basis.as_ref().is_some_and(|basis| self.shows_refused_run(setup, basis, sent)) {
            // The server refused an earlier batch, but later applied a delayed duplicate of that
            // batch. The current batch may contain calls that were not in the earlier batch, so the
            // client reports an unknown outcome for all calls of the current batch.
            let end = if call == Call::Combined { End::Indeterminate } else { End::Applied };
            return self.ends(setup, world, end);
        }
        let change = match (call, basis) {
            (Call::Given, _) => match setup.world().basis() {
                Some(basis) => Change::Given(basis),
                None => return self.ends(setup, world, End::Conflict),
            },
            (Call::Create, _) | (Call::Upsert | Call::Combined, None) => Change::Create,
            (Call::Delete, Some(basis)) => Change::Delete(basis),
            (Call::Update | Call::Modify | Call::Upsert | Call::Combined | Call::UpdateReturned, Some(basis)) => {
                Change::Update(basis)
            }
            (Call::Patch, _) => Change::Patch(Patch::default()),
            (Call::Update | Call::Modify | Call::Delete | Call::UpdateReturned | Call::Foreign(_), _) => {
                return self.ends(setup, world, End::Conflict);
            }
        };
        self.sends(setup, world, change, batch, sent, at)
    }

    /// Returns `true` if the item contains the write id of a refused write from an earlier run of
    /// the call's closure. Earlier runs of the closure have sent `sent` requests.
    fn shows_refused_run(&self, setup: &Setup, basis: &Basis, sent: u8) -> bool {
        let mut ids = (0..sent).map(|before| write_id(16 * self.call(setup) + before));
        setup.rules.refused_runs == RefusedRuns::AreLookedFor && ids.any(|id| basis.shows(id))
    }

    /// Returns the state of the model in which the client sends the first request for `change`.
    fn sends(&self, setup: &Setup, mut world: World, change: Change, batch: Batch, sent: u8, at: u64) -> World {
        let request = Request {
            call: self.call(setup),
            calls: batch.calls,
            change,
            id: 0,
            incarnation: 0,
            at,
            keep: setup.keep[usize::from(self.number)],
        };
        // All attempts of a patch have the same write id.
        let before = if matches!(request.change, Change::Patch(_)) { 0 } else { sent };
        let request = Rc::new(marked(setup, request, before, sent));
        let attempt = Attempt { request, before, sent, in_doubt: false, batch };
        world.clients[usize::from(self.number)].phase = Phase::Sending(attempt);
        world
    }

    fn is_answered(&self, setup: &Setup, world: &World, call: Call, attempt: &Attempt, steps: &mut Vec<Step>) {
        let mut next = world.clone();
        let Some(applied) = next.receive(&attempt.request, setup) else { return };
        next.comes_again(&attempt.request, setup.duplicates);
        if applied {
            steps.push((self.number, Event::IsAnswered, self.ends(setup, next, End::Applied)));
            return;
        }
        let attempt = Attempt { sent: attempt.sent + 1, ..attempt.clone() };
        if next.item.is_some() {
            self.judge(setup, &next, call, &attempt, |next| steps.push((self.number, Event::IsAnswered, next)));
        }
        next.clients[usize::from(self.number)].phase = Phase::Looking(attempt);
        steps.push((self.number, Event::IsRefusedWithoutItem, next));
    }

    /// Returns the state of the model after the server has throttled a request of the client.
    fn after_throttling(&self, setup: &Setup, world: World, attempt: &Attempt) -> World {
        let again = Attempt { sent: attempt.sent + 1, ..attempt.clone() };
        match (again.sent == setup.attempts, again.in_doubt) {
            (true, true) => self.ends(setup, world, End::Indeterminate),
            (true, false) => self.ends(setup, world, End::Conflict),
            (false, _) => self.sends_again(setup, world, &again),
        }
    }

    fn gets_no_answer(&self, setup: &Setup, world: &World, attempt: &Attempt, steps: &mut Vec<Step>) {
        let again = Attempt { sent: attempt.sent + 1, in_doubt: true, ..attempt.clone() };
        let all = match again.sent == setup.attempts {
            true => vec![self.ends(setup, world.clone(), End::Indeterminate)],
            false => self
                .batches_in_doubt(setup, world, attempt.batch)
                .map(|(world, batch)| self.sends_again(setup, world, &Attempt { batch, ..again.clone() }))
                .collect(),
        };
        for mut next in all {
            if attempt.request.change == Change::Create {
                steps.push((self.number, Event::GetsNoAnswerForWhatIsLost, next.clone()));
            }
            next.is_late(&attempt.request);
            steps.push((self.number, Event::GetsNoAnswer, next));
        }
    }

    /// Returns the batches that the next attempt may write after an attempt with an unknown
    /// outcome.
    fn batches_in_doubt(&self, setup: &Setup, world: &World, batch: Batch) -> impl Iterator<Item = (World, Batch)> {
        let joined = match setup.rules.batches {
            Batches::Frozen | Batches::Left => vec![batch],
            Batches::Joined => self.joined(setup, batch).collect(),
        };
        let left = self.left(setup, world, batch).filter(|_| setup.rules.batches == Batches::Left);
        joined.into_iter().map(|batch| (world.clone(), batch)).chain(left)
    }

    fn sends_again(&self, setup: &Setup, mut world: World, again: &Attempt) -> World {
        let request = Request { calls: again.batch.calls, ..Request::clone(&again.request) };
        let request = Rc::new(marked(setup, request, again.before, again.sent));
        world.clients[usize::from(self.number)].phase = Phase::Sending(Attempt { request, ..*again });
        world
    }

    /// After a refusal, or after a lost reply to a patch, finds out from the current item whether
    /// the server has applied the write.
    fn judge(&self, setup: &Setup, world: &World, call: Call, attempt: &Attempt, mut step: impl FnMut(World)) {
        let item = world.item.clone();
        let found = item.as_deref().map(|item| &item.revision);
        let request = &attempt.request;
        let world = world.clone();
        let doubt = match attempt.in_doubt {
            false => Doubt::None,
            true if has_token(setup, attempt) && !world.are_tokens_forgotten => Doubt::UnderToken,
            true => Doubt::Plain(LateCopies::MayPass),
        };
        let verdict = match (setup.rules.verdict)(request.expected(), write_id(request.id), doubt, found) {
            _ if item.as_ref().is_some_and(|item| item.shows_patch(request)) => Verdict::Applied,
            Verdict::Unknown if matches!(request.change, Change::Patch(_)) => setup.rules.absent_patch,
            // If an attempt of a transaction has an unknown outcome, a conflict is certain only
            // while the server remembers the ClientRequestToken.
            Verdict::Conflict if call == Call::Given && matches!(doubt, Doubt::Plain(_)) => Verdict::Unknown,
            verdict => verdict,
        };
        match verdict {
            // A delete may return `certain: false` only outside a unit of work.
            Verdict::Applied if item.is_none() && setup.sending != Sending::UnitOfWork => {
                step(self.ends(setup, world, End::Gone { life: request.life() }));
            }
            Verdict::Applied => step(self.ends(setup, world, End::Applied)),
            Verdict::Unknown => step(self.ends(setup, world, End::Indeterminate)),
            Verdict::Conflict if attempt.sent < setup.attempts && call.is_repeated() => {
                let left = self.left(setup, &world, attempt.batch);
                for (world, batch) in std::iter::once((world, attempt.batch)).chain(left) {
                    let mut later = world.clone();
                    later.clients[usize::from(self.number)].phase = Phase::Reading { attempts: attempt.sent, batch };
                    step(later);
                    for batch in self.joined(setup, batch) {
                        for at in setup.clocks.times() {
                            step(self.start(setup, world.clone(), world.basis(), batch, attempt.sent, *at));
                        }
                    }
                }
            }
            Verdict::Conflict => match item.filter(|_| call == Call::Patch && attempt.sent < setup.attempts) {
                Some(item) => {
                    let change = Change::Patch(item.patch());
                    step(self.sends(setup, world, change, attempt.batch, attempt.sent, request.at));
                }
                None => step(self.ends(setup, world, End::Conflict)),
            },
        }
    }

    /// Returns the state of the model after the client's current call has ended with the result
    /// `end`. In a batch, all calls end with the same result.
    fn ends(&self, setup: &Setup, mut world: World, end: End) -> World {
        let (batch, request) = match &self.phase {
            Phase::Reading { batch, .. } => (*batch, None),
            Phase::Sending(attempt) | Phase::Looking(attempt) => (attempt.batch, Some(&attempt.request)),
        };
        let first = self.call(setup);
        for call in first..first + batch.calls {
            world.end(call, end);
        }
        let is_combined = setup.scripts[usize::from(self.number)][usize::from(self.done)] == Call::Combined;
        let written = request.filter(|_| is_combined && end == End::Applied);
        let returned = written.and_then(|request| world.returned(request, setup));
        let done = self.done + batch.calls + batch.left;
        let phase = Phase::Reading { attempts: 0, batch: Batch::ONE };
        world.clients[usize::from(self.number)] = Self { number: self.number, done, phase, returned };
        world
    }

    /// Returns the number of the client's current call in the model. All [`Call::Given`] calls have
    /// the same number, because they have the same token.
    fn call(&self, setup: &Setup) -> u8 {
        if setup.scripts[usize::from(self.number)][usize::from(self.done)] == Call::Given {
            let first = setup.scripts.iter().copied().flatten().position(|call| *call == Call::Given).unwrap();
            return u8::try_from(first).unwrap();
        }
        let before: usize = setup.scripts[..usize::from(self.number)].iter().map(|script| script.len()).sum();
        u8::try_from(before).unwrap() + self.done
    }
}

fn has_token(setup: &Setup, attempt: &Attempt) -> bool {
    setup.sending.has_token(&attempt.request.change)
}

/// Returns `true` if the attempt is a patch with an unknown outcome, and the client follows the
/// rule `IsLookedFor`. Under the rule `IsLookedFor`, the client repeats a patch with a lost reply
/// only if the patch has a token.
fn is_lost_patch(setup: &Setup, attempt: &Attempt) -> bool {
    let is_patch = matches!(attempt.request.change, Change::Patch(_));
    is_patch && attempt.in_doubt && setup.rules.lost_patch == LostPatch::IsLookedFor
}

/// The bit that marks the write id of a write whose token comes from the caller.
const OF_TOKEN: u8 = 0x80;

/// Returns a copy of `request` with the write id and the incarnation (the random id in `_writes`)
/// of the next attempt. Earlier runs of the call's closure have sent `before` requests, and all
/// runs together have sent `sent` requests.
fn marked(setup: &Setup, request: Request, before: u8, sent: u8) -> Request {
    let mark = |drawn| match drawn {
        Drawn::Once => 16 * request.call,
        Drawn::PerRun => 16 * request.call + before,
        Drawn::PerAttempt => 16 * request.call + sent,
    };
    // DynamoDB requires the same content of all requests with one ClientRequestToken, so all
    // attempts with the token have the same incarnation (the random id in `_writes`).
    let incarnations = match setup.sending.has_token(&request.change) {
        true => setup.rules.tokens,
        false => setup.rules.incarnations,
    };
    let of_token = match request.change {
        Change::Given(_) => OF_TOKEN,
        Change::Create | Change::Update(_) | Change::Delete(_) | Change::Patch(_) => 0,
    };
    Request { id: mark(setup.rules.ids) | of_token, incarnation: mark(incarnations), ..request }
}

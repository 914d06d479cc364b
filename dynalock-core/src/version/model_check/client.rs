//! The steps of a client, and the faults of the network.

use std::rc::Rc;

use super::{
    Sending, Setup,
    rules::{Batches, Drawn, LostPatch, Patch, RefusedRuns},
    world::{Basis, Change, Request, World},
};
use crate::version::{Doubt, LateCopies, Verdict, ring::tests::id as write_id};

/// A call of the public API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Create,
    /// The client reads the item, and writes it once.
    Update,
    /// The client reads and writes the item until a write is applied.
    Modify,
    /// Like `Modify`, but creates a missing item.
    Upsert,
    Delete,
    /// The client writes the item without a read.
    Patch,
    /// The client updates the item as it was before the first call, under a token of the caller.
    /// All such calls of a search have the same token, and are one call of several processes.
    Given,
    /// An upsert through a combining handle. The calls of this kind that follow each other in a
    /// script wait in one queue, and the client is the worker of the queue: it writes one or more of
    /// them together, under one write id.
    Combined,
    /// The client updates the item that its last batch has returned, without a read.
    UpdateReturned,
    /// A call of another program. It is one request, which is always answered.
    Foreign(Foreign),
}

/// An act of a program that does not know write ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Foreign {
    /// An update that increments the version and leaves the ids unchanged.
    Count,
    /// A put over the item, with the next version and without any ids.
    Put,
    /// A put of a new item, at version 1 and without ids.
    PutNew,
    /// An update that removes the version.
    Strip,
    /// An update that removes the ids of patches, and leaves the version unchanged.
    Wipe,
    Delete,
}

impl Call {
    /// Returns whether the call is repeated after a conflict.
    fn is_repeated(self) -> bool {
        matches!(self, Self::Modify | Self::Upsert | Self::Combined)
    }
}

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum End {
    Open,
    Applied,
    /// A delete with `certain: false`. The item of this life is gone.
    Gone {
        life: Option<u8>,
    },
    /// An error that says that nothing was written: `Conflict`, `AlreadyExists`, `NotFound`,
    /// `Throttled`, or `Exhausted` after one of them.
    Conflict,
    Indeterminate,
}

/// The state of a client.
#[derive(Clone, Hash)]
pub(super) struct Client {
    number: u8,
    /// The number of its calls that have ended.
    done: u8,
    phase: Phase,
    /// The item that the last call returned, if the last call was combined.
    returned: Option<Basis>,
}

#[derive(Clone, Hash)]
enum Phase {
    /// The client is between two calls, or before a read that follows a conflict.
    Reading {
        attempts: u8,
        batch: Batch,
    },
    Sending(Attempt),
    /// The client is about to read the item, because the condition was false and the answer had no
    /// item.
    Looking(Attempt),
}

#[derive(Clone, Hash)]
struct Attempt {
    request: Rc<Request>,
    /// The number of requests that the earlier runs of this call have sent.
    before: u8,
    /// The number of requests that this call has sent.
    sent: u8,
    in_doubt: bool,
    batch: Batch,
}

/// The calls that a client writes together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Batch {
    /// The number of calls whose changes are written.
    calls: u8,
    /// The number of calls at the end of the batch whose callers have left.
    left: u8,
}

impl Batch {
    /// A call that is written alone.
    const ONE: Self = Self { calls: 1, left: 0 };
}

/// An event, for a trace.
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

/// One transition: the number of the client or call, the event, and the world after it.
pub(super) type Step = (u8, Event, World);

impl Client {
    pub(super) fn new(number: u8) -> Self {
        Self { number, done: 0, phase: Phase::Reading { attempts: 0, batch: Batch::ONE }, returned: None }
    }

    /// Adds the next possible steps of this client.
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

    /// Returns the items from which a call may start.
    fn bases(&self, world: &World, call: Call) -> Vec<Option<Basis>> {
        match (call, &self.returned) {
            (Call::UpdateReturned, returned) => vec![returned.clone()],
            // A batch starts from the result of the last batch, or reads the item.
            (Call::Combined, Some(returned)) => vec![Some(returned.clone()), world.basis()],
            _ => vec![world.basis()],
        }
    }

    /// Returns the batches that waiting calls may make of a batch.
    fn joined(&self, setup: &Setup, batch: Batch) -> impl Iterator<Item = Batch> + use<> {
        let rest = &setup.scripts[usize::from(self.number)][usize::from(self.done)..];
        let combined = rest.iter().take_while(|call| **call == Call::Combined).count();
        let most = u8::try_from(combined).unwrap() - batch.left;
        (batch.calls..=most.max(batch.calls)).map(move |calls| Batch { calls, ..batch })
    }

    /// Returns the world after the last caller of a batch has left, and has learned that its call
    /// has no effect. To keep the search small, callers leave only when no call waits.
    fn left(&self, setup: &Setup, world: &World, batch: Batch) -> Option<(World, Batch)> {
        let is_queue_empty = self.joined(setup, batch).count() == 1;
        let calls = batch.calls.checked_sub(1).filter(|calls| *calls > 0 && is_queue_empty)?;
        let mut world = world.clone();
        world.end(self.call(setup) + calls, End::Conflict);
        Some((world, Batch { calls, left: batch.left + 1 }))
    }

    /// Returns the world in which the client sends its first request, computed from the item `basis`.
    fn start(&self, setup: &Setup, world: World, basis: Option<Basis>, batch: Batch, sent: u8, at: u64) -> World {
        let call = setup.scripts[usize::from(self.number)][usize::from(self.done)];
        if basis.as_ref().is_some_and(|basis| self.shows_refused_run(setup, basis, sent)) {
            // A batch may have other calls than the run that was applied.
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

    /// Returns whether the item shows that an earlier run was applied after its refusal. The earlier
    /// runs have sent this number of requests.
    fn shows_refused_run(&self, setup: &Setup, basis: &Basis, sent: u8) -> bool {
        let mut ids = (0..sent).map(|before| write_id(16 * self.call(setup) + before));
        setup.rules.refused_runs == RefusedRuns::AreLookedFor && ids.any(|id| basis.shows(id))
    }

    /// Returns the world in which the client sends this change, with no attempt in doubt.
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
        // All attempts of a patch have one id.
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

    /// Returns the world after the server has refused the request because of its load.
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

    /// Returns the batches of the next attempt, while this attempt is in doubt.
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

    /// Interprets a false condition, or a lost reply to a patch, by the current item.
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
            // A transaction in doubt needs a token that the server remembers.
            Verdict::Conflict if call == Call::Given && matches!(doubt, Doubt::Plain(_)) => Verdict::Unknown,
            verdict => verdict,
        };
        match verdict {
            // A unit of work has no result for a delete that is not certain.
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

    /// Returns the world after the end of the current call, or of all calls of the current batch.
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

    /// Returns the number of the current call. The calls of several processes under one token have
    /// one number.
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

/// Returns whether an attempt is a patch with an unknown outcome. Such a patch is sent again only
/// under a token.
fn is_lost_patch(setup: &Setup, attempt: &Attempt) -> bool {
    let is_patch = matches!(attempt.request.change, Change::Patch(_));
    is_patch && attempt.in_doubt && setup.rules.lost_patch == LostPatch::IsLookedFor
}

/// The bit of the number of a write under a token of the caller.
const OF_TOKEN: u8 = 0x80;

/// Returns the request with the id and the incarnation of its attempt. The earlier runs of the call
/// have sent `before` requests, and the call has sent `sent` requests.
fn marked(setup: &Setup, request: Request, before: u8, sent: u8) -> Request {
    let mark = |drawn| match drawn {
        Drawn::Once => 16 * request.call,
        Drawn::PerRun => 16 * request.call + before,
        Drawn::PerAttempt => 16 * request.call + sent,
    };
    // All attempts under one token are equal.
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

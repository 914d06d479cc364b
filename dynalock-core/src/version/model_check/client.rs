//! The actions of a client, and the actions of the network on its requests.

use std::rc::Rc;

use super::{
    Sending, Setup,
    rules::Drawn,
    world::{Change, Request, World, write_id},
};
use crate::version::{Doubt, LateCopies, Verdict};

/// A call of the public API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Create,
    /// The call reads the item and writes it once.
    Update,
    /// The call reads and writes the item until a write is applied.
    Modify,
    /// The call reads and writes the item like `Modify`, and creates a missing item.
    Upsert,
    Delete,
    /// A call of another program: one request, which is answered.
    Foreign(Foreign),
}

/// A write of a program that does not know write ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Foreign {
    /// An update that increments the version and does not change the ids.
    Count,
    /// A put over the item, with the next version and without ids.
    Put,
    /// A put of a new item, at version 1 and without ids.
    PutNew,
    /// An update that removes the version.
    Strip,
    Delete,
}

/// The result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum End {
    Open,
    Applied,
    /// A delete with `certain: false`. The item of this incarnation no longer exists.
    Gone {
        life: Option<u8>,
    },
    /// The error `Conflict`, `AlreadyExists` or `NotFound`, or `Exhausted` after one of them.
    Conflict,
    Indeterminate,
}

/// The current state of a client.
#[derive(Clone, Hash)]
pub(super) struct Client {
    number: u8,
    /// The number of the client's calls that have begun or ended.
    done: u8,
    phase: Phase,
}

#[derive(Clone, Hash)]
enum Phase {
    /// The client is between two calls, or before a read after a conflict.
    Reading {
        attempts: u8,
    },
    Sending(Attempt),
    /// The condition was false, and the answer had no item. The client reads the item.
    Looking(Attempt),
}

#[derive(Clone, Hash)]
struct Attempt {
    request: Rc<Request>,
    /// The number of requests that this call has sent.
    sent: u8,
    in_doubt: bool,
}

/// A step, for a trace.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    Reads,
    IsAnswered,
    IsRefusedWithoutItem,
    GetsNoAnswer,
    GetsNoAnswerForWhatIsLost,
    Looks,
    ArrivesLate,
}

/// One transition: the client, its step, and the world after the step.
pub(super) type Step = (u8, Event, World);

impl Client {
    pub(super) fn new(number: u8) -> Self {
        Self { number, done: 0, phase: Phase::Reading { attempts: 0 } }
    }

    /// Returns all possible next steps of this client.
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
            Phase::Reading { attempts } => {
                let next = self.start(setup, world.clone(), call, *attempts);
                steps.push((self.number, Event::Reads, next));
            }
            Phase::Sending(attempt) => {
                self.is_answered(setup, world, call, attempt, steps);
                self.gets_no_answer(setup, world, attempt, steps);
            }
            Phase::Looking(attempt) => {
                self.judge(setup, world, call, attempt, |next| steps.push((self.number, Event::Looks, next)));
            }
        }
    }

    /// Starts from the current item, which was read or was returned by a refusal.
    fn start(&self, setup: &Setup, mut world: World, call: Call, sent: u8) -> World {
        let change = match (call, world.basis()) {
            (Call::Create, _) | (Call::Upsert, None) => Change::Create,
            (Call::Delete, Some(basis)) => Change::Delete(basis),
            (Call::Update | Call::Modify | Call::Upsert, Some(basis)) => Change::Update(basis),
            (Call::Update | Call::Modify | Call::Delete | Call::Foreign(_), _) => {
                return self.ends(setup, world, End::Conflict);
            }
        };
        let request = Request {
            call: self.call(setup),
            change,
            id: 0,
            incarnation: 0,
            keep: setup.keep[usize::from(self.number)],
        };
        let attempt = Attempt { request: Rc::new(marked(setup, request, sent)), sent, in_doubt: false };
        world.clients[usize::from(self.number)].phase = Phase::Sending(attempt);
        world
    }

    fn is_answered(&self, setup: &Setup, world: &World, call: Call, attempt: &Attempt, steps: &mut Vec<Step>) {
        let mut next = world.clone();
        let Some(applied) = next.receive(&attempt.request, setup) else { return };
        next.comes_again(&attempt.request, setup.creates);
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

    fn gets_no_answer(&self, setup: &Setup, world: &World, attempt: &Attempt, steps: &mut Vec<Step>) {
        let sent = attempt.sent + 1;
        let mut next = match sent == setup.attempts {
            true => self.ends(setup, world.clone(), End::Indeterminate),
            false => {
                let request = Rc::new(marked(setup, Request::clone(&attempt.request), sent));
                let mut next = world.clone();
                let again = Attempt { request, sent, in_doubt: true };
                next.clients[usize::from(self.number)].phase = Phase::Sending(again);
                next
            }
        };
        if attempt.request.change == Change::Create {
            steps.push((self.number, Event::GetsNoAnswerForWhatIsLost, next.clone()));
        }
        next.is_late(&attempt.request);
        steps.push((self.number, Event::GetsNoAnswer, next));
    }

    /// Interprets a false condition with the current item.
    fn judge(&self, setup: &Setup, world: &World, call: Call, attempt: &Attempt, mut step: impl FnMut(World)) {
        let item = world.item.clone();
        let found = item.as_deref().map(|item| &item.revision);
        let request = &attempt.request;
        let world = world.clone();
        let doubt = match attempt.in_doubt {
            false => Doubt::None,
            true if setup.sending.has_token(&request.change) => Doubt::UnderToken,
            true => Doubt::Plain(LateCopies::MayPass),
        };
        match (setup.rules.verdict)(request.expected(), write_id(request.id), doubt, found) {
            // A unit of work has no result for a delete whose certainty is unknown.
            Verdict::Applied if item.is_none() && setup.sending != Sending::UnitOfWork => {
                step(self.ends(setup, world, End::Gone { life: request.life() }));
            }
            Verdict::Applied => step(self.ends(setup, world, End::Applied)),
            Verdict::Unknown => step(self.ends(setup, world, End::Indeterminate)),
            Verdict::Conflict if attempt.sent < setup.attempts && matches!(call, Call::Modify | Call::Upsert) => {
                let mut later = world.clone();
                later.clients[usize::from(self.number)].phase = Phase::Reading { attempts: attempt.sent };
                step(later);
                step(self.start(setup, world, call, attempt.sent));
            }
            Verdict::Conflict => step(self.ends(setup, world, End::Conflict)),
        }
    }

    fn ends(&self, setup: &Setup, mut world: World, end: End) -> World {
        world.end(self.call(setup), end);
        let client = &mut world.clients[usize::from(self.number)];
        client.done += 1;
        client.phase = Phase::Reading { attempts: 0 };
        world
    }

    /// Returns the number of the current call.
    fn call(&self, setup: &Setup) -> u8 {
        let before: usize = setup.scripts[..usize::from(self.number)].iter().map(|script| script.len()).sum();
        u8::try_from(before).unwrap() + self.done
    }
}

/// Returns the request with the id and the incarnation of its attempt.
fn marked(setup: &Setup, request: Request, sent: u8) -> Request {
    let mark = |drawn| match drawn {
        Drawn::PerCall => 16 * request.call,
        Drawn::PerAttempt => 16 * request.call + sent,
    };
    // With a token, all attempts have the same bytes.
    let incarnations = if setup.sending.has_token(&request.change) { Drawn::PerCall } else { setup.rules.incarnations };
    Request { id: mark(setup.rules.ids), incarnation: mark(incarnations), ..request }
}

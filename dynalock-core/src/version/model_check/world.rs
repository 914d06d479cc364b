//! One item, the requests that are under way to it, and what is known of both only from outside.

use std::{
    hash::{Hash, Hasher},
    rc::Rc,
};

use super::{
    Creates, Deletes, Sending, Setup,
    client::{Client, End},
    rules::Rules,
};
use crate::version::{Expected, ID_LEN, Incarnation, Revision, Ring, WriteId};

/// Everything, at one moment.
#[derive(Clone, Hash)]
pub(super) struct World {
    pub(super) item: Option<Rc<Revision>>,
    pub(super) clients: Vec<Client>,
    /// Requests that nobody waits for any more, and that may still arrive.
    late: Vec<Request>,
    /// Requests that the server knows to have applied, by their token.
    tokens: Vec<Request>,
    ghost: Ghost,
}

/// What no client can see.
#[derive(Clone, Hash)]
struct Ghost {
    /// How often the write of each call was applied.
    applied: Vec<u8>,
    /// How each call ended.
    ends: Vec<End>,
    /// How many writes there have been: it names the state of the item.
    writes: u8,
    /// How many deletes there have been: it names the life of the item.
    deletes: u8,
    /// The call that created the item.
    creator: Option<u8>,
    /// The first thing that went wrong at an application.
    broken: Option<Violation>,
}

/// What must not happen. The number is that of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Violation {
    /// A write was applied to another state of the item than the one it was computed from.
    LostUpdate(u8),
    /// An update or a delete was applied again.
    AppliedTwice(u8),
    /// A create was applied again.
    CreatedTwice(u8),
    /// A call reported success and its write was not applied.
    FalseSuccess(u8),
    /// A call reported a conflict and its write was applied, before or after.
    FalseConflict(u8),
}

/// What a change rests on.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Basis {
    revision: Rc<Revision>,
    writes: u8,
    deletes: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Change {
    Create,
    Update(Basis),
    Delete(Basis),
}

/// What is sent.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) call: u8,
    pub(super) change: Change,
    pub(super) id: u8,
    pub(super) incarnation: u8,
    pub(super) keep: u8,
}

impl Hash for Revision {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.version.hash(state);
        self.ring.as_ref().map(Ring::as_bytes).hash(state);
    }
}

pub(super) fn write_id(n: u8) -> WriteId {
    WriteId([n; ID_LEN])
}

pub(super) fn incarnation(n: u8) -> Incarnation {
    Incarnation([n; ID_LEN])
}

impl Request {
    pub(super) fn expected(&self) -> Expected<'_> {
        match &self.change {
            Change::Create => Expected::Absent,
            Change::Update(basis) => Expected::Unchanged(&basis.revision),
            Change::Delete(basis) => Expected::Deleted(&basis.revision),
        }
    }

    /// The life of the item that it rests on.
    pub(super) fn life(&self) -> Option<u8> {
        self.basis().map(|basis| basis.deletes)
    }

    fn basis(&self) -> Option<&Basis> {
        match &self.change {
            Change::Create => None,
            Change::Update(basis) | Change::Delete(basis) => Some(basis),
        }
    }

    /// Worlds that differ in the order of a set only are one.
    fn order(&self) -> impl Ord + use<> {
        (self.call, self.id, self.incarnation, self.basis().map(|basis| basis.writes))
    }

    fn holds(&self, item: Option<&Revision>, rules: &Rules) -> bool {
        match (&self.change, item) {
            (Change::Create, item) => item.is_none(),
            (Change::Update(basis) | Change::Delete(basis), Some(now)) => (rules.unchanged)(&basis.revision, now),
            (Change::Update(_) | Change::Delete(_), None) => false,
        }
    }

    /// The item after it.
    fn next(&self) -> Option<Revision> {
        let new = Ring::new(incarnation(self.incarnation));
        let (version, ring) = match &self.change {
            Change::Create => (0, &new),
            Change::Update(Basis { revision, .. }) => (revision.number(), revision.ring.as_ref().unwrap_or(&new)),
            Change::Delete(_) => return None,
        };
        Some(Revision { version: Some(version + 1), ring: Some(ring.push(write_id(self.id), self.keep)) })
    }
}

impl World {
    pub(super) fn new(item: Option<Revision>, clients: Vec<Client>, calls: usize) -> Self {
        let ghost = Ghost {
            applied: vec![0; calls],
            ends: vec![End::Open; calls],
            writes: 0,
            deletes: 0,
            creator: None,
            broken: None,
        };
        Self { item: item.map(Rc::new), clients, late: Vec::new(), tokens: Vec::new(), ghost }
    }

    pub(super) fn basis(&self) -> Option<Basis> {
        let revision = Rc::clone(self.item.as_ref()?);
        Some(Basis { revision, writes: self.ghost.writes, deletes: self.ghost.deletes })
    }

    /// Whether the answer to a request is a success. If its condition holds it is applied; None if it may not arrive yet.
    pub(super) fn receive(&mut self, request: &Request, setup: &Setup) -> Option<bool> {
        if self.tokens.contains(request) {
            return Some(true);
        }
        if !request.holds(self.item.as_deref(), &setup.rules) {
            return Some(false);
        }
        if matches!(request.change, Change::Delete(_)) && setup.deletes == Deletes::OfSettledItems && !self.is_settled()
        {
            return None;
        }
        if setup.sending == Sending::Once {
            self.tokens.push(request.clone());
            self.tokens.sort_by_key(Request::order);
        }
        self.note(request, setup);
        self.item = request.next().map(Rc::new);
        Some(true)
    }

    fn note(&mut self, request: &Request, setup: &Setup) {
        let call = request.call;
        let ghost = &mut self.ghost;
        let again = ghost.applied[usize::from(call)] > 0;
        let broken = match &request.change {
            Change::Create => again.then_some(Violation::CreatedTwice(call)),
            Change::Update(basis) | Change::Delete(basis) if basis.writes != ghost.writes => {
                Some(Violation::LostUpdate(call))
            }
            Change::Update(_) | Change::Delete(_) => again.then_some(Violation::AppliedTwice(call)),
        };
        ghost.broken = ghost.broken.or(broken.filter(setup.looks_for));
        ghost.applied[usize::from(call)] += 1;
        ghost.writes += 1;
        match request.change {
            Change::Create => ghost.creator = Some(call),
            Change::Update(_) => {}
            Change::Delete(_) => ghost.deletes += 1,
        }
    }

    fn is_settled(&self) -> bool {
        self.ghost.creator.is_none_or(|creator| {
            let late = |request: &Request| request.call == creator && request.change == Change::Create;
            self.ghost.ends[usize::from(creator)] != End::Open && !self.late.iter().any(late)
        })
    }

    /// A second copy of a request that was answered.
    pub(super) fn comes_again(&mut self, request: &Request, creates: Creates) {
        if request.change != Change::Create || creates == Creates::ComeTwice {
            self.is_late(request);
        }
    }

    /// A request whose sender no longer waits for it.
    pub(super) fn is_late(&mut self, request: &Request) {
        let known = self.late.contains(request);
        if !known || request.change == Change::Create {
            self.late.push(request.clone());
            self.late.sort_by_key(Request::order);
        }
    }

    /// The worlds in which one more late request has arrived. A late create arrives once, any other as often as it likes.
    pub(super) fn arrivals(&self, setup: &Setup) -> impl Iterator<Item = (u8, Self)> {
        self.late.iter().enumerate().filter_map(move |(index, request)| {
            let once = request.change == Change::Create;
            if !once && !request.holds(self.item.as_deref(), &setup.rules) {
                return None;
            }
            let mut world = self.clone();
            if once {
                world.late.remove(index);
            }
            world.receive(request, setup)?;
            Some((request.call, world))
        })
    }

    pub(super) fn end(&mut self, call: u8, end: End) {
        self.ghost.ends[usize::from(call)] = end;
    }

    pub(super) fn violation(&self, setup: &Setup) -> Option<Violation> {
        let calls = (0..).zip(self.ghost.ends.iter().zip(&self.ghost.applied));
        let mut wrong = calls.filter_map(|(call, (end, &applied))| match end {
            End::Applied if applied == 0 => Some(Violation::FalseSuccess(call)),
            End::Gone { life } if *life == Some(self.ghost.deletes) => Some(Violation::FalseSuccess(call)),
            End::Conflict if applied > 0 => Some(Violation::FalseConflict(call)),
            End::Open | End::Applied | End::Gone { .. } | End::Conflict | End::Indeterminate => None,
        });
        self.ghost.broken.or_else(|| wrong.find(setup.looks_for))
    }
}

//! One item, the requests that can still arrive, and the facts that only an outside observer knows.

use std::{
    hash::{Hash, Hasher},
    rc::Rc,
};

use super::{
    Creates, Deletes, Setup,
    client::{Client, End, Foreign},
    rules::Rules,
};
use crate::version::{Expected, ID_LEN, Incarnation, Revision, Ring, WriteId};

/// The complete state at one moment.
#[derive(Clone, Hash)]
pub(super) struct World {
    pub(super) item: Option<Rc<Item>>,
    pub(super) clients: Vec<Client>,
    /// The requests that no client waits for any more, and that may still arrive.
    late: Vec<Request>,
    /// The requests that the server has applied and recognises by their token.
    tokens: Vec<Request>,
    ghost: Ghost,
}

/// The item as it is stored.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Item {
    pub(super) revision: Revision,
    /// The content of the item. Each call writes another content.
    content: u8,
}

/// The facts that no client can see.
#[derive(Clone, Hash)]
struct Ghost {
    /// The number of times that the write of each call was applied.
    applied: Vec<u8>,
    /// The result of each call.
    ends: Vec<End>,
    /// The number of writes so far. It identifies the state of the item.
    writes: u8,
    /// The number of deletes so far. It identifies the incarnation of the item.
    deletes: u8,
    /// The call that created the item.
    creator: Option<u8>,
    /// The first violation at the application of a request.
    broken: Option<Violation>,
}

/// A violation. Its number is the number of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Violation {
    /// A write was applied to another state of the item than the state that it was computed from.
    LostUpdate(u8),
    /// An update or a delete was applied twice.
    AppliedTwice(u8),
    /// A create was applied twice.
    CreatedTwice(u8),
    /// A call reported success, but its write was not applied.
    FalseSuccess(u8),
    /// A call reported a conflict, but its write was applied before or after.
    FalseConflict(u8),
}

/// The state that a change requires.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Basis {
    item: Rc<Item>,
    writes: u8,
    deletes: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Change {
    Create,
    Update(Basis),
    Delete(Basis),
}

/// The content of a request.
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
            Change::Update(basis) => Expected::Unchanged(&basis.item.revision),
            Change::Delete(basis) => Expected::Deleted(&basis.item.revision),
        }
    }

    /// Returns the incarnation of the item that the write requires.
    pub(super) fn life(&self) -> Option<u8> {
        self.basis().map(|basis| basis.deletes)
    }

    fn basis(&self) -> Option<&Basis> {
        match &self.change {
            Change::Create => None,
            Change::Update(basis) | Change::Delete(basis) => Some(basis),
        }
    }

    /// Sorts the sets of a world, so that worlds that differ only in the order of a set are equal.
    fn order(&self) -> impl Ord + use<> {
        (self.call, self.id, self.incarnation, self.basis().map(|basis| basis.writes))
    }

    fn holds(&self, item: Option<&Item>, rules: &Rules) -> bool {
        match (&self.change, item) {
            (Change::Create, item) => item.is_none(),
            (Change::Update(basis) | Change::Delete(basis), Some(now)) => (rules.unchanged)(&basis.item, now),
            (Change::Update(_) | Change::Delete(_), None) => false,
        }
    }

    /// Returns the item after the write.
    fn next(&self, rules: &Rules) -> Option<Item> {
        let (id, begins) = (write_id(self.id), incarnation(self.incarnation));
        let revision = match &self.change {
            Change::Create => Revision { version: Some(1), ring: Some(Ring::new(begins).push(id, self.keep)) },
            Change::Update(Basis { item, .. }) => (rules.next)(&item.revision, id, begins, self.keep)?,
            Change::Delete(_) => return None,
        };
        Some(Item { revision, content: self.call + 1 })
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
        let item = item.map(|revision| Rc::new(Item { revision, content: 0 }));
        Self { item, clients, late: Vec::new(), tokens: Vec::new(), ghost }
    }

    pub(super) fn basis(&self) -> Option<Basis> {
        let item = Rc::clone(self.item.as_ref()?);
        Some(Basis { item, writes: self.ghost.writes, deletes: self.ghost.deletes })
    }

    /// Returns whether the answer to a request is a success. If the condition of the request is
    /// true, the request is applied. Returns `None` if the request may not arrive yet.
    pub(super) fn receive(&mut self, request: &Request, setup: &Setup) -> Option<bool> {
        if self.tokens.contains(request) {
            return Some(true);
        }
        if !request.holds(self.item.as_deref(), &setup.rules) {
            return Some(false);
        }
        if matches!(request.change, Change::Delete(_)) && !self.may_delete(setup) {
            return None;
        }
        if setup.sending.has_token(&request.change) {
            self.tokens.push(request.clone());
            self.tokens.sort_by_key(Request::order);
        }
        self.note(request, setup);
        self.item = request.next(&setup.rules).map(Rc::new);
        Some(true)
    }

    /// Applies the write of a program that does not know write ids. Returns `None` if the write is
    /// not allowed, or if it finds no item.
    pub(super) fn foreign(&self, call: u8, act: Foreign, setup: &Setup) -> Option<Self> {
        let mut world = self.clone();
        let version = self.item.as_ref().map(|item| item.revision.number());
        let ring = self.item.as_ref().and_then(|item| item.revision.ring.clone());
        let revision = match (act, version) {
            (Foreign::Count, Some(version)) => Some(Revision { version: Some(version + 1), ring }),
            (Foreign::Put, Some(version)) => Some(Revision { version: Some(version + 1), ring: None }),
            (Foreign::Strip, Some(_)) => Some(Revision { version: None, ring }),
            (Foreign::PutNew, None) => Some(Revision { version: Some(1), ring: None }),
            (Foreign::Delete, Some(_)) if self.may_delete(setup) => None,
            _ => return None,
        };
        world.ghost.writes += 1;
        world.ghost.deletes += u8::from(revision.is_none());
        world.ghost.creator = world.ghost.creator.filter(|_| self.item.is_some());
        world.item = revision.map(|revision| Rc::new(Item { revision, content: call + 1 }));
        Some(world)
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

    fn may_delete(&self, setup: &Setup) -> bool {
        setup.deletes == Deletes::AtAnyTime || self.is_settled()
    }

    fn is_settled(&self) -> bool {
        self.ghost.creator.is_none_or(|creator| {
            let late = |request: &Request| request.call == creator && request.change == Change::Create;
            self.ghost.ends[usize::from(creator)] != End::Open && !self.late.iter().any(late)
        })
    }

    /// Adds a second copy of a request that was answered.
    pub(super) fn comes_again(&mut self, request: &Request, creates: Creates) {
        if request.change != Change::Create || creates == Creates::ComeTwice {
            self.is_late(request);
        }
    }

    /// Adds a request whose sender no longer waits for it.
    pub(super) fn is_late(&mut self, request: &Request) {
        let known = self.late.contains(request);
        if !known || request.change == Change::Create {
            self.late.push(request.clone());
            self.late.sort_by_key(Request::order);
        }
    }

    /// Returns the worlds after the arrival of one more late request. A late create arrives once,
    /// and any other request arrives any number of times.
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

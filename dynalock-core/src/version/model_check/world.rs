//! One item, the requests that may still arrive, and facts about both that no client can see.

use std::{
    hash::{Hash, Hasher},
    rc::Rc,
};

use super::{
    Deletes, Duplicates, Setup,
    client::{Client, End, Foreign},
    rules::{Patch, Register, Returned, Rules},
};
use crate::version::{
    Expected, Revision, Ring, WriteId,
    ring::tests::{id as write_id, incarnation},
};

/// The whole state at one moment.
#[derive(Clone, Hash)]
pub(super) struct World {
    pub(super) item: Option<Rc<Item>>,
    pub(super) clients: Vec<Client>,
    /// Requests that may still arrive, although their client no longer waits for them.
    late: Vec<Request>,
    /// The requests that the server applied and whose tokens it remembers.
    tokens: Vec<Request>,
    /// `true` if ten minutes have passed, so that the server has forgotten the tokens.
    pub(super) are_tokens_forgotten: bool,
    ghost: Ghost,
}

/// The item as it is stored.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Item {
    pub(super) revision: Revision,
    /// The attributes of the caller. Each call writes another value, and so does each batch.
    content: u8,
    /// The ids of the last patches, newest first.
    patches: Vec<u8>,
}

/// Facts that no client can see.
#[derive(Clone, Hash)]
struct Ghost {
    /// The number of times that the write of each call was applied.
    applied: Vec<u8>,
    /// The end of each call.
    ends: Vec<End>,
    /// The number of writes so far. It identifies the state of the item.
    writes: u8,
    /// The number of deletes so far. It identifies the life of the item.
    deletes: u8,
    /// The call that created the item.
    creator: Option<u8>,
    /// The first violation that the server saw when it applied a request.
    broken: Option<Violation>,
}

/// An event that must not happen. The number identifies the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Violation {
    /// A write was computed from one state of the item, and applied to another state.
    LostUpdate(u8),
    /// An update, a delete or a patch was applied again.
    AppliedTwice(u8),
    /// A create was applied again.
    CreatedTwice(u8),
    /// A call reported success and its write was not applied.
    FalseSuccess(u8),
    /// A call reported a conflict and its write was applied, before or after.
    FalseConflict(u8),
    /// A call was repeated under its token, and the repetition was another request.
    OtherContent(u8),
}

/// The state of the item from which a change was computed.
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
    /// An update under a token of the caller.
    Given(Basis),
    Delete(Basis),
    Patch(Patch),
}

/// One request.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) call: u8,
    /// The number of calls that the request writes together. `call` is the first of them.
    pub(super) calls: u8,
    pub(super) change: Change,
    pub(super) id: u8,
    pub(super) incarnation: u8,
    /// The time of the client's clock, in epoch milliseconds.
    pub(super) at: u64,
    pub(super) keep: u8,
}

/// The number of patch ids that an item keeps. The library keeps eight.
const REGISTER: usize = 2;

impl Basis {
    /// Returns whether the item contains this write id.
    pub(super) fn shows(&self, id: WriteId) -> bool {
        self.item.revision.ring.as_ref().is_some_and(|ring| ring.contains(id))
    }
}

impl Hash for Revision {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.version.hash(state);
        self.ring.as_ref().map(Ring::as_bytes).hash(state);
    }
}

impl Request {
    pub(super) fn expected(&self) -> Expected<'_> {
        match &self.change {
            Change::Create => Expected::Absent,
            Change::Update(basis) | Change::Given(basis) => Expected::Unchanged(&basis.item.revision),
            Change::Delete(basis) => Expected::Deleted(&basis.item.revision),
            Change::Patch(_) => Expected::Present,
        }
    }

    /// Returns the life of the item that the write requires.
    pub(super) fn life(&self) -> Option<u8> {
        self.basis().map(|basis| basis.deletes)
    }

    fn basis(&self) -> Option<&Basis> {
        match &self.change {
            Change::Create | Change::Patch(_) => None,
            Change::Update(basis) | Change::Given(basis) | Change::Delete(basis) => Some(basis),
        }
    }

    /// Returns whether the condition of the request can be true at any later time.
    fn may_always_pass(&self) -> bool {
        matches!(self.change, Change::Create | Change::Patch(_))
    }

    /// Returns the place of the request in a sorted list. Worlds that differ only in the order of
    /// their requests are then equal.
    fn order(&self) -> impl Ord + use<> {
        (self.call, self.calls, self.id, self.incarnation, self.at, self.basis().map(|basis| basis.writes))
    }

    fn holds(&self, item: Option<&Item>, rules: &Rules) -> bool {
        match (&self.change, item) {
            (Change::Create, item) => item.is_none(),
            (Change::Update(basis) | Change::Given(basis) | Change::Delete(basis), Some(now)) => {
                (rules.unchanged)(&basis.item, now)
            }
            (Change::Patch(patch), Some(now)) => {
                let is_refused = rules.register == Register::IsCompared && now.patches.contains(&self.id);
                !is_refused && self.patched(*patch, now, rules).is_some()
            }
            (Change::Update(_) | Change::Given(_) | Change::Delete(_) | Change::Patch(_), None) => false,
        }
    }

    /// Returns whether two processes made these requests for one call, under one token of the
    /// caller.
    fn is_repeated_by(&self, other: &Self) -> bool {
        matches!((&self.change, &other.change), (Change::Given(_), Change::Given(_))) && self.call == other.call
    }

    /// Returns whether another request writes the same item.
    fn has_content_of(&self, other: &Self, rules: &Rules) -> bool {
        let written = |request: &Self| request.next(request.basis().map(|basis| &*basis.item), rules);
        written(self) == written(other)
    }

    fn patched(&self, patch: Patch, now: &Item, rules: &Rules) -> Option<Revision> {
        (rules.patched)(patch, &now.revision, incarnation(self.incarnation))
    }

    /// Returns the item after the write.
    fn next(&self, now: Option<&Item>, rules: &Rules) -> Option<Item> {
        let (id, begins) = (write_id(self.id), incarnation(self.incarnation));
        let patches = now.map(|now| now.patches.clone()).unwrap_or_default();
        let item = |revision, patches| Item { revision, content: content_of(self.call, self.calls), patches };
        match (&self.change, now) {
            (Change::Create, _) => {
                let ring = Ring::new(begins).push(id, self.at, self.keep);
                Some(item(Revision { version: Some(1), ring: Some(ring) }, Vec::new()))
            }
            (Change::Update(Basis { item: was, .. }) | Change::Given(Basis { item: was, .. }), _) => {
                Some(item((rules.next)(&was.revision, id, begins, self.at, self.keep)?, patches))
            }
            (Change::Patch(patch), Some(now)) => {
                let register = std::iter::once(self.id).chain(patches).take(REGISTER).collect();
                Some(item(self.patched(*patch, now, rules)?, register))
            }
            (Change::Delete(_) | Change::Patch(_), _) => None,
        }
    }
}

/// Returns the attributes of the caller after a write of `calls` calls, of which `call` is the first.
fn content_of(call: u8, calls: u8) -> u8 {
    16 * (calls - 1) + call + 1
}

impl Item {
    /// Returns whether another item has the same revision and the same attributes of the caller.
    pub(super) fn has_content_of(&self, other: &Self) -> bool {
        self.revision == other.revision && self.content == other.content
    }

    /// Returns whether the request is a patch whose id the item contains.
    pub(super) fn shows_patch(&self, request: &Request) -> bool {
        matches!(request.change, Change::Patch(_)) && self.patches.contains(&request.id)
    }

    /// Returns the knowledge of a patch about the item that refused it.
    pub(super) fn patch(&self) -> Patch {
        Patch { has_stray_ids: self.revision.version.is_none() && self.revision.ring.is_some() }
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
        let item = item.map(|revision| Rc::new(Item { revision, content: 0, patches: Vec::new() }));
        Self { item, clients, late: Vec::new(), tokens: Vec::new(), are_tokens_forgotten: false, ghost }
    }

    pub(super) fn basis(&self) -> Option<Basis> {
        let item = Rc::clone(self.item.as_ref()?);
        Some(Basis { item, writes: self.ghost.writes, deletes: self.ghost.deletes })
    }

    /// Returns the item that the callers of a batch get. `request` is the last write of the batch.
    pub(super) fn returned(&self, request: &Request, setup: &Setup) -> Option<Basis> {
        let now = self.item.as_deref()?;
        let written = request.next(request.basis().map(|basis| &*basis.item), &setup.rules)?;
        // Another attempt of a create has begun the life of the item.
        let life = now.revision.ring.as_ref()?.incarnation();
        let ring = written.revision.ring.map(|ring| Ring::of(life, ring.time(), ring.ids()));
        let written = Item { revision: Revision { ring, ..written.revision }, ..written };
        // No write may start from another item.
        let writes = if written.has_content_of(now) { self.ghost.writes } else { u8::MAX };
        let calls = match setup.rules.returned {
            Returned::AsTheBatchLeftIt => request.calls,
            Returned::AsTheFirstCallLeftIt => 1,
        };
        let item = Rc::new(Item { content: content_of(request.call, calls), ..written });
        Some(Basis { item, writes, deletes: self.ghost.deletes })
    }

    /// Applies a request if its condition is true. Returns whether the answer is a success, or
    /// `None` if the request may not arrive yet.
    pub(super) fn receive(&mut self, request: &Request, setup: &Setup) -> Option<bool> {
        if self.tokens.contains(request) {
            return Some(true);
        }
        if let Some(known) = self.tokens.iter().find(|known| known.is_repeated_by(request)) {
            let broken =
                (!known.has_content_of(request, &setup.rules)).then_some(Violation::OtherContent(request.call));
            self.ghost.broken = self.ghost.broken.or(broken.filter(setup.looks_for));
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
        self.item = request.next(self.item.as_deref(), &setup.rules).map(Rc::new);
        Some(true)
    }

    /// Returns the world after the act of a program that does not know write ids. Returns `None` if
    /// the act is not allowed or changes nothing.
    pub(super) fn foreign(&self, call: u8, act: Foreign, setup: &Setup) -> Option<Self> {
        let mut world = self.clone();
        let version = self.item.as_ref().map(|item| item.revision.number());
        let ring = self.item.as_ref().and_then(|item| item.revision.ring.clone());
        let mut patches = self.item.as_ref().map(|item| item.patches.clone()).unwrap_or_default();
        if act == Foreign::Wipe {
            let item = self.item.as_deref().filter(|_| !patches.is_empty())?;
            world.item = Some(Rc::new(Item { patches: Vec::new(), ..item.clone() }));
            return Some(world);
        }
        if act == Foreign::Put {
            patches.clear();
        }
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
        world.item = revision.map(|revision| Rc::new(Item { revision, content: call + 1, patches }));
        Some(world)
    }

    fn note(&mut self, request: &Request, setup: &Setup) {
        let call = request.call;
        let calls = usize::from(call)..usize::from(call + request.calls);
        let now = self.item.as_deref().map(|item| item.content);
        let ghost = &mut self.ghost;
        let again = ghost.applied[calls.clone()].iter().any(|applied| *applied > 0);
        let broken = match &request.change {
            Change::Create => again.then_some(Violation::CreatedTwice(call)),
            Change::Update(basis) | Change::Given(basis) | Change::Delete(basis)
                if basis.writes != ghost.writes || Some(basis.item.content) != now =>
            {
                Some(Violation::LostUpdate(call))
            }
            Change::Update(_) | Change::Given(_) | Change::Delete(_) | Change::Patch(_) => {
                again.then_some(Violation::AppliedTwice(call))
            }
        };
        ghost.broken = ghost.broken.or(broken.filter(setup.looks_for));
        for applied in &mut ghost.applied[calls] {
            *applied += 1;
        }
        ghost.writes += 1;
        match request.change {
            Change::Create => ghost.creator = Some(call),
            Change::Update(_) | Change::Given(_) | Change::Patch(_) => {}
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
    pub(super) fn comes_again(&mut self, request: &Request, duplicates: Duplicates) {
        if !request.may_always_pass() || duplicates == Duplicates::OfAll {
            self.is_late(request);
        }
    }

    /// Adds a request whose client no longer waits for it.
    pub(super) fn is_late(&mut self, request: &Request) {
        let known = self.late.contains(request);
        if !known || request.may_always_pass() {
            self.late.push(request.clone());
            self.late.sort_by_key(Request::order);
        }
    }

    /// Returns the worlds in which one more late request has arrived. A late create or patch
    /// arrives once. Any other request may arrive any number of times.
    pub(super) fn arrivals(&self, setup: &Setup) -> impl Iterator<Item = (u8, Self)> {
        self.late.iter().enumerate().filter_map(move |(index, request)| {
            let once = request.may_always_pass();
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

    /// Returns the world ten minutes later. The server has forgotten the tokens. No copy of a
    /// request arrives so late.
    pub(super) fn ten_minutes_later(&self) -> Self {
        Self { late: Vec::new(), tokens: Vec::new(), are_tokens_forgotten: true, ..self.clone() }
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

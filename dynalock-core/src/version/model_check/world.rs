//! The state of the model: one item, the clients, the requests that may still arrive, and facts
//! that no client can see.

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

/// The whole state of the model at one moment.
#[derive(Clone, Hash)]
pub(super) struct World {
    pub(super) item: Option<Rc<Item>>,
    pub(super) clients: Vec<Client>,
    /// The requests that may still arrive at the server, although no client waits for the answers.
    late: Vec<Request>,
    /// The applied requests whose tokens the server remembers.
    tokens: Vec<Request>,
    /// `true` if ten minutes have passed and the server has forgotten all tokens.
    pub(super) are_tokens_forgotten: bool,
    ghost: Ghost,
}

/// The item that the server stores.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Item {
    pub(super) revision: Revision,
    /// A number that represents all attributes of the item that a program writes. In the model,
    /// each call and each batch of calls writes a different number.
    content: u8,
    /// The ids of the last patches of the item, newest first.
    patches: Vec<u8>,
}

/// The history of the model, in which the search looks for violations. No client can see the
/// history.
#[derive(Clone, Hash)]
struct Ghost {
    /// For each call, the number of times that the server has applied the write of the call.
    applied: Vec<u8>,
    /// For each call, the result that the caller has received.
    ends: Vec<End>,
    /// The number of writes that the server has applied so far, which identifies the current state
    /// of the item. A [`Foreign::Wipe`] does not count as a write.
    writes: u8,
    /// The number of deletes that the server has applied so far, which distinguishes the item from
    /// earlier items with the same key.
    deletes: u8,
    /// The number of the call that created the item.
    creator: Option<u8>,
    /// The first violation that a request caused when the server applied the request.
    broken: Option<Violation>,
}

/// A violation of the guarantees of the library. The field of each variant is the number of the
/// call whose guarantee was violated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Violation {
    /// The client has computed a write from one state of the item, and the server has applied the
    /// write to another state of the item.
    LostUpdate(u8),
    /// The server has applied the update, delete or patch of a call twice.
    AppliedTwice(u8),
    /// The server has applied the create of a call twice.
    CreatedTwice(u8),
    /// A call reported success, but the server has not applied the write of the call.
    FalseSuccess(u8),
    /// A call reported a conflict, but the server has applied the write of the call, before or
    /// after the report.
    FalseConflict(u8),
    /// The server has received two requests that have the same caller token but different content.
    OtherContent(u8),
}

/// The state of the item from which a client has computed a change.
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
    /// An update with a token that the caller has set.
    Given(Basis),
    Delete(Basis),
    Patch(Patch),
}

/// One request of a client to the server.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) call: u8,
    /// The number of calls whose changes the request writes together. If the request writes the
    /// changes of several calls, the field `call` is the number of the first call.
    pub(super) calls: u8,
    pub(super) change: Change,
    pub(super) id: u8,
    pub(super) incarnation: u8,
    /// The time on the client's clock when the client computed the write, in epoch milliseconds.
    pub(super) at: u64,
    pub(super) keep: u8,
}

/// The number of patch ids that an item of the model keeps. Outside the model, an item keeps eight
/// patch ids.
const REGISTER: usize = 2;

impl Basis {
    /// Returns `true` if the item contains the write id `id`.
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

    /// Returns the number of deletes that the server had applied before it created the item that
    /// the write requires. Returns `None` if the write requires no particular item.
    pub(super) fn life(&self) -> Option<u8> {
        self.basis().map(|basis| basis.deletes)
    }

    fn basis(&self) -> Option<&Basis> {
        match &self.change {
            Change::Create | Change::Patch(_) => None,
            Change::Update(basis) | Change::Given(basis) | Change::Delete(basis) => Some(basis),
        }
    }

    /// Returns `true` for a create or a patch, because the condition of a create or a patch can
    /// become true at any later time.
    fn may_always_pass(&self) -> bool {
        matches!(self.change, Change::Create | Change::Patch(_))
    }

    /// Returns the value by which lists of requests are sorted. If the lists were not sorted, two
    /// states of the model that differ only in the order of the requests would count as different
    /// states.
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

    /// Returns `true` if `self` and `other` are requests of the same call with the same caller
    /// token.
    fn is_repeated_by(&self, other: &Self) -> bool {
        matches!((&self.change, &other.change), (Change::Given(_), Change::Given(_))) && self.call == other.call
    }

    /// Returns `true` if `self` and `other` would write exactly the same item.
    fn has_content_of(&self, other: &Self, rules: &Rules) -> bool {
        let written = |request: &Self| request.next(request.basis().map(|basis| &*basis.item), rules);
        written(self) == written(other)
    }

    fn patched(&self, patch: Patch, now: &Item, rules: &Rules) -> Option<Revision> {
        (rules.patched)(patch, &now.revision, incarnation(self.incarnation))
    }

    /// Returns the item after the request, or `None` if the key has no item after the request.
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

/// Returns the field `content` of an item after a write. `call` is the number of the first call in
/// the write, and `calls` is the number of calls in the write.
fn content_of(call: u8, calls: u8) -> u8 {
    16 * (calls - 1) + call + 1
}

impl Item {
    /// Returns `true` if `self` and `other` have the same version, the same write ids and the same
    /// program attributes.
    pub(super) fn has_content_of(&self, other: &Self) -> bool {
        self.revision == other.revision && self.content == other.content
    }

    /// Returns `true` if the request is a patch and the item contains the id of the patch.
    pub(super) fn shows_patch(&self, request: &Request) -> bool {
        matches!(request.change, Change::Patch(_)) && self.patches.contains(&request.id)
    }

    /// Returns what a client learns about the item when the server refuses a patch and returns the
    /// item.
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

    /// Returns the item that the callers of a batch receive as the result. `request` is the last
    /// request of the batch.
    pub(super) fn returned(&self, request: &Request, setup: &Setup) -> Option<Basis> {
        let now = self.item.as_deref()?;
        let written = request.next(request.basis().map(|basis| &*basis.item), &setup.rules)?;
        // An attempt that was sent before `request` may have created the item, so the code takes
        // the incarnation (the random id) from the stored item.
        let life = now.revision.ring.as_ref()?.incarnation();
        let ring = written.revision.ring.map(|ring| Ring::of(life, ring.time(), ring.ids()));
        let written = Item { revision: Revision { ring, ..written.revision }, ..written };
        // A wrong item gets `u8::MAX` as its number of writes. No stored item reaches this number,
        // so the search reports a write from a wrong item as a lost update.
        let writes = if written.has_content_of(now) { self.ghost.writes } else { u8::MAX };
        let calls = match setup.rules.returned {
            Returned::AsTheBatchLeftIt => request.calls,
            Returned::AsTheFirstCallLeftIt => 1,
        };
        let item = Rc::new(Item { content: content_of(request.call, calls), ..written });
        Some(Basis { item, writes, deletes: self.ghost.deletes })
    }

    /// Applies a request if the condition of the request is true. Returns `true` if the answer of
    /// the server is a success, and `false` if the condition is false. Returns `None` if the setup
    /// of the model does not allow the request to arrive now.
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

    /// Returns the state of the model after a request of a program that writes no write ids.
    /// Returns `None` if the setup of the model does not allow the request now, or if the request
    /// would change nothing.
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

    /// Adds a delayed duplicate of a request that the server has answered, if `duplicates` allows a
    /// duplicate.
    pub(super) fn comes_again(&mut self, request: &Request, duplicates: Duplicates) {
        if !request.may_always_pass() || duplicates == Duplicates::OfAll {
            self.is_late(request);
        }
    }

    /// Adds a request that may arrive after the client has stopped waiting for the answer.
    pub(super) fn is_late(&mut self, request: &Request) {
        let known = self.late.contains(request);
        if !known || request.may_always_pass() {
            self.late.push(request.clone());
            self.late.sort_by_key(Request::order);
        }
    }

    /// Returns the states of the model that are possible after one more late request has arrived. A
    /// late create or a late patch arrives only once, and a late update or delete may arrive any
    /// number of times.
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

    /// Returns the state of the model ten minutes later. After ten minutes, the server has
    /// forgotten all tokens, and no delayed duplicate arrives any more.
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

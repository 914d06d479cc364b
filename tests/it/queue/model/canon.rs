//! Maps states that differ only in irrelevant details to one state. Content that no process will
//! read is removed, and equal processes are sorted.

use super::process::{Phase, Process};
use super::queue::{Entry, Id, NOBODY, process_of};
use super::row::{Beat, Op, Request, Seen};
use super::rules::{Flaw, Rules};
use super::world::World;

impl World {
    pub(super) fn canonical(mut self, rules: &Rules) -> Self {
        self.forget(rules);
        self.sort(rules);
        self.late.sort_unstable();
        self.late.reverse();
        self
    }

    fn forget(&mut self, rules: &Rules) {
        self.forget_fence();
        if self.row.released != NOBODY && !self.may_enter(self.row.released) {
            self.row.released = NOBODY;
        }
        if !rules.stale {
            self.earlier = None;
        }
        self.forget_times(rules);
        for place in 0..rules.kinds.len() {
            let gone = self.processes[place].seen.is_some_and(|seen| !self.may_hold(seen.who));
            self.processes[place].forget(rules, gone);
        }
    }

    /// The later one of the two times of a head counts.
    fn forget_times(&mut self, rules: &Rules) {
        if rules.clock.is_some() && self.row.queue.head() != NOBODY && !rules.has(Flaw::EnqueueWritesTurn) {
            self.row.queue.0[0].sent = self.row.head_since();
            self.row.turn = None;
        }
    }

    /// Only the differences of fences matter, so the fence of the row becomes 0.
    fn forget_fence(&mut self) {
        let by = std::mem::take(&mut self.row.fence);
        if by == 0 {
            return;
        }
        self.history.granted -= by;
        let shift = |fence: &mut i8| *fence = (-1).max(*fence - by);
        for process in &mut self.processes {
            shift(&mut process.fence);
            if let Some(seen) = &mut process.seen {
                shift(&mut seen.fence);
            }
            process.op.as_mut().and_then(Op::fence).map(shift);
        }
        self.late.iter_mut().flatten().filter_map(|late| late.op.fence()).for_each(shift);
        if let Some(shown) = &mut self.earlier {
            shift(&mut shown.seen.fence);
        }
    }

    /// Returns whether a request that puts the acquisition into the row may still arrive.
    fn may_enter(&self, id: Id) -> bool {
        let enters = |op: Op| matches!(op, Op::Enqueue | Op::Acquire(_));
        let late = self.late.iter().flatten().any(|late| late.from == id && enters(late.op));
        late || self.is_alive(id) && self.processes[process_of(id)].op.is_some_and(enters)
    }

    fn may_hold(&self, id: Id) -> bool {
        self.is_alive(id) || self.row.queue.has(id) || self.row.owner == id || self.may_enter(id)
    }

    /// Processes are sorted only among equal ones, because each place has its own clock.
    fn sort(&mut self, rules: &Rules) {
        let mut order = [0, 1, 2];
        let keys = order.map(|place| self.key(place));
        for (low, high) in [(0, 1), (0, 2), (1, 2)] {
            if rules.group(low) == rules.group(high) && keys[order[low]] > keys[order[high]] {
                order.swap(low, high);
            }
        }
        if order == [0, 1, 2] {
            return;
        }
        let mut places = [0; 3];
        (0..3).for_each(|place| places[order[place]] = u8::try_from(place).unwrap_or(0));
        self.processes = order.map(|place| self.processes[place]);
        self.names.0 = order.map(|place| self.names.0[place]);
        self.rename(&|id| if id == NOBODY { id } else { places[process_of(id)] * 4 + id % 4 });
    }

    fn key(&self, place: usize) -> u64 {
        let process = &self.processes[place];
        let queued = self.row.queue.position(self.id(place)).unwrap_or(7) as u64;
        let mut key = queued;
        for small in [process.round, process.phase as u8, process.base, process.asked, process.seen_for, process.beat] {
            key = key << 4 | u64::from(small);
        }
        let op = process.op.map_or(0, Op::number);
        let watched = process.seen.map_or(0, |seen| 1 + seen.beat);
        let late = self.late.iter().flatten().filter(|late| process_of(late.from) == place).count() as u64;
        key << 12 | u64::from(op) << 8 | u64::from(watched) << 4 | late
    }

    fn rename(&mut self, name: &impl Fn(Id) -> Id) {
        let again = |seen: &mut Seen| seen.who = name(seen.who);
        self.row.owner = name(self.row.owner);
        self.row.released = name(self.row.released);
        self.row.queue.0 = self.row.queue.0.map(|entry| Entry { id: name(entry.id), ..entry });
        for process in &mut self.processes {
            process.seen.as_mut().map(again);
            process.op.as_mut().and_then(Op::seen).map(again);
        }
        for Request { from, op, .. } in self.late.iter_mut().flatten() {
            *from = name(*from);
            op.seen().map(again);
        }
        if let Some(shown) = &mut self.earlier {
            again(&mut shown.seen);
        }
        let strays = std::mem::take(&mut self.history.strays);
        if strays != 0 {
            (0..12).filter(|id| strays & (1 << id) != 0).for_each(|id| self.history.strays |= 1 << name(id));
        }
    }
}

impl Process {
    fn forget(&mut self, rules: &Rules, gone: bool) {
        match self.phase {
            Phase::Done | Phase::Crashed => *self = Self::new(rules, self.round, self.phase),
            Phase::Leaving => {
                *self = Self { op: self.op, asked: self.asked, ..Self::new(rules, self.round, self.phase) }
            }
            Phase::Out if !matches!(self.op, Some(Op::Granted(_))) => self.base = rules.ttl,
            Phase::Out | Phase::Waiting | Phase::Head | Phase::Held => {}
        }
        if gone {
            self.seen = None;
        }
        if self.seen.is_none() {
            self.seen_for = 0;
        }
        if !matches!(self.phase, Phase::Head | Phase::Held) {
            self.fence = 0;
        }
        if self.phase != Phase::Held {
            self.ended = false;
        }
        if self.op != Some(Op::Enqueue) {
            self.entered = 0;
        }
        let untimed = matches!(self.op, None | Some(Op::Leave | Op::Release | Op::Abandon(_) | Op::Clear(_)));
        if untimed && rules.clock.is_none() || self.op.is_none() {
            self.asked = 0;
        }
    }
}

impl Op {
    fn seen(&mut self) -> Option<&mut Seen> {
        match self {
            Op::Evict(seen) | Op::Clear(seen) | Op::Acquire(Some(seen)) => Some(seen),
            _ => None,
        }
    }

    fn fence(&mut self) -> Option<&mut i8> {
        match self {
            Op::Evict(Seen { fence, .. }) | Op::Clear(Seen { fence, .. }) | Op::Acquire(Some(Seen { fence, .. })) => {
                Some(fence)
            }
            Op::Beat(Beat { fence, .. }) | Op::Heartbeat(Beat { fence, .. }) | Op::Granted(fence) => Some(fence),
            _ => None,
        }
    }

    fn number(self) -> u8 {
        match self {
            Op::Enqueue => 1,
            Op::Read => 2,
            Op::Beat(_) => 3,
            Op::Leave => 4,
            Op::Abandon(_) => 5,
            Op::Evict(_) => 6,
            Op::Acquire(_) => 7,
            Op::Heartbeat(_) => 8,
            Op::Release => 9,
            Op::Clear(_) => 10,
            Op::Write => 11,
            Op::Granted(_) => 12,
        }
    }
}

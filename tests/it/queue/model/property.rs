//! The properties that must hold in each state and for each step.

use super::process::Phase;
use super::queue::{Id, NOBODY, process_of};
use super::row::{Op, Request, Row};
use super::rules::Rules;
use super::world::World;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Property {
    /// Two processes believe to hold the lock.
    OneHolder,
    /// A process believes to hold the lock, but the row would refuse its write.
    BelieverIsHolder,
    /// The row would accept the write of a process whose grant another process has ended, or the
    /// writes of two processes.
    OneWriter,
    /// A grant got a fence that is not above all earlier fences.
    FencesGrow,
    /// A live process that sent a heartbeat in time lost its place.
    NobodyIsSkipped,
    /// A process that was served, or that gave up, left its entry.
    NothingIsLeft,
}

/// The history that the row does not contain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct History {
    /// The highest fence that was granted.
    pub(super) granted: i8,
    /// The time since the head became the head, or since it sent its last applied heartbeat.
    pub(super) shown: u8,
    /// The acquisitions that a delayed duplicate has put into the row.
    pub(super) strays: u16,
}

impl History {
    pub(super) fn tick(&mut self, rules: &Rules) {
        self.shown = rules.ttl.min(self.shown + 1);
    }

    pub(super) fn record(&mut self, rules: &Rules, before: &Row, row: &Row, request: Request, age: u8) {
        let (holder, fence) = row.holder();
        if before.holder() != row.holder() {
            self.shown = if holder == NOBODY { rules.ttl } else { turned(rules, row, request) };
            if holder != NOBODY {
                self.granted = self.granted.max(fence);
            }
        } else if matches!(request.op, Op::Beat(_) | Op::Heartbeat(_)) {
            self.shown = age.min(rules.ttl);
        }
        for id in before.queue.ids().into_iter().chain([before.owner]) {
            if id != NOBODY && !row.queue.has(id) && row.owner != id {
                self.strays &= !(1 << id);
            }
        }
    }

    pub(super) fn left_behind(self, row: &Row, id: Id) -> bool {
        (row.queue.has(id) || row.owner == id) && self.strays & (1 << id) == 0
    }
}

/// Returns how long the new holder has been the head. With the clock rule, the time counts from the
/// sending of both its enqueue and the request that began its turn.
fn turned(rules: &Rules, row: &Row, request: Request) -> u8 {
    let head = row.queue.0[0];
    if rules.clock.is_none() || head.id == NOBODY {
        return 0;
    }
    let age =
        |id: Id, sent: i8| (rules.offset(process_of(id)) - sent).clamp(0, rules.ttl.cast_signed()).cast_unsigned();
    let entered = age(head.id, head.sent);
    if request.op == Op::Enqueue { entered } else { entered.min(age(request.from, request.sent)) }
}

/// Returns the property that an applied request has violated. The world has the new row, and
/// `before` has the history.
pub(super) fn broken_by(world: &World, rules: &Rules, before: &Row, request: Request) -> Option<Property> {
    let (holder, fence) = world.row.holder();
    let granted = holder != NOBODY && (holder, fence) != before.holder();
    if granted && fence <= world.history.granted {
        return Some(Property::FencesGrow);
    }
    let in_time = world.history.shown < rules.ttl;
    let skipped = |(place, id): (usize, Id)| {
        let lost = id != NOBODY && id != request.from && !world.row.queue.has(id) && world.is_alive(id);
        lost && (place > 0 || in_time || !matches!(request.op, Op::Evict(_)))
    };
    before.queue.ids().into_iter().enumerate().any(skipped).then_some(Property::NobodyIsSkipped)
}

/// Returns the property that a state violates.
pub(super) fn broken_in(world: &World, rules: &Rules, wanted: Option<Property>) -> Option<Property> {
    let (mut believers, mut writers) = (0, 0);
    let mut found = [world.wrong, None, None];
    for (place, process) in world.processes.iter().enumerate() {
        if process.phase == Phase::Held {
            let accepted = world.row.holder() == (world.id(place), process.fence);
            believers += u8::from(process.believes(rules));
            writers += u8::from(accepted);
            if writers > 1 || accepted && process.ended {
                found[1] = Some(Property::OneWriter);
            }
            if believers > 1 && wanted != Some(Property::BelieverIsHolder) {
                found[2] = Some(Property::OneHolder);
            } else if process.believes(rules) && !accepted && wanted != Some(Property::OneHolder) {
                found[2] = Some(Property::BelieverIsHolder);
            }
        }
    }
    found.into_iter().flatten().find(|&broken| wanted.is_none_or(|wanted| wanted == broken))
}

//! The lock as a system to explore: the possible steps, and their texts in a trace.

use std::fmt::Write;

use super::explore::System;
use super::process::{Phase, Process};
use super::property::{Property, broken_in};
use super::queue::{Entry, NOBODY, process_of};
use super::row::{Beat, Op, Request, Seen};
use super::rules::Rules;
use super::world::World;

/// The result of a request, if requests take no time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fate {
    heard: bool,
    doubled: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Step {
    Tick,
    Send(usize, Op),
    /// Sends the request, applies it and handles its answer in one step.
    Ask(usize, Op, Fate),
    Arrive(usize, bool),
    Hear(usize),
    Double(usize),
    Again(usize),
    Late(usize),
    Poll(usize, bool),
    Crash(usize),
    Sweep,
}

type Next = Vec<(Step, World)>;

impl System for Rules {
    type State = World;
    type Step = Step;
    type Property = Property;

    fn start(&self) -> World {
        World::new(self).canonical(self)
    }

    fn successors(&self, world: &World, next: &mut Next) {
        let mut world = *world;
        world.wrong = None;
        self.push(&world, next, Step::Tick, |after| after.tick(self));
        self.push(&world, next, Step::Sweep, |after| after.row.sweep());
        for process in 0..self.kinds.len() {
            if !world.processes[process].is_gone() {
                self.moves(&world, process, next);
            }
        }
        for place in 0..2 {
            if world.late[place].is_some() {
                self.push(&world, next, Step::Late(place), |after| after.arrive(self, place));
            }
        }
    }

    fn is_progress(step: &Step) -> bool {
        match step {
            Step::Tick | Step::Send(..) | Step::Hear(_) | Step::Again(_) | Step::Poll(_, false) => true,
            Step::Ask(_, op, fate) => fate.heard && !fate.doubled && !matches!(op, Op::Abandon(_)),
            Step::Arrive(_, heard) => *heard,
            Step::Double(_) | Step::Late(_) | Step::Poll(_, true) | Step::Crash(_) | Step::Sweep => false,
        }
    }

    fn broken(&self, world: &World, wanted: Option<Property>) -> Option<Property> {
        broken_in(world, self, wanted)
    }

    fn is_finished(&self, world: &World) -> bool {
        world.processes.iter().all(Process::is_gone)
    }

    fn describe(&self, before: &World, step: &Step, after: &World) -> String {
        format!("{:<44} {}", before.tell(*step), after.picture(self))
    }
}

impl Rules {
    fn push(&self, world: &World, next: &mut Next, step: Step, change: impl FnOnce(&mut World)) {
        let mut after = *world;
        change(&mut after);
        let after = after.canonical(self);
        if after != *world {
            next.push((step, after));
        }
    }

    fn moves(&self, world: &World, process: usize, next: &mut Next) {
        let it = &world.processes[process];
        if self.crashes {
            self.push(world, next, Step::Crash(process), |after| after.processes[process].phase = Phase::Crashed);
        }
        if it.phase == Phase::Waiting && it.op.is_none() {
            self.push(world, next, Step::Poll(process, false), |after| after.poll(self, process, false));
            if self.stale && world.earlier.is_some() {
                self.push(world, next, Step::Poll(process, true), |after| after.poll(self, process, true));
            }
        }
        match it.op {
            None => it.wishes(self, self.kinds[process], world.row.queue.len(), &mut |op| match self.slow {
                true => self.push(world, next, Step::Send(process, op), |after| after.processes[process].send(op)),
                false => self.ask(world, process, op, next),
            }),
            Some(Op::Granted(_)) => self.push(world, next, Step::Hear(process), |after| after.hear(self, process)),
            Some(_) => self.on_its_way(world, process, next),
        }
    }

    fn ask(&self, world: &World, process: usize, op: Op, next: &mut Next) {
        for doubled in [false, true] {
            for heard in [true, false] {
                if (!doubled || world.copies > 0 && op != Op::Read) && (heard || world.losses > 0 && op != Op::Read) {
                    self.push(world, next, Step::Ask(process, op, Fate { heard, doubled }), |after| {
                        after.processes[process].send(op);
                        if doubled {
                            after.double(self, process);
                        }
                        after.serve(self, process, heard);
                    });
                }
            }
        }
    }

    fn on_its_way(&self, world: &World, process: usize, next: &mut Next) {
        let op = world.processes[process].op;
        self.push(world, next, Step::Arrive(process, true), |after| after.serve(self, process, true));
        if self.slow {
            let again = |after: &mut World| after.processes[process].send_again(self, self.kinds[process]);
            self.push(world, next, Step::Again(process), again);
        }
        if world.losses > 0 && op != Some(Op::Read) {
            self.push(world, next, Step::Arrive(process, false), |after| after.serve(self, process, false));
        }
        if world.copies > 0 && op != Some(Op::Read) {
            self.push(world, next, Step::Double(process), |after| {
                after.double(self, process);
                if !self.slow {
                    after.processes[process].send_again(self, self.kinds[process]);
                }
            });
        }
    }
}

impl World {
    fn tell(&self, step: Step) -> String {
        let who = |process: usize| self.names.0[process];
        match step {
            Step::Tick => "time passes".into(),
            Step::Send(process, op) => format!("{} sends {}", who(process), self.word(op)),
            Step::Ask(process, op, Fate { heard, doubled }) => {
                let copy = if doubled { ", a copy stays on its way" } else { "" };
                let lost = if heard { "" } else { ", its answer is lost" };
                format!("{} asks {}{copy}{lost}", who(process), self.word(op))
            }
            Step::Arrive(process, true) => format!("{}'s request arrives and is answered", who(process)),
            Step::Arrive(process, false) => format!("{}'s request arrives, its answer is lost", who(process)),
            Step::Hear(process) => format!("{} hears that its lease is granted", who(process)),
            Step::Double(process) => format!("a copy of {}'s request stays on its way", who(process)),
            Step::Again(process) => format!("{} sends it again", who(process)),
            Step::Late(place) => match self.late[place] {
                Some(Request { from, op, .. }) => {
                    format!("the delayed duplicate of {}'s {} arrives", self.name(from), self.word(op))
                }
                None => String::new(),
            },
            Step::Poll(process, stale) => format!("{} polls{}", who(process), if stale { ", stale" } else { "" }),
            Step::Crash(process) => format!("{} crashes", who(process)),
            Step::Sweep => "the empty queue goes".into(),
        }
    }

    fn name(&self, id: u8) -> String {
        match id {
            NOBODY => "-".into(),
            id => format!("{}{}", self.names.0[process_of(id)], 1 + id % 4),
        }
    }

    fn word(&self, op: Op) -> String {
        let seen = |Seen { who, beat, .. }: Seen| format!("{} at beat {beat}", self.name(who));
        match op {
            Op::Evict(dead) => format!("to evict {}", seen(dead)),
            Op::Clear(dead) => format!("to clear {}", seen(dead)),
            Op::Acquire(Some(dead)) => format!("to acquire over {}", seen(dead)),
            Op::Acquire(None) => "to acquire".into(),
            Op::Enqueue => "to enqueue".into(),
            Op::Read => "to read".into(),
            Op::Leave | Op::Release => "to leave".into(),
            Op::Beat(Beat { number, .. }) | Op::Heartbeat(Beat { number, .. }) => format!("to beat {number}"),
            Op::Write => "to write".into(),
            Op::Abandon(place) => format!("to abandon place {place}"),
            Op::Granted(_) => String::new(),
        }
    }

    fn picture(&self, rules: &Rules) -> String {
        let entry = |&Entry { id, sent }: &Entry| match rules.clock {
            Some(_) => format!("{} of {sent}", self.name(id)),
            None => self.name(id),
        };
        let queue: Vec<String> = self.row.queue.0[..self.row.queue.len()].iter().map(entry).collect();
        let owner = self.name(self.row.owner);
        let mut text = format!("| owner {owner} queue {queue:?} beat {}", self.row.beat);
        for (place, process) in self.processes.iter().enumerate() {
            if process.believes(rules) {
                let _ = write!(text, ", {} believes for {} more", self.names.0[place], rules.ttl - process.base);
            }
        }
        text
    }
}

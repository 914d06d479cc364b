//! The whole state: the row, the processes, the copies of requests that can still arrive, and the
//! history.

use std::hash::{Hash, Hasher};

use super::process::{Answer, Phase, Process};
use super::property::{History, Property};
use super::queue::{Id, NOBODY, process_of};
use super::row::{Op, Request, Row, Seen};
use super::rules::{Flaw, Rules};

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) row: Row,
    pub(super) processes: [Process; 3],
    /// The delayed duplicates of requests, sorted.
    pub(super) late: [Option<Request>; 2],
    pub(super) copies: u8,
    pub(super) losses: u8,
    /// The content of the previous version, for eventually consistent reads.
    pub(super) earlier: Option<Shown>,
    pub(super) history: History,
    /// The violation of the step that led to this state.
    pub(super) wrong: Option<Property>,
    pub(super) names: Names,
}

/// The content of a cheap read: the holder, and the time since which it is the head. The time is
/// `None` for an owner, or if no clocks are used.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shown {
    pub(super) seen: Seen,
    pub(super) since: Option<i8>,
}

/// The names of the processes in a trace. Processes change places if this makes two states equal.
/// The names are not part of the state.
#[derive(Clone, Copy)]
pub(super) struct Names(pub(super) [char; 3]);

impl PartialEq for Names {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Names {}

impl Hash for Names {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl World {
    pub(super) fn new(rules: &Rules) -> Self {
        let process = |place| Process::new(rules, 0, if place < rules.kinds.len() { Phase::Out } else { Phase::Done });
        Self {
            row: Row::new(),
            processes: [process(0), process(1), process(2)],
            late: [None; 2],
            copies: rules.copies,
            losses: rules.losses,
            earlier: None,
            history: History::default(),
            wrong: None,
            names: Names(['A', 'B', 'C']),
        }
    }

    /// Returns the current acquisition of a process.
    pub(super) fn id(&self, process: usize) -> Id {
        u8::try_from(process * 4).unwrap_or(NOBODY) + self.processes[process].round
    }

    /// Returns whether this acquisition is not over.
    pub(super) fn is_alive(&self, id: Id) -> bool {
        id != NOBODY && self.id(process_of(id)) == id && !self.processes[process_of(id)].is_gone()
    }

    pub(super) fn tick(&mut self, rules: &Rules) {
        for process in &mut self.processes {
            let age = |time: &mut u8, oldest: u8| *time = oldest.min(*time + 1);
            age(&mut process.base, rules.ttl);
            if rules.slow {
                age(&mut process.asked, rules.oldest());
            }
            if rules.clock.is_some() {
                age(&mut process.entered, rules.oldest());
            }
            age(&mut process.seen_for, rules.ttl);
        }
        self.history.tick(rules);
        if rules.clock.is_some() {
            let floor = -rules.oldest().cast_signed();
            let fall = |time: i8| floor.max(time - 1);
            self.row.until = self.row.until.map(fall);
            self.row.turn = self.row.turn.map(fall).filter(|&turn| turn > floor);
            self.row
                .queue
                .0
                .iter_mut()
                .filter(|entry| entry.id != NOBODY)
                .for_each(|entry| entry.sent = fall(entry.sent));
            self.late.iter_mut().flatten().for_each(|late| late.sent = fall(late.sent));
            if let Some(Shown { since: Some(since), .. }) = &mut self.earlier {
                *since = fall(*since);
            }
        }
    }

    fn request(&self, rules: &Rules, process: usize, op: Op) -> Request {
        let Process { asked, entered, .. } = self.processes[process];
        let age = match rules.clock {
            Some(_) if op == Op::Enqueue => entered,
            Some(_) => asked,
            None => 0,
        };
        Request { from: self.id(process), op, sent: rules.offset(process) - age.cast_signed() }
    }

    /// The running request of a process arrives and is answered, or its answer is lost.
    pub(super) fn serve(&mut self, rules: &Rules, process: usize, heard: bool) {
        let Some(op) = self.processes[process].op else { return };
        let request = self.request(rules, process, op);
        let before = self.row;
        let ok = self.row.apply(rules, request);
        self.record(rules, &before, request, ok, self.processes[process].asked);
        match heard {
            true => self.answer(rules, process, ok, &before),
            false => {
                self.losses -= 1;
                self.processes[process].send_again(rules, rules.kinds[process]);
            }
        }
    }

    /// The answer that granted a lease arrives.
    pub(super) fn hear(&mut self, rules: &Rules, process: usize) {
        let row = self.row;
        self.answer(rules, process, true, &row);
    }

    fn answer(&mut self, rules: &Rules, process: usize, ok: bool, row: &Row) {
        let me = self.id(process);
        let expired = Self::is_expired(rules, process, row);
        let turned = self.turned(rules, process, row);
        self.processes[process].hear(rules, me, &Answer { ok, row, expired, turned });
        if self.processes[process].phase == Phase::Done {
            self.finish(rules, process, me);
        }
    }

    fn finish(&mut self, rules: &Rules, process: usize, me: Id) {
        if self.history.left_behind(&self.row, me) {
            self.wrong = self.wrong.or(Some(Property::NothingIsLeft));
        }
        let round = self.processes[process].round + 1;
        if round < rules.rounds {
            self.processes[process] = Process::new(rules, round, Phase::Out);
        }
    }

    /// A delayed duplicate arrives. No process gets its answer.
    pub(super) fn arrive(&mut self, rules: &Rules, place: usize) {
        let Some(request) = self.late[place].take() else { return };
        let before = self.row;
        let ok = self.row.apply(rules, request);
        self.record(rules, &before, request, ok, rules.ttl);
        if ok && matches!(request.op, Op::Enqueue | Op::Acquire(_)) {
            self.history.strays |= 1 << request.from;
        }
    }

    /// A copy of the running request stays behind.
    pub(super) fn double(&mut self, rules: &Rules, process: usize) {
        let Some(op) = self.processes[process].op else { return };
        let request = self.request(rules, process, op);
        let free = usize::from(self.late[0].is_some());
        self.late[free] = Some(request);
        self.copies -= 1;
    }

    /// A cheap read shows the holder of the row, or of the previous version. With clocks, a read
    /// that shows the process itself is sufficient. The read may be older than the last consistent
    /// read, so only the turn counts.
    pub(super) fn poll(&mut self, rules: &Rules, process: usize, earlier: bool) {
        let row = self.row;
        let shown = if earlier { self.earlier } else { Self::shown(rules, &row) };
        match shown.and_then(|shown| shown.since.filter(|_| shown.seen.who == self.id(process)).zip(Some(shown.seen))) {
            Some((since, seen)) => {
                let turned = Some(rules.offset(process) - since);
                let waiter = &mut self.processes[process];
                if !rules.has(Flaw::PollKeepsLook) {
                    waiter.base = rules.ttl;
                }
                waiter.come_to_head(rules, seen.fence + 1, turned);
            }
            None => {
                let expired = !earlier && Self::is_expired(rules, process, &row);
                self.processes[process].watch(rules, shown.map(|shown| shown.seen), expired);
            }
        }
    }

    fn shown(rules: &Rules, row: &Row) -> Option<Shown> {
        let by_queue = rules.clock.is_some() && row.owner == NOBODY;
        row.seen(rules).map(|seen| Shown { seen, since: by_queue.then(|| row.head_since()) })
    }

    /// Returns whether the lease in the row has ended by the clock rule.
    fn is_expired(rules: &Rules, process: usize, row: &Row) -> bool {
        let Some(clock) = rules.clock else { return false };
        let now = clock.offsets[process];
        let is_queue = row.owner == NOBODY && row.queue.head() != NOBODY;
        let first = is_queue.then(|| rules.until(row.head_since())).flatten();
        rules.is_past(row.until.max(first), now)
    }

    /// Returns the time, by its own clock, since the process became the head of the row in an
    /// answer. Returns `None` if the process uses no clock, or if the row has an owner.
    fn turned(&self, rules: &Rules, process: usize, row: &Row) -> Option<i8> {
        if rules.clock.is_none() || row.owner != NOBODY {
            return None;
        }
        let own = rules.offset(process) - self.processes[process].entered.cast_signed();
        let since =
            if row.queue.head() == NOBODY { row.turn.map_or(own, |turn| turn.max(own)) } else { row.head_since() };
        Some(rules.offset(process) - since)
    }

    fn record(&mut self, rules: &Rules, before: &Row, request: Request, ok: bool, age: u8) {
        if before.seen(rules) != self.row.seen(rules) {
            self.earlier = Self::shown(rules, before);
        }
        if ok {
            self.wrong = self.wrong.or(super::property::broken_by(self, rules, before, request));
            self.history.record(rules, before, &self.row, request, age);
        }
        let (holder, _) = before.holder();
        if self.row.holder().0 != holder && request.from != holder && self.is_alive(holder) {
            self.processes[process_of(holder)].ended = true;
        }
    }
}

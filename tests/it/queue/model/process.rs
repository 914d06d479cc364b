//! A process: its knowledge, its possible next requests, and its reaction to answers.

use super::queue::{Id, NOBODY};
use super::row::{Op, Row, Seen};
use super::rules::{Flaw, Kind, Rules};

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The process has no place in the queue, as far as it knows.
    Out,
    /// The process has a place in the queue.
    Waiting,
    /// The process holds the lock, but does not know since when. The process must send a heartbeat
    /// before it enters.
    Head,
    /// The process has entered.
    Held,
    /// The process has requested the removal of its entry, because it leaves or gives up.
    Leaving,
    /// The process was served, or got an error.
    Done,
    Crashed,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pub(super) round: u8,
    pub(super) phase: Phase,
    /// The request that is running, or that will be sent again.
    pub(super) op: Option<Op>,
    /// The time since this request was sent.
    pub(super) asked: u8,
    /// The time since the first send of its enqueue.
    pub(super) entered: u8,
    /// The time from which its lease counts. The time is a ttl if the lease is over or its start is
    /// unknown.
    pub(super) base: u8,
    /// The holder that the process observes, and the time since it first saw this holder. The time
    /// is a ttl if this holder may be evicted.
    pub(super) seen: Option<Seen>,
    pub(super) seen_for: u8,
    /// The fence of its grant, after it has entered.
    pub(super) fence: i8,
    /// The number of its last heartbeat.
    pub(super) beat: u8,
    /// Another process has ended its grant. The process itself does not know this.
    pub(super) ended: bool,
}

/// The content of an answer: the row before a successful request, or the row that refused the
/// request.
pub(super) struct Answer<'a> {
    pub(super) ok: bool,
    pub(super) row: &'a Row,
    /// By the clock of this process, the lease in the row has ended.
    pub(super) expired: bool,
    /// By the clock of this process, the time since it became the head, if it is the head. The time
    /// is negative if another clock is ahead. The value is `None` if the process does not use this
    /// time.
    pub(super) turned: Option<i8>,
}

impl Process {
    pub(super) fn new(rules: &Rules, round: u8, phase: Phase) -> Self {
        Self {
            round,
            phase,
            op: None,
            asked: 0,
            entered: 0,
            base: rules.ttl,
            seen: None,
            seen_for: 0,
            fence: 0,
            beat: 0,
            ended: false,
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        matches!(self.phase, Phase::Done | Phase::Crashed)
    }

    pub(super) fn believes(&self, rules: &Rules) -> bool {
        self.phase == Phase::Held && self.base < rules.ttl
    }

    pub(super) fn send(&mut self, op: Op) {
        self.op = Some(op);
        self.asked = 0;
        match op {
            Op::Enqueue => self.entered = 0,
            Op::Beat(beat) | Op::Heartbeat(beat) => self.beat = beat.number,
            Op::Leave | Op::Abandon(_) | Op::Release => self.phase = Phase::Leaving,
            _ => {}
        }
    }

    /// Sends the same request again after a timeout or a lost answer. A heartbeat gets a higher
    /// number, or is not sent again. An enqueue keeps its first time.
    pub(super) fn send_again(&mut self, rules: &Rules, kind: Kind) {
        match self.op {
            _ if rules.has(Flaw::BeatAgainKeepsNumber) => self.asked = 0,
            Some(Op::Beat(_) | Op::Heartbeat(_)) if self.beat < rules.last_beat(kind) => {
                self.send(self.next_beat(kind));
            }
            Some(Op::Beat(_) | Op::Heartbeat(_)) => self.op = None,
            _ => self.asked = 0,
        }
    }

    /// Handles an answer.
    pub(super) fn hear(&mut self, rules: &Rules, me: Id, answer: &Answer) {
        let Some(op) = self.op.take() else { return };
        let Answer { ok, row, .. } = *answer;
        match op {
            Op::Enqueue if ok && row.queue.len() == 0 => {
                self.base = rules.age_at_head(self.asked.min(rules.ttl), answer.turned);
                self.granted(rules, row.fence + 1);
            }
            Op::Acquire(_) if ok => {
                self.base = self.asked.min(rules.ttl);
                self.granted(rules, row.fence + 1);
            }
            Op::Beat(beat) | Op::Heartbeat(beat) if ok => self.granted(rules, beat.fence),
            Op::Granted(fence) => self.enter(rules, fence),
            Op::Beat(_) | Op::Heartbeat(_) => self.refused_to_beat(me, row, op),
            Op::Leave | Op::Release => self.phase = Phase::Done,
            Op::Write if ok || row.owner != NOBODY => self.phase = Phase::Done,
            Op::Write => self.watch(rules, row.seen(rules), answer.expired),
            Op::Enqueue if ok => self.look(rules, me, answer),
            Op::Enqueue if is_full(rules, me, answer) => self.phase = Phase::Done,
            Op::Enqueue | Op::Acquire(_) => self.refused(rules, me, answer),
            Op::Abandon(_) => self.abandoned(ok, me, row),
            Op::Evict(_) if ok && self.phase == Phase::Waiting => (self.base, self.seen) = (self.asked, None),
            Op::Read | Op::Evict(_) | Op::Clear(_) if self.phase == Phase::Waiting => self.look(rules, me, answer),
            Op::Read | Op::Evict(_) | Op::Clear(_) => {
                self.watch(rules, row.seen(rules).filter(|_| !ok), answer.expired);
            }
        }
    }

    /// Handles the grant or the renewal of a lease. The answer arrives at once, or is delayed.
    fn granted(&mut self, rules: &Rules, fence: i8) {
        match rules.slow {
            true => self.op = Some(Op::Granted(fence)),
            false => self.enter(rules, fence),
        }
    }

    fn enter(&mut self, rules: &Rules, fence: i8) {
        self.base = match self.phase {
            _ if rules.has(Flaw::CountsFromAnswer) => 0,
            Phase::Out => self.base,
            _ => self.asked,
        };
        self.enter_if_in_time(rules, fence);
    }

    /// Handles a refused heartbeat. Either a later heartbeat was first, or the grant is lost, and
    /// the grant of a delayed duplicate is released.
    fn refused_to_beat(&mut self, me: Id, row: &Row, beat: Op) {
        let (holder, fence) = row.holder();
        match holder == me {
            true if fence == self.fence => self.beat = row.beat,
            true => self.send(if matches!(beat, Op::Beat(_)) { Op::Leave } else { Op::Release }),
            false => self.phase = Phase::Done,
        }
    }

    /// Handles a read that shows the process as the head without a heartbeat. If its start is
    /// unknown, its turn is used.
    pub(super) fn come_to_head(&mut self, rules: &Rules, fence: i8, turned: Option<i8>) {
        self.base = rules.age_at_head(self.base, turned);
        self.enter_if_in_time(rules, fence);
    }

    fn enter_if_in_time(&mut self, rules: &Rules, fence: i8) {
        self.seen = None;
        if self.phase != Phase::Held {
            self.fence = fence;
            self.phase = if self.base < rules.ttl { Phase::Held } else { Phase::Head };
        }
    }

    /// Handles a consistent read of a waiter. The row of an eviction or an enqueue is such a read,
    /// too.
    fn look(&mut self, rules: &Rules, me: Id, answer: &Answer) {
        let row = answer.row;
        let enqueued = answer.ok && self.phase == Phase::Out;
        if !row.queue.has(me) && !enqueued {
            self.phase = Phase::Done;
        } else if row.queue.head() == me {
            if rules.has(Flaw::CountsFromOwnSight) {
                self.base = self.asked;
            }
            self.come_to_head(rules, row.fence + 1, answer.turned);
        } else {
            self.phase = Phase::Waiting;
            self.base = self.asked;
            self.watch(rules, row.seen(rules), answer.expired);
        }
    }

    fn refused(&mut self, rules: &Rules, me: Id, answer: &Answer) {
        let row = answer.row;
        let (holder, fence) = row.holder();
        if holder == me {
            self.base = rules.ttl;
            self.come_to_head(rules, fence, answer.turned);
        } else if row.queue.has(me) {
            self.look(rules, me, answer);
        } else if row.released == me {
            self.phase = Phase::Done;
        } else {
            self.watch(rules, row.seen(rules), answer.expired);
        }
    }

    fn abandoned(&mut self, ok: bool, me: Id, row: &Row) {
        match row.queue.position(me).filter(|_| !ok) {
            None => self.phase = Phase::Done,
            Some(0) => self.send(Op::Leave),
            Some(place) => self.send(Op::Abandon(u8::try_from(place).unwrap_or(u8::MAX))),
        }
    }

    /// Records the holder of a read, and the time at which it was first seen.
    pub(super) fn watch(&mut self, rules: &Rules, seen: Option<Seen>, expired: bool) {
        if self.seen != seen {
            self.seen = seen;
            self.seen_for = 0;
        }
        if expired && seen.is_some() {
            self.seen_for = rules.ttl;
        }
    }
}

/// Returns whether the process has no place in the queue, and no place becomes free by an eviction.
fn is_full(rules: &Rules, me: Id, answer: &Answer) -> bool {
    let Row { owner, queue, .. } = *answer.row;
    owner == NOBODY && queue.len() >= rules.max_queue && !queue.has(me) && !answer.expired
}

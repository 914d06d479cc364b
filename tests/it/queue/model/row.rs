//! The row, and the effect of each conditional request on it. `DynamoDB` executes this part of the
//! protocol.

use super::queue::{Entry, Id, NOBODY, Queue};
use super::rules::{Flaw, Rules};

/// The attributes of the row. Times are relative to the present, and fences are relative to the
/// row's fence.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Row {
    pub(super) owner: Id,
    pub(super) queue: Queue,
    pub(super) fence: i8,
    pub(super) beat: u8,
    pub(super) until: Option<i8>,
    /// The time at which the last leave or eviction was sent, by the clock of its sender.
    pub(super) turn: Option<i8>,
    pub(super) released: Id,
}

/// The observation of a row: its holder, and the beat of the holder.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Seen {
    pub(super) who: Id,
    pub(super) beat: u8,
    /// The fence of the row. The fence distinguishes two stays of the same id at the head.
    pub(super) fence: i8,
}

/// A heartbeat: its number, and the fence of the grant that it renews.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Beat {
    pub(super) number: u8,
    pub(super) fence: i8,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Op {
    Enqueue,
    Read,
    Beat(Beat),
    Leave,
    Abandon(u8),
    Evict(Seen),
    /// The acquire of a plain lock. The acquire takes over an expired owner if the process has seen
    /// an expired owner.
    Acquire(Option<Seen>),
    Heartbeat(Beat),
    Release,
    Clear(Seen),
    /// The write of any other program to a row without a holder.
    Write,
    /// This value is no request. A request that granted or renewed the sender's lease was applied,
    /// and its answer can still arrive.
    Granted(i8),
}

/// A running request, with the sender's clock at the time of sending. An enqueue that was sent
/// again keeps its first time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Request {
    pub(super) from: Id,
    pub(super) op: Op,
    pub(super) sent: i8,
}

impl Row {
    pub(super) fn new() -> Self {
        let queue = Queue([Entry::NONE; 4]);
        Self { owner: NOBODY, queue, fence: 0, beat: 0, until: None, turn: None, released: NOBODY }
    }

    /// Returns the holder of the lock, and the fence of its grant.
    pub(super) fn holder(&self) -> (Id, i8) {
        match self.owner {
            NOBODY => (self.queue.head(), self.fence + 1),
            owner => (owner, self.fence),
        }
    }

    pub(super) fn seen(&self, rules: &Rules) -> Option<Seen> {
        let (who, _) = self.holder();
        let fence = if rules.has(Flaw::EvictIgnoresFence) { 0 } else { self.fence };
        (who != NOBODY).then_some(Seen { who, beat: self.beat, fence })
    }

    /// Returns the time since which the head is the head, by the clocks of the senders. The two
    /// times do not change while the entry is the head.
    pub(super) fn head_since(&self) -> i8 {
        let Entry { sent, .. } = self.queue.0[0];
        self.turn.map_or(sent, |turn| turn.max(sent))
    }

    /// Executes a request: its condition and, if the condition is true, its update.
    pub(super) fn apply(&mut self, rules: &Rules, request: Request) -> bool {
        let Request { from: me, op, sent } = request;
        match op {
            Op::Read | Op::Granted(_) => true,
            Op::Enqueue => self.enqueue(rules, me, sent),
            Op::Beat(beat) => {
                let is_head = self.queue.head() == me || rules.has(Flaw::BeatIgnoresHead);
                let newer = self.beat < beat.number || rules.has(Flaw::BeatMayRepeat);
                (is_head || rules.has(Flaw::BeatIgnoresGrant)) && newer && self.renew(rules, beat, sent)
            }
            Op::Leave => {
                let is_head = self.queue.head() == me || rules.has(Flaw::LeaveIgnoresHead);
                is_head && self.leave(rules, sent)
            }
            Op::Abandon(place) => self.abandon(rules, me, usize::from(place)),
            Op::Evict(seen) => self.evict(rules, seen, sent),
            Op::Acquire(dead) => self.acquire(rules, me, dead, sent),
            Op::Heartbeat(beat) => {
                let newer = self.beat < beat.number || rules.has(Flaw::BeatAgainKeepsNumber);
                self.owner == me && newer && self.renew(rules, beat, sent)
            }
            Op::Release => self.owner == me && self.disown(rules, me),
            Op::Clear(seen) => self.owner_is(rules, seen) && self.clear(),
            Op::Write => self.write(rules, sent),
        }
    }

    fn enqueue(&mut self, rules: &Rules, me: Id, sent: i8) -> bool {
        let room = self.queue.len() < rules.max_queue;
        let allowed = self.queue.position(me).is_none() && self.owner == NOBODY && room && self.released != me;
        if allowed {
            self.queue.append(Entry { id: me, sent });
            if rules.has(Flaw::EnqueueWritesTurn) {
                self.turn = Some(sent);
            }
        }
        allowed
    }

    fn renew(&mut self, rules: &Rules, beat: Beat, sent: i8) -> bool {
        let unfenced = rules.has(Flaw::BeatIgnoresFence) || rules.has(Flaw::BeatIgnoresGrant);
        let allowed = self.beat <= beat.number && (self.holder().1 == beat.fence || unfenced);
        if allowed {
            self.beat = beat.number;
            self.until = rules.until(sent);
        }
        allowed
    }

    /// The library stores its owner if a copy of its enqueue may arrive. The model accepts all late
    /// copies.
    fn leave(&mut self, rules: &Rules, sent: i8) -> bool {
        self.next_turn(rules, sent);
        self.released = NOBODY;
        self.fence += 1;
        true
    }

    /// Removes an empty queue. The last leave or eviction does this if it expects the end of the
    /// queue. If not, a later request does it.
    pub(super) fn sweep(&mut self) {
        if self.queue.head() == NOBODY {
            (self.turn, self.released) = (None, NOBODY);
        }
    }

    fn abandon(&mut self, rules: &Rules, me: Id, place: usize) -> bool {
        let allowed = place < 4 && (self.queue.0[place].id == me || rules.has(Flaw::AbandonIgnoresId));
        if allowed {
            self.queue.remove(place);
        }
        allowed
    }

    fn evict(&mut self, rules: &Rules, seen: Seen, sent: i8) -> bool {
        let same_beat = self.beat == seen.beat || rules.has(Flaw::EvictIgnoresBeat);
        let allowed = self.queue.head() == seen.who && same_beat && self.fence_is(rules, seen);
        if allowed {
            self.next_turn(rules, sent);
            self.released = NOBODY;
            self.fence += i8::from(!rules.has(Flaw::EvictKeepsFence));
        }
        allowed
    }

    fn next_turn(&mut self, rules: &Rules, sent: i8) {
        self.queue.remove(0);
        self.beat = 0;
        self.until = None;
        self.turn = rules.clock.map(|_| sent);
    }

    fn acquire(&mut self, rules: &Rules, me: Id, dead: Option<Seen>, sent: i8) -> bool {
        let observed = dead.is_some_and(|dead| self.owner_is(rules, dead));
        let free = self.owner == NOBODY || observed || rules.is_past(self.until, sent);
        let no_queue = self.queue.head() == NOBODY || rules.has(Flaw::AcquireIgnoresQueue);
        let allowed = free && no_queue && self.released != me && self.owner != me;
        if allowed {
            self.owner = me;
            self.beat = 0;
            self.turn = None;
            self.until = rules.until(sent);
            self.fence += 1;
        }
        allowed
    }

    fn clear(&mut self) -> bool {
        (self.owner, self.beat, self.until) = (NOBODY, 0, None);
        true
    }

    /// A write from outside passes if no process holds the lock. The write also removes an owner
    /// whose lease has ended by the clock.
    fn write(&mut self, rules: &Rules, sent: i8) -> bool {
        let dead = rules.is_past(self.until, sent);
        let allowed = self.queue.head() == NOBODY && (self.owner == NOBODY || dead);
        if allowed {
            (self.owner, self.until) = (NOBODY, None);
        }
        allowed
    }

    fn owner_is(&self, rules: &Rules, seen: Seen) -> bool {
        self.owner == seen.who && self.beat == seen.beat && self.fence_is(rules, seen)
    }

    fn fence_is(&self, rules: &Rules, seen: Seen) -> bool {
        self.fence == seen.fence || rules.has(Flaw::EvictIgnoresFence)
    }

    fn disown(&mut self, rules: &Rules, released: Id) -> bool {
        self.owner = NOBODY;
        if rules.release_clears_beat {
            self.beat = 0;
        }
        self.until = None;
        self.released = released;
        true
    }
}

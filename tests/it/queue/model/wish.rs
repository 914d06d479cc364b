//! The possible next requests of a process.

use super::process::{Phase, Process};
use super::row::{Beat, Op};
use super::rules::{Flaw, Kind, Rules};

impl Process {
    /// Returns the requests that a process without a running request may send.
    pub(super) fn wishes(&self, rules: &Rules, kind: Kind, queue: usize, wish: &mut impl FnMut(Op)) {
        let dead = self.seen.filter(|_| self.seen_for >= rules.ttl && !rules.has(Flaw::NobodyEvicts));
        match (self.phase, kind) {
            (Phase::Out, Kind::Fair) => {
                wish(Op::Enqueue);
                if let Some(dead) = dead {
                    wish(Op::Clear(dead));
                    wish(Op::Evict(dead));
                }
            }
            (Phase::Out, Kind::Plain) => {
                wish(Op::Acquire(dead));
                if let Some(dead) = dead {
                    wish(Op::Evict(dead));
                }
            }
            (Phase::Out, Kind::Writer) => {
                wish(Op::Write);
                if let Some(dead) = dead {
                    wish(Op::Evict(dead));
                }
            }
            (Phase::Waiting, _) => {
                wish(Op::Read);
                if let Some(dead) = dead {
                    wish(Op::Evict(dead));
                }
                if rules.patience {
                    (1..queue.max(2)).for_each(|place| wish(Op::Abandon(u8::try_from(place).unwrap_or(u8::MAX))));
                }
            }
            (Phase::Head | Phase::Held, _) => {
                if self.beat < rules.last_beat(kind) {
                    wish(self.next_beat(kind));
                }
                wish(if kind == Kind::Fair { Op::Leave } else { Op::Release });
            }
            (Phase::Leaving | Phase::Done | Phase::Crashed, _) => {}
        }
    }

    pub(super) fn next_beat(&self, kind: Kind) -> Op {
        let beat = Beat { number: self.beat + 1, fence: self.fence };
        if kind == Kind::Fair { Op::Beat(beat) } else { Op::Heartbeat(beat) }
    }
}

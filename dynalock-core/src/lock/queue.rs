//! The requests of the fair queue. Pure.

use aws_sdk_dynamodb::types::AttributeValue;

use super::{
    mark::{Mark, Sighting},
    row::{Dead, Row, number, same, text},
};
use crate::{
    expression::{Placeholders, Terms},
    model::LockModel,
    operation::Update,
    retry::Effort,
};

/// Who stands behind the head, as far as whoever takes it out of the queue has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// The queue ends with it: nothing of it stays. Refused if somebody has come since.
    Nobody,
    Somebody,
}

/// Whether a copy of the request for a place may still be on its way, when the one who has it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Copies {
    None,
    /// One may: what goes leaves its name, by which that is refused.
    MayCome,
}

impl Copies {
    /// Of the request that an effort was made for.
    pub(super) fn of(effort: &Effort) -> Self {
        if effort.is_in_doubt() { Self::MayCome } else { Self::None }
    }
}

/// How a head goes by its own request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exit {
    pub(super) copies: Copies,
    /// Epoch milliseconds.
    pub(super) now: u64,
}

/// The next one's turn: the parts of an update.
struct Turn {
    set: Terms,
    remove: Terms,
    condition: Terms,
    to: Placeholders,
}

/// Why a head may be taken out of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// It has not beaten since.
    Silence,
    /// An operator says so.
    Order,
}

impl Row {
    /// Takes a number and a place in one write: the number is the place. Whoever comes into an empty queue holds the lock; at most `most` stand
    /// in it then. It may be repeated: nobody stands in it twice.
    pub(super) fn enqueue(&self, entry: &str, now: u64, most: usize) -> Update {
        let mut to = Placeholders::default();
        let [owner, fence, released, queue] =
            [self.layout.owner, self.layout.fence, self.layout.released, self.layout.queue].map(|name| to.name(name));
        let me = to.value(text(entry));
        let mine = to.value(AttributeValue::L(vec![text(entry)]));
        let nobody = to.value(AttributeValue::L(Vec::new()));
        let now = to.value(number(now));

        let mut set = Terms::new("SET ", ",");
        set.push(format_args!("{queue}=list_append(if_not_exists({queue},{nobody}),{mine})"));
        set.push(format_args!("{fence}=if_not_exists({fence},{now})"));

        let mut condition = Terms::new("", " AND ");
        condition.push(format_args!("attribute_not_exists({owner})"));
        condition.push(format_args!("attribute_not_exists({queue}[{}])", most.saturating_sub(1)));
        condition.push(format_args!("NOT contains({queue}, {me})"));
        condition.push(format_args!("{released} <> {me}"));
        if let Some(key) = self.existing {
            condition.push(format_args!("attribute_exists({})", to.name(key)));
        }
        self.update(set.finish(), condition.finish(), to)
    }

    /// The head goes, and the next one holds the lock: one write, so that nobody comes between.
    pub(super) fn leave(&self, entry: &str, behind: Behind, Exit { copies, now }: Exit) -> Update {
        let mut turn = self.next_turn(text(entry), behind, now);
        let released = turn.to.name(self.layout.released);
        match copies {
            Copies::None => turn.remove.push(format_args!("{released}")),
            Copies::MayCome => {
                let me = turn.to.value(text(entry));
                turn.set.push(format_args!("{released}={me}"));
            }
        }
        self.made(turn)
    }

    /// Somebody behind the head goes.
    pub(super) fn abandon(&self, entry: &str, place: usize) -> Update {
        let mut to = Placeholders::default();
        let queue = to.name(self.layout.queue);
        let condition = format!("{queue}[{place}] = {}", to.value(text(entry)));
        self.update(format!("REMOVE {queue}[{place}]"), condition, to)
    }

    /// Takes a head out that has died.
    pub(super) fn evict(&self, head: &Sighting, evidence: Evidence, behind: Behind, now: u64) -> Update {
        let mut turn = self.next_turn(head.holder.clone(), behind, now);
        if behind == Behind::Nobody {
            turn.remove.push(format_args!("{}", turn.to.name(self.layout.released)));
        }
        let is_same = match evidence {
            Evidence::Silence => self.is_as_seen(head, &mut turn.to),
            Evidence::Order => same(self.layout.fence, head.stored_fence.clone(), &mut turn.to),
        };
        turn.condition.push(format_args!("{is_same}"));
        self.made(turn)
    }

    /// Removes a queue in which nobody stands any more since that fence.
    pub(super) fn sweep(&self, fence: u64, copies: Copies) -> Update {
        let mut to = Placeholders::default();
        let [queue, turn] = [self.layout.queue, self.layout.turn].map(|name| to.name(name));
        let mut remove = Terms::new("REMOVE ", ",");
        remove.push(format_args!("{queue},{turn}"));
        if copies == Copies::None {
            remove.push(format_args!("{}", to.name(self.layout.released)));
        }
        let is_since = format!("{} = {}", to.name(self.layout.fence), to.value(number(fence)));
        let condition = format!("attribute_exists({queue}) AND attribute_not_exists({queue}[0]) AND {is_since}");
        self.update(remove.finish(), condition, to)
    }

    /// Takes away a dead owner, so that a queue can begin.
    pub(super) fn clear(&self, mark: &Mark, dead: &Dead) -> Option<Update> {
        let mut to = Placeholders::default();
        let dead = self.is_dead(dead, &mut to)?;
        let LockModel { owner, until, beat, .. } = self.layout;
        let [owner, until, beat] = [owner, until, beat].map(|name| to.name(name));
        let stored_fence = mark.sighting().and_then(|sighting| sighting.stored_fence.clone());
        let is_same = same(self.layout.fence, stored_fence, &mut to);
        let text = format!("REMOVE {owner},{until},{beat}");
        Some(self.update(text, format!("attribute_exists({owner}) AND {is_same} AND {dead}"), to))
    }

    /// What makes the next in the queue its head: the head and its signs of life go, and its fence is stored.
    fn next_turn(&self, head: AttributeValue, behind: Behind, now: u64) -> Turn {
        let mut to = Placeholders::default();
        let LockModel { fence, queue, beat, until, turn, .. } = self.layout;
        let [fence, queue, beat, until, turn] = [fence, queue, beat, until, turn].map(|name| to.name(name));
        let mut set = Terms::new("SET ", ",");
        let (now_value, one) = (to.value(number(now)), to.value(number(1)));
        set.push(format_args!("{fence}=if_not_exists({fence},{now_value})+{one}"));
        let mut remove = Terms::new("REMOVE ", ",");
        remove.push(format_args!("{beat},{until}"));
        let mut condition = Terms::new("", " AND ");
        condition.push(format_args!("{queue}[0] = {}", to.value(head)));
        match behind {
            Behind::Nobody => {
                remove.push(format_args!("{queue},{turn}"));
                condition.push(format_args!("attribute_not_exists({queue}[1])"));
            }
            Behind::Somebody => {
                remove.push(format_args!("{queue}[0]"));
                set.push(format_args!("{turn}={now_value}"));
            }
        }
        Turn { set, remove, condition, to }
    }

    fn made(&self, Turn { set, remove, condition, to }: Turn) -> Update {
        self.update(format!("{} {}", set.finish(), remove.finish()), condition.finish(), to)
    }
}

//! The requests of the fair queue. Pure.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::{
    expression::{Joined, Placeholders},
    lease::{
        record::{LockRecord, Observation, Waiters},
        row::{Expired, Row, number, same, text},
    },
    model::LockModel,
    operation::UpdateItem,
    retry::Attempts,
};

/// Whether a copy of the request for a place may still be on its way, when the one who has it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duplicate {
    Impossible,
    /// One may: what goes leaves its name, by which that is refused.
    Possible,
}

impl Duplicate {
    /// Of the request that an effort was made for.
    pub(crate) fn of(attempts: &Attempts) -> Self {
        if attempts.is_in_doubt() { Self::Possible } else { Self::Impossible }
    }
}

/// How a head goes by its own request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DequeueFields {
    pub(crate) duplicate: Duplicate,
    /// Epoch milliseconds.
    pub(crate) now: u64,
}

/// The next one's turn: the parts of an update.
struct DequeueText {
    set: Joined,
    remove: Joined,
    condition: Joined,
    to: Placeholders,
}

/// Why a head may be taken out of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvictReason {
    /// It has not beaten since.
    Expired,
    /// An operator says so.
    Operator,
}

impl Row {
    /// Takes a number and a place in one write: the number is the place. Whoever comes into an empty queue holds the lock; at most `most` stand
    /// in it then. It may be repeated: nobody stands in it twice.
    pub(crate) fn enqueue(&self, entry: &str, now: u64, most: usize) -> UpdateItem {
        let mut to = Placeholders::default();
        let [owner, fence, released, queue] =
            [self.layout.owner, self.layout.fence, self.layout.released, self.layout.queue].map(|name| to.name(name));
        let me = to.value(text(entry));
        let mine = to.value(AttributeValue::L(vec![text(entry)]));
        let nobody = to.value(AttributeValue::L(Vec::new()));
        let now = to.value(number(now));

        let mut set = Joined::new("SET ", ",");
        set.push(format_args!("{queue}=list_append(if_not_exists({queue},{nobody}),{mine})"));
        set.push(format_args!("{fence}=if_not_exists({fence},{now})"));

        let mut condition = Joined::new("", " AND ");
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
    pub(crate) fn leave(
        &self,
        entry: &str,
        waiters: Waiters,
        DequeueFields { duplicate, now }: DequeueFields,
    ) -> UpdateItem {
        let mut turn = self.next_turn(text(entry), waiters, now);
        let released = turn.to.name(self.layout.released);
        match duplicate {
            Duplicate::Impossible => turn.remove.push(format_args!("{released}")),
            Duplicate::Possible => {
                let me = turn.to.value(text(entry));
                turn.set.push(format_args!("{released}={me}"));
            }
        }
        self.made(turn)
    }

    /// Somebody behind the head goes.
    pub(crate) fn abandon(&self, entry: &str, place: usize) -> UpdateItem {
        let mut to = Placeholders::default();
        let queue = to.name(self.layout.queue);
        let condition = format!("{queue}[{place}] = {}", to.value(text(entry)));
        self.update(format!("REMOVE {queue}[{place}]"), condition, to)
    }

    /// Takes a head out that has died.
    pub(crate) fn evict(&self, head: &Observation, evidence: EvictReason, waiters: Waiters, now: u64) -> UpdateItem {
        let mut turn = self.next_turn(head.holder.clone(), waiters, now);
        if waiters == Waiters::None {
            turn.remove.push(format_args!("{}", turn.to.name(self.layout.released)));
        }
        let is_same = match evidence {
            EvictReason::Expired => self.is_as_seen(head, &mut turn.to),
            EvictReason::Operator => same(self.layout.fence, head.stored_fence.clone(), &mut turn.to),
        };
        turn.condition.push(format_args!("{is_same}"));
        self.made(turn)
    }

    /// Removes a queue in which nobody stands any more since that fence.
    pub(crate) fn sweep(&self, fence: u64, duplicate: Duplicate) -> UpdateItem {
        let mut to = Placeholders::default();
        let [queue, turn] = [self.layout.queue, self.layout.turn].map(|name| to.name(name));
        let mut remove = Joined::new("REMOVE ", ",");
        remove.push(format_args!("{queue},{turn}"));
        if duplicate == Duplicate::Impossible {
            remove.push(format_args!("{}", to.name(self.layout.released)));
        }
        let is_since = format!("{} = {}", to.name(self.layout.fence), to.value(number(fence)));
        let condition = format!("attribute_exists({queue}) AND attribute_not_exists({queue}[0]) AND {is_since}");
        self.update(remove.finish(), condition, to)
    }

    /// Takes away a dead owner, so that a queue can begin.
    pub(crate) fn clear(&self, record: &LockRecord, dead: &Expired) -> Option<UpdateItem> {
        let mut to = Placeholders::default();
        let dead = self.is_dead(dead, &mut to)?;
        let LockModel { owner, until, beat, .. } = self.layout;
        let [owner, until, beat] = [owner, until, beat].map(|name| to.name(name));
        let stored_fence = record.observation().and_then(|observation| observation.stored_fence.clone());
        let is_same = same(self.layout.fence, stored_fence, &mut to);
        let text = format!("REMOVE {owner},{until},{beat}");
        Some(self.update(text, format!("attribute_exists({owner}) AND {is_same} AND {dead}"), to))
    }

    /// What makes the next in the queue its head: the head and its signs of life go, and its fence is stored.
    fn next_turn(&self, head: AttributeValue, waiters: Waiters, now: u64) -> DequeueText {
        let mut to = Placeholders::default();
        let LockModel { fence, queue, beat, until, turn, .. } = self.layout;
        let [fence, queue, beat, until, turn] = [fence, queue, beat, until, turn].map(|name| to.name(name));
        let mut set = Joined::new("SET ", ",");
        let (now_value, one) = (to.value(number(now)), to.value(number(1)));
        set.push(format_args!("{fence}=if_not_exists({fence},{now_value})+{one}"));
        let mut remove = Joined::new("REMOVE ", ",");
        remove.push(format_args!("{beat},{until}"));
        let mut condition = Joined::new("", " AND ");
        condition.push(format_args!("{queue}[0] = {}", to.value(head)));
        match waiters {
            Waiters::None => {
                remove.push(format_args!("{queue},{turn}"));
                condition.push(format_args!("attribute_not_exists({queue}[1])"));
            }
            Waiters::Some => {
                remove.push(format_args!("{queue}[0]"));
                set.push(format_args!("{turn}={now_value}"));
            }
        }
        DequeueText { set, remove, condition, to }
    }

    fn made(&self, DequeueText { set, remove, condition, to }: DequeueText) -> UpdateItem {
        self.update(format!("{} {}", set.finish(), remove.finish()), condition.finish(), to)
    }
}

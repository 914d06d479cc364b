//! The requests of the fair queue. Pure.

use aws_sdk_dynamodb::types::AttributeValue;

use super::{
    mark::Sighting,
    row::{Dead, Row, number, same, text},
};
use crate::{
    expression::{Placeholders, Terms},
    operation::Update,
};

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
    pub(super) fn leave(&self, entry: &str, now: u64) -> Update {
        let mut to = Placeholders::default();
        let me = to.value(text(entry));
        let released = to.name(self.layout.released);
        let set = format!("{},{released}={me} REMOVE {}", self.next(now, &mut to), self.gone(&mut to));
        let condition = format!("{}[0] = {me}", to.name(self.layout.queue));
        self.update(set, condition, to)
    }

    /// The head goes that has not entered: what became of the holder before is still for the next one to know.
    pub(super) fn pass(&self, entry: &str, now: u64) -> Update {
        let mut to = Placeholders::default();
        let set = format!("{} REMOVE {}", self.next(now, &mut to), self.gone(&mut to));
        let condition = format!("{}[0] = {}", to.name(self.layout.queue), to.value(text(entry)));
        self.update(set, condition, to)
    }

    /// Somebody behind the head goes.
    pub(super) fn abandon(&self, entry: &str, place: usize) -> Update {
        let mut to = Placeholders::default();
        let queue = to.name(self.layout.queue);
        let condition = format!("{queue}[{place}] = {}", to.value(text(entry)));
        self.update(format!("REMOVE {queue}[{place}]"), condition, to)
    }

    /// Takes a head out that has died, and says so to the next one: it has released nothing.
    pub(super) fn evict(&self, head: &Sighting, evidence: Evidence, now: u64) -> Update {
        let mut to = Placeholders::default();
        let set = format!("{} REMOVE {}", self.next(now, &mut to), self.gone(&mut to));
        let set = format!("{set},{}", to.name(self.layout.released));
        let mut condition = Terms::new("", " AND ");
        condition.push(format_args!("{}[0] = {}", to.name(self.layout.queue), to.value(text(&head.holder))));
        let is_same = match evidence {
            Evidence::Silence => self.is_as_seen(head, &mut to),
            Evidence::Order => same(self.layout.fence, head.stored_fence.map(number), &mut to),
        };
        condition.push(format_args!("{is_same}"));
        self.update(set, condition.finish(), to)
    }

    /// Takes away a dead owner, so that a queue can begin.
    pub(super) fn clear(&self, owner: &str, dead: &Dead) -> Option<Update> {
        let mut to = Placeholders::default();
        let dead = self.is_dead(dead, &mut to)?;
        let [name, until, beat, released] =
            [self.layout.owner, self.layout.until, self.layout.beat, self.layout.released].map(|name| to.name(name));
        let condition = format!("{name} = {} AND {dead}", to.value(text(owner)));
        Some(self.update(format!("REMOVE {name},{until},{beat},{released}"), condition, to))
    }

    /// What makes the next in the queue its head: the number of the last grant, and since when.
    fn next(&self, now: u64, to: &mut Placeholders) -> String {
        let (fence, turn) = (to.name(self.layout.fence), to.name(self.layout.turn));
        let (now, one) = (to.value(number(now)), to.value(number(1)));
        format!("SET {fence}=if_not_exists({fence},{now})+{one},{turn}={now}")
    }

    /// The head, and its signs of life.
    fn gone(&self, to: &mut Placeholders) -> String {
        let [queue, beat, until] = [self.layout.queue, self.layout.beat, self.layout.until].map(|name| to.name(name));
        format!("{queue}[0],{beat},{until}")
    }
}

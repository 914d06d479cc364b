use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use super::terms::Terms;
use crate::{
    codec::Item,
    error::Lost,
    expression::{Hold, Holder},
    model::LockModel,
    number::{rounded_up, whole_number},
};

/// What a row says about its lock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    pub(super) owner: Option<String>,
    /// The fence attribute.
    pub(super) fence: Option<u64>,
    pub(super) beat: Option<u64>,
    /// Epoch milliseconds, by the holder's clock.
    pub(super) until: Option<u64>,
    pub(super) released: Option<String>,
    /// Who stands in the queue, the head first.
    pub(super) queue: Vec<String>,
    /// Epoch milliseconds, by the clock of whoever changed an end of the queue last.
    pub(super) turn: Option<u64>,
}

/// The head of a queue, and its last sign of life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) entry: String,
    pub(super) beat: Option<u64>,
}

impl Holder {
    /// Why the lease is not held any more, by an item.
    pub(crate) fn lost(&self, lock: LockModel, met: Option<&Item>) -> Option<Lost> {
        let Some(item) = met else { return Some(Lost::Deleted) };
        let mark = Mark::read(&lock, item);
        match mark.holder() {
            Some(holder) if *holder == *self.owner => None,
            Some(holder) => Some(Lost::Stolen { by: holder.into(), fence: mark.last_fence().unwrap_or(0) }),
            None => Some(Lost::Expired),
        }
    }
}

impl Mark {
    /// Reads a row; what is of another type than it must be counts as missing, and the conditions of the protocol refuse it.
    pub(crate) fn read(layout: &LockModel, item: &Item) -> Self {
        let number = |name| item.get(name).and_then(|value| value.as_n().ok()).and_then(|digits| whole_number(digits));
        let end = item.get(layout.until).and_then(|end| end.as_n().ok()).and_then(|end| rounded_up(end));
        let queue = item.get(layout.queue).and_then(|queue| queue.as_l().ok());
        Self {
            owner: item.get(layout.owner).map(text),
            fence: number(layout.fence),
            beat: number(layout.beat),
            until: end.map(|end| layout.unit.to_millis(end)),
            released: item.get(layout.released).map(text),
            queue: queue.map(|entries| entries.iter().map(text).collect()).unwrap_or_default(),
            turn: number(layout.turn),
        }
    }

    /// Who holds it: its owner, or the head of its queue.
    pub(crate) fn holder(&self) -> Option<&str> {
        self.owner.as_deref().or_else(|| self.queue.first().map(String::as_str))
    }

    /// Whether somebody else than `owner` has it.
    pub(super) fn is_of_another(&self, owner: &str) -> bool {
        self.holder().is_some_and(|holder| holder != owner)
    }

    /// The head of the queue, if that holds it.
    pub(super) fn head(&self) -> Option<Head> {
        let entry = self.queue.first().filter(|_| self.owner.is_none())?;
        Some(Head { entry: entry.clone(), beat: self.beat })
    }

    /// Where somebody stands in the queue: 0 is its head.
    pub(super) fn place_of(&self, entry: &str) -> Option<usize> {
        self.queue.iter().position(|other| other == entry)
    }

    /// The moment before which nobody enters the queue, if that is what has refused one who was sent at another: clocks differ.
    pub(super) fn turn_after(&self, sent: u64, most: usize) -> Option<u64> {
        self.turn.filter(|turn| *turn > sent && self.owner.is_none() && self.queue.len() < most)
    }

    /// The fence of the last grant.
    pub(crate) fn last_fence(&self) -> Option<u64> {
        let hold = if self.head().is_some() { Hold::Fair } else { Hold::Plain };
        self.fence.map(|stored| hold.fence(stored))
    }

    /// The fence of the last holder, if that did not release the lock.
    pub(super) fn crashed(&self) -> Option<u64> {
        self.fence.filter(|_| self.owner.is_some() || self.released.is_none())
    }

    /// When the lease of the holder ends, in epoch milliseconds. A head that has not said so yet has it for a ttl since its turn came, `ttl` if
    /// it does not name another.
    pub(crate) fn end(&self, ttl: Duration) -> Option<u64> {
        self.until.or_else(|| {
            let ttl = ttl_of(&self.head()?.entry).unwrap_or(ttl);
            Some(self.turn?.saturating_add(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)))
        })
    }

    /// The head of the queue, if its lease has ended by the clock.
    pub(super) fn dead_head(&self, terms: &Terms) -> Option<Head> {
        let (moment, end) = terms.dead_before().zip(self.end(terms.ttl))?;
        self.head().filter(|_| end < moment)
    }

    /// How long the lease has still to go by a clock that shows `now`.
    pub(crate) fn remaining(&self, now: u64, ttl: Duration) -> Duration {
        Duration::from_millis(self.end(ttl).unwrap_or(0).saturating_sub(now))
    }
}

/// What somebody who stands in a queue is called there: its owner, and its ttl for those who wait for it.
pub(super) fn entry(owner: &str, ttl: Duration) -> String {
    format!("{owner}/{}", ttl.as_millis())
}

pub(super) fn ttl_of(entry: &str) -> Option<Duration> {
    let (_, millis) = entry.rsplit_once('/')?;
    millis.parse().ok().map(Duration::from_millis)
}

fn text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.clone(),
        // Another program's; to the conditions it is there all the same.
        _ => "(not a string)".to_owned(),
    }
}

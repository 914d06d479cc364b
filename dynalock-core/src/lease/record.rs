use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{
    clause::{GrantKind, HolderProof},
    options::LeaseOptions,
};
use crate::{
    codec::Item,
    error::Lost,
    model::LockModel,
    number::{rounded_up, whole_number},
};

/// Who stands behind the head, as far as whoever takes it out of the queue has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiters {
    /// The queue ends with it: nothing of it stays. Refused if somebody has come since.
    None,
    Some,
}

/// What a row says about its lock.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct LockRecord {
    pub(crate) owner: Option<String>,
    /// The fence attribute.
    pub(crate) fence: Option<u64>,
    pub(crate) beat: Option<u64>,
    /// Epoch milliseconds, by the holder's clock.
    pub(crate) until: Option<u64>,
    pub(crate) released: Option<String>,
    /// Who stands in the queue, the head first.
    pub(crate) queue: Vec<String>,
    /// The queue is there, and nobody stands in it.
    pub(crate) is_abandoned: bool,
    /// Epoch milliseconds since when the head is the head, by the clock of whoever made it so; unless it came later, into an empty queue.
    pub(crate) turn: Option<u64>,
    observation: Option<Box<Observation>>,
}

/// A holder, and its last sign of life. The fence attribute tells its grant from an earlier one of the same name, which a late copy may bring back;
/// another program may write no beats, but ends.
///
/// The values are as they are stored, whatever their types: a condition compares them with the row, and other programs write other types.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Observation {
    pub(crate) holder: AttributeValue,
    pub(crate) stored_fence: Option<AttributeValue>,
    pub(crate) beat: Option<AttributeValue>,
    pub(crate) end: Option<AttributeValue>,
}

impl Observation {
    /// Whether that is the same holder under the same grant, whatever its last sign of life.
    pub(crate) fn is_same_stay(&self, other: &Self) -> bool {
        self.holder == other.holder && self.stored_fence == other.stored_fence
    }
}

impl HolderProof {
    /// Why the lease is not held any more, by an item.
    pub(crate) fn lost(&self, lock: LockModel, met: Option<&Item>) -> Option<Lost> {
        let Some(item) = met else { return Some(Lost::Deleted) };
        let record = LockRecord::read(&lock, item);
        match record.holder() {
            Some(holder) if *holder == *self.owner => match record.last_fence() == Some(self.fence) {
                true => None,
                // A late copy of the request for it was granted, after this grant had ended.
                false => Some(Lost::Expired),
            },
            Some(holder) => Some(Lost::Stolen { by: holder.into(), fence: record.last_fence().unwrap_or(0) }),
            None => Some(Lost::Expired),
        }
    }
}

impl LockRecord {
    /// Reads a row; what is of another type than it must be counts as missing, and the conditions of the protocol refuse it.
    pub(crate) fn read(layout: &LockModel, item: &Item) -> Self {
        let digits = |name| item.get(name).and_then(|value| value.as_n().ok());
        let number = |name| digits(name).and_then(|digits| whole_number(digits));
        let end = digits(layout.until).and_then(|end| rounded_up(end));
        let queue = item.get(layout.queue).and_then(|queue| queue.as_l().ok());
        let stored = |name| item.get(name).cloned();
        let observation = |holder| {
            let (stored_fence, beat, end) = (stored(layout.fence), stored(layout.beat), stored(layout.until));
            Box::new(Observation { holder, stored_fence, beat, end })
        };
        Self {
            owner: item.get(layout.owner).map(text),
            fence: number(layout.fence),
            beat: digits(layout.beat).and_then(|beat| rounded_up(beat)),
            until: end.map(|end| layout.unit.to_millis(end)),
            released: item.get(layout.released).map(text),
            is_abandoned: queue.is_some_and(Vec::is_empty),
            queue: queue.map(|entries| entries.iter().map(text).collect()).unwrap_or_default(),
            turn: number(layout.turn),
            observation: stored(layout.owner).or_else(|| queue?.first().cloned()).map(observation),
        }
    }

    /// What a row says that may not be there: then nothing.
    pub(crate) fn of(layout: &LockModel, row: Option<&Item>) -> Self {
        row.map(|row| Self::read(layout, row)).unwrap_or_default()
    }

    /// Who holds it: its owner, or the head of its queue.
    pub(crate) fn holder(&self) -> Option<&str> {
        self.owner.as_deref().or_else(|| self.queue.first().map(String::as_str))
    }

    /// Whether somebody else than `owner` has it.
    pub(crate) fn is_of_another(&self, owner: &str) -> bool {
        self.holder().is_some_and(|holder| holder != owner)
    }

    /// What is seen of the holder.
    pub(crate) fn observation(&self) -> Option<&Observation> {
        self.observation.as_deref()
    }

    /// The entry of the head of the queue, if the head holds the lock.
    pub(crate) fn head(&self) -> Option<&str> {
        self.queue.first().filter(|_| self.owner.is_none()).map(String::as_str)
    }

    /// What is seen of the head of the queue, if the head holds the lock.
    pub(crate) fn head_observation(&self) -> Option<&Observation> {
        self.observation().filter(|_| self.owner.is_none())
    }

    /// Whether the row has a `_beat` that is no number, or the highest one: no heartbeat can be above it.
    pub(crate) fn has_last_beat(&self) -> bool {
        let is_there = self.observation.as_ref().is_some_and(|observation| observation.beat.is_some());
        is_there && self.beat.is_none_or(|beat| beat == u64::MAX)
    }

    /// Where somebody stands in the queue: 0 is its head.
    pub(crate) fn place_of(&self, entry: &str) -> Option<usize> {
        self.queue.iter().position(|other| other == entry)
    }

    /// The fence of the last grant.
    pub(crate) fn last_fence(&self) -> Option<u64> {
        let hold = if self.head().is_some() { GrantKind::Fair } else { GrantKind::Plain };
        self.fence.map(|stored| hold.fence(stored))
    }

    /// The fence of the owner: for a grant that has taken its lease over.
    pub(crate) fn owner_fence(&self) -> Option<u64> {
        self.fence.filter(|_| self.owner.is_some())
    }

    /// Who stands behind the head.
    pub(crate) fn waiters(&self) -> Waiters {
        if self.queue.len() > 1 { Waiters::Some } else { Waiters::None }
    }

    /// When the lease of the holder ends, in epoch milliseconds. A head has it for a ttl since its turn came at least, `ttl` if it does not name
    /// another: an end before that is not the head's own. Another program has left it there, and an enqueue does not know whether it enters an
    /// empty queue, so it cannot remove that.
    pub(crate) fn end(&self, ttl: Duration) -> Option<u64> {
        self.until.max(self.first_end(ttl))
    }

    /// When the lease of a head ends that has not beaten.
    fn first_end(&self, ttl: Duration) -> Option<u64> {
        let ttl = ttl_of(self.head()?).unwrap_or(ttl);
        Some(self.head_since()?.saturating_add(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Since when the head is the head, in epoch milliseconds: nobody writes either of the two while it is.
    pub(crate) fn head_since(&self) -> Option<u64> {
        self.turn.max(self.queue.first().and_then(|head| entered(head)))
    }

    /// Whether the lease of the head of the queue has ended by the clock.
    pub(crate) fn has_dead_head(&self, options: &LeaseOptions) -> bool {
        let ends = options.dead_before().zip(self.end(options.ttl));
        self.head().is_some() && ends.is_some_and(|(moment, end)| end < moment)
    }

    /// How long the lease has still to go by a clock that shows `now`.
    pub(crate) fn remaining(&self, now: u64, ttl: Duration) -> Duration {
        Duration::from_millis(self.end(ttl).unwrap_or(0).saturating_sub(now))
    }
}

/// What somebody who stands in a queue is called there: its owner, and for those who wait for it its ttl, and when it asked to enter.
pub(crate) fn entry(owner: &str, ttl: Duration, now: u64) -> String {
    format!("{owner}/{}/{now:x}", ttl.as_millis())
}

pub(crate) fn ttl_of(entry: &str) -> Option<Duration> {
    let millis = entry.rsplit('/').nth(1)?;
    millis.parse().ok().map(Duration::from_millis)
}

fn entered(entry: &str) -> Option<u64> {
    let (_, millis) = entry.rsplit_once('/')?;
    u64::from_str_radix(millis, 16).ok()
}

fn text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.clone(),
        // Another program's; to the conditions it is there all the same.
        _ => "(not a string)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_the_notations_of_other_programs() {
        let row = |fence: &str, beat: &str| {
            let number = |text: &str| AttributeValue::N(text.to_owned());
            [(LockModel::DEFAULT.fence.to_owned(), number(fence)), (LockModel::DEFAULT.beat.to_owned(), number(beat))]
                .into()
        };
        let read = |fence, beat| {
            let record = LockRecord::read(&LockModel::DEFAULT, &row(fence, beat));
            (record.fence, record.beat)
        };
        // A heartbeat has to be above a beat: so that is rounded up.
        assert_eq!(read("5", "7.5"), (Some(5), Some(8)));
        assert_eq!(read("5", "1000"), (Some(5), Some(1000)));
        assert_eq!(read("5.0", "1e3"), (Some(5), Some(1000)));
        assert_eq!(read("1.2E1", "0.0"), (Some(12), Some(0)));
        assert_eq!(read("5.5", "-1"), (None, None));
    }
}

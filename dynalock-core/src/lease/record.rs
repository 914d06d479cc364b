use std::{sync::Arc, time::Duration};

use aws_sdk_dynamodb::types::AttributeValue;

use super::options::LeaseOptions;
use crate::{
    clock,
    codec::Item,
    model::LockModel,
    number::{rounded_up, whole_number},
};

/// The way in which a lease is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrantKind {
    /// The owner attribute names the holder. The fence attribute is the fence of the lease.
    Plain,
    /// The head of the queue is the holder. The fence attribute is one less than the fence of the
    /// lease. The request that removes the head of the queue raises the fence attribute. A waiter
    /// can therefore enter the queue by the same write whether the queue is empty or not.
    Fair,
}

impl GrantKind {
    /// Returns the fence of a lease whose row has this fence attribute.
    pub(crate) fn fence(self, stored: u64) -> u64 {
        match self {
            Self::Plain => stored,
            Self::Fair => stored.saturating_add(1),
        }
    }

    /// Returns the fence attribute of a row while a lease with this fence is held.
    pub(crate) fn stored_fence(self, fence: u64) -> u64 {
        match self {
            Self::Plain => fence,
            Self::Fair => fence.saturating_sub(1),
        }
    }
}

/// The knowledge about waiters behind the head of a queue. The request that removes the head of a
/// queue is different with and without waiters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiters {
    /// No waiter is known, so the request removes the queue together with its head. DynamoDB
    /// refuses the request if a waiter has entered.
    None,
    Some,
}

/// The lease attributes of a row, parsed.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct LockRecord {
    pub(crate) owner: Option<String>,
    /// The stored fence attribute.
    pub(crate) fence: Option<u64>,
    pub(crate) beat: Option<u64>,
    /// The end of the lease in epoch milliseconds, by the holder's clock.
    pub(crate) until: Option<u64>,
    /// The entries of the queue. The first entry is the head of the queue.
    pub(crate) queue: Vec<QueueEntry>,
    /// `true` if the row has a queue without entries.
    pub(crate) has_empty_queue: bool,
    /// The time in epoch milliseconds at which the head last changed, by the clock of the caller
    /// that removed the previous head.
    pub(crate) turn: Option<u64>,
    observation: Option<Box<Observation>>,
}

/// One entry of a queue, parsed when its row is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueueEntry {
    /// The stored text of the entry.
    pub(crate) owner: Arc<str>,
    /// The ttl of the waiter, or `None` if another program wrote the entry without a ttl.
    pub(crate) ttl: Option<Duration>,
    /// The time of the request in epoch milliseconds, or `None` if another program wrote the entry
    /// without a time.
    pub(crate) entered: Option<u64>,
}

/// The lease attributes of a holder as they were read. A change of these attributes shows that the
/// holder is alive. The fence attribute distinguishes the grant from an earlier grant of the same
/// owner, which a late copy of a request may bring back. Another program may write the end of a
/// lease without a beat.
///
/// The values are kept in their stored types, because conditions compare them with the row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Observation {
    pub(crate) holder: AttributeValue,
    pub(crate) stored_fence: Option<AttributeValue>,
    pub(crate) beat: Option<AttributeValue>,
    pub(crate) end: Option<AttributeValue>,
}

impl Observation {
    /// Returns whether both observations show the same grant of the same holder. The number of the
    /// last heartbeat and the end of the lease may differ.
    pub(crate) fn is_same_grant(&self, other: &Self) -> bool {
        self.holder == other.holder && self.stored_fence == other.stored_fence
    }
}

impl QueueEntry {
    /// Makes the entry of a caller that enters a queue now, from its owner, its ttl and the time of
    /// the request.
    pub(crate) fn new(owner: &str, ttl: Duration, now: u64) -> Self {
        let text = format!("{owner}/{}/{now:x}", ttl.as_millis());
        Self { owner: text.into(), ttl: Some(ttl), entered: Some(now) }
    }

    fn read(value: &AttributeValue) -> Self {
        Self::parse(&text(value))
    }

    pub(crate) fn parse(text: &str) -> Self {
        // The owner may contain slashes, so the parts are taken from the end.
        let mut parts = text.rsplit('/');
        let entered = parts.next().and_then(|millis| u64::from_str_radix(millis, 16).ok());
        let ttl = parts.next().and_then(|millis| millis.parse().ok()).map(Duration::from_millis);
        // A text without a slash contains no time, even if it looks like a hexadecimal number.
        let entered = entered.filter(|_| text.contains('/'));
        Self { owner: text.into(), ttl, entered }
    }
}

impl LockRecord {
    /// Parses a row. An attribute of an unexpected type counts as missing, and the conditions of
    /// the protocol refuse requests on it.
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
            has_empty_queue: queue.is_some_and(Vec::is_empty),
            queue: queue.map(|entries| entries.iter().map(QueueEntry::read).collect()).unwrap_or_default(),
            turn: number(layout.turn),
            observation: stored(layout.owner).or_else(|| queue?.first().cloned()).map(observation),
        }
    }

    /// Parses a row that may be missing.
    pub(crate) fn of(layout: &LockModel, row: Option<&Item>) -> Self {
        row.map(|row| Self::read(layout, row)).unwrap_or_default()
    }

    /// Returns the holder: the owner, or the head of the queue.
    pub(crate) fn holder(&self) -> Option<&str> {
        self.owner.as_deref().or_else(|| self.queue.first().map(|entry| &*entry.owner))
    }

    /// Returns whether a holder other than `owner` has the lock.
    pub(crate) fn is_held_by_another(&self, owner: &str) -> bool {
        self.holder().is_some_and(|holder| holder != owner)
    }

    /// Returns the observation of the holder.
    pub(crate) fn observation(&self) -> Option<&Observation> {
        self.observation.as_deref()
    }

    /// Returns the entry of the head of the queue, if the head holds the lock.
    pub(crate) fn head(&self) -> Option<&QueueEntry> {
        // If the row has an owner, the owner holds the lock. The first entry of the queue then
        // waits.
        self.queue.first().filter(|_| self.owner.is_none())
    }

    /// Returns the head of the queue as this row shows it, or `None` if the head does not hold the
    /// lock.
    pub(crate) fn head_observation(&self) -> Option<&Observation> {
        self.observation().filter(|_| self.owner.is_none())
    }

    /// Returns whether the number of each heartbeat would be too low for the stored beat. The
    /// result is `true` if the beat is not a number, or is the highest number.
    pub(crate) fn has_last_beat(&self) -> bool {
        let is_there = self.observation.as_ref().is_some_and(|observation| observation.beat.is_some());
        // A beat that is not a number cannot be compared, so the condition of each heartbeat is
        // false.
        is_there && self.beat.is_none_or(|beat| beat == u64::MAX)
    }

    /// Returns the position of an entry in the queue. The head has position 0.
    pub(crate) fn place_of(&self, owner: &str) -> Option<usize> {
        self.queue.iter().position(|entry| *entry.owner == *owner)
    }

    /// Returns the fence of the last grant.
    pub(crate) fn last_fence(&self) -> Option<u64> {
        let kind = if self.head().is_some() { GrantKind::Fair } else { GrantKind::Plain };
        self.fence.map(|stored| kind.fence(stored))
    }

    /// Returns the fence of the owner, for a grant that has taken over its lease.
    pub(crate) fn owner_fence(&self) -> Option<u64> {
        self.fence.filter(|_| self.owner.is_some())
    }

    /// Returns whether callers wait behind the head.
    pub(crate) fn waiters(&self) -> Waiters {
        if self.queue.len() > 1 { Waiters::Some } else { Waiters::None }
    }

    /// Returns the end of the holder's lease in epoch milliseconds. `ttl` is used for a queue entry
    /// without a ttl.
    ///
    /// The lease of a head lasts for at least one ttl from the time at which it became the head.
    /// The row may contain an earlier end that another program left. An enqueue cannot remove the
    /// earlier end, because it does not know whether the queue is empty.
    pub(crate) fn end(&self, ttl: Duration) -> Option<u64> {
        // `None` is below each time, so a single known time is the result.
        self.until.max(self.first_end(ttl))
    }

    /// Returns the end of the lease of a head that has sent no heartbeat.
    fn first_end(&self, ttl: Duration) -> Option<u64> {
        let ttl = self.head()?.ttl.unwrap_or(ttl);
        Some(self.head_since()?.saturating_add(clock::millis(ttl)))
    }

    /// Returns the time, in epoch milliseconds, at which the head became the holder. The returned
    /// time does not change while this head holds the lock.
    pub(crate) fn head_since(&self) -> Option<u64> {
        self.turn.max(self.queue.first().and_then(|head| head.entered))
    }

    /// Returns the time, in epoch milliseconds, at which the holder got the lock, or at which it sent
    /// its last heartbeat. The start of a plain lease follows from its end, if the holder has the
    /// same `ttl` as the caller.
    pub(crate) fn granted_at(&self, ttl: Duration) -> Option<u64> {
        match self.head() {
            Some(_) => self.head_since(),
            None => self.until.map(|until| until.saturating_sub(clock::millis(ttl))),
        }
    }

    /// Returns whether the lease of the head has ended by the clock.
    pub(crate) fn has_expired_head(&self, options: &LeaseOptions) -> bool {
        let ends = options.expired_before().zip(self.end(options.ttl));
        // The comparison is strict, like the conditions of the requests.
        self.head().is_some() && ends.is_some_and(|(moment, end)| end < moment)
    }

    /// Returns the time until the lease ends, by a clock that shows `now`.
    pub(crate) fn remaining(&self, now: u64, ttl: Duration) -> Duration {
        Duration::from_millis(self.end(ttl).unwrap_or(0).saturating_sub(now))
    }
}

/// Returns the text of an owner. A value of another type counts as an owner, too, and conditions
/// use its stored value.
fn text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.clone(),
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
        // A heartbeat must be above the stored beat, so that beat is rounded up.
        assert_eq!(read("5", "7.5"), (Some(5), Some(8)));
        assert_eq!(read("5", "1000"), (Some(5), Some(1000)));
        assert_eq!(read("5.0", "1e3"), (Some(5), Some(1000)));
        assert_eq!(read("1.2E1", "0.0"), (Some(12), Some(0)));
        assert_eq!(read("5.5", "-1"), (None, None));
    }

    #[test]
    fn an_entry_is_parsed_once_and_any_value_stays_an_entry() {
        let read = |value| {
            let QueueEntry { owner, ttl, entered } = QueueEntry::read(&value);
            (owner.to_string(), ttl.map(|ttl| ttl.as_millis()), entered)
        };
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let ours = QueueEntry::new("host:1", Duration::from_secs(2), 255);
        assert_eq!(QueueEntry::read(&text(&ours.owner)), ours);
        assert_eq!(read(text("host:1/2000/ff")), ("host:1/2000/ff".to_owned(), Some(2000), Some(255)));
        assert_eq!(read(text("a/b/7/10")), ("a/b/7/10".to_owned(), Some(7), Some(16)));
        assert_eq!(read(text("bob")), ("bob".to_owned(), None, None));
        assert_eq!(read(text("beef")), ("beef".to_owned(), None, None));
        assert_eq!(read(text("bob/soon/x")), ("bob/soon/x".to_owned(), None, None));
        assert_eq!(read(AttributeValue::Bool(true)), ("(not a string)".to_owned(), None, None));
    }
}

use std::{sync::Arc, time::Duration};

use aws_sdk_dynamodb::types::AttributeValue;

use super::{options::LeaseOptions, owner::Owner};
use crate::{
    clock,
    codec::Item,
    error::{Error, Locked, Spent},
    model::LockModel,
    number::{rounded_up, whole_number},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrantKind {
    /// The owner attribute names the holder.
    Plain,
    /// The head of the queue is the holder, and the fence attribute is one less than the holder's
    /// fence.
    Fair,
}

impl GrantKind {
    pub(crate) fn fence(self, stored: u64) -> u64 {
        match self {
            Self::Plain => stored,
            Self::Fair => stored.saturating_add(1),
        }
    }

    pub(crate) fn stored_fence(self, fence: u64) -> u64 {
        match self {
            Self::Plain => fence,
            Self::Fair => fence.saturating_sub(1),
        }
    }
}

/// Says whether a caller has seen waiters behind the head of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiters {
    None,
    Some,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct LockRecord {
    pub(crate) owner: Option<String>,
    pub(crate) fence: Option<u64>,
    pub(crate) beat: Option<u64>,
    /// The end of the lease in epoch milliseconds, by the holder's clock.
    pub(crate) until: Option<u64>,
    pub(crate) queue: Vec<QueueEntry>,
    pub(crate) has_empty_queue: bool,
    /// The time at which the head of the queue last changed, in epoch milliseconds.
    pub(crate) turn: Option<u64>,
    observation: Option<Box<Observation>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueueEntry {
    /// The whole stored text of the queue entry, with the suffix `/ttl/time`.
    pub(crate) owner: Arc<str>,
    /// The ttl of the waiter, or `None` if a program that does not use dynalock wrote the entry
    /// without a ttl.
    pub(crate) ttl: Option<Duration>,
    /// The time of the enter request in epoch milliseconds, or `None` if a program that does not
    /// use dynalock wrote the entry without a time.
    pub(crate) entered: Option<u64>,
}

/// The lease attributes of a holder, with their stored types, as one read has returned them. If two
/// reads return different `Observation`s, the lease was renewed or granted again. `Observation`
/// includes the end of the lease, because a program that does not use dynalock may renew a lease
/// without a heartbeat number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Observation {
    pub(crate) holder: AttributeValue,
    pub(crate) stored_fence: Option<AttributeValue>,
    pub(crate) beat: Option<AttributeValue>,
    pub(crate) end: Option<AttributeValue>,
}

impl Observation {
    pub(crate) fn is_same_grant(&self, other: &Self) -> bool {
        self.holder == other.holder && self.stored_fence == other.stored_fence
    }
}

impl QueueEntry {
    pub(crate) fn new(owner: &str, ttl: Duration, now: u64) -> Self {
        let text = format!("{owner}/{}/{now:x}", ttl.as_millis());
        Self { owner: text.into(), ttl: Some(ttl), entered: Some(now) }
    }

    pub(crate) fn parse(text: &str) -> Self {
        // The owner text may contain slashes, so the parser reads the ttl and the time from the end
        // of the queue entry.
        let mut parts = text.rsplit('/');
        let entered = parts.next().and_then(|millis| u64::from_str_radix(millis, 16).ok());
        let ttl = parts.next().and_then(|millis| millis.parse().ok()).map(Duration::from_millis);
        // A queue entry without a slash contains no time, even if the text of the entry looks like
        // a hexadecimal number.
        let entered = entered.filter(|_| text.contains('/'));
        Self { owner: text.into(), ttl, entered }
    }
}

impl LockRecord {
    /// If a number attribute or the queue attribute has an unexpected type, the attribute counts as
    /// missing. An owner attribute that is not a string still counts as an owner.
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
            queue: queue
                .map(|entries| entries.iter().map(|entry| QueueEntry::parse(&text(entry))).collect())
                .unwrap_or_default(),
            turn: number(layout.turn),
            observation: stored(layout.owner).or_else(|| queue?.first().cloned()).map(observation),
        }
    }

    pub(crate) fn of(layout: &LockModel, row: Option<&Item>) -> Self {
        row.map(|row| Self::read(layout, row)).unwrap_or_default()
    }

    pub(crate) fn holder(&self) -> Option<&str> {
        self.owner.as_deref().or_else(|| self.queue.first().map(|entry| &*entry.owner))
    }

    pub(crate) fn is_held_by_another(&self, owner: &str) -> bool {
        self.holder().is_some_and(|holder| holder != owner)
    }

    pub(crate) fn observation(&self) -> Option<&Observation> {
        self.observation.as_deref()
    }

    pub(crate) fn head(&self) -> Option<&QueueEntry> {
        // If the row of the lock has an owner, the head of the queue does not hold the lock.
        self.queue.first().filter(|_| self.owner.is_none())
    }

    pub(crate) fn head_observation(&self) -> Option<&Observation> {
        self.observation().filter(|_| self.owner.is_none())
    }

    /// Returns `true` if no heartbeat number can be higher than the stored heartbeat attribute.
    pub(crate) fn has_last_beat(&self) -> bool {
        let is_there = self.observation.as_ref().is_some_and(|observation| observation.beat.is_some());
        // If the stored heartbeat attribute is not a number, the condition of each new heartbeat is
        // false.
        is_there && self.beat.is_none_or(|beat| beat == u64::MAX)
    }

    /// The head of the queue has place 0.
    pub(crate) fn place_of(&self, owner: &str) -> Option<usize> {
        self.queue.iter().position(|entry| *entry.owner == *owner)
    }

    pub(crate) fn last_fence(&self) -> Option<u64> {
        let kind = if self.head().is_some() { GrantKind::Fair } else { GrantKind::Plain };
        self.fence.map(|stored| kind.fence(stored))
    }

    pub(crate) fn waiters(&self) -> Waiters {
        if self.queue.len() > 1 { Waiters::Some } else { Waiters::None }
    }

    /// Returns the end of the holder's lease in epoch milliseconds. If a program that does not use
    /// dynalock wrote a queue entry without a ttl, `ttl` replaces the missing ttl.
    ///
    /// For the head of a queue, the returned time is at least one ttl after the head became the
    /// holder, even if the stored end is earlier or missing.
    pub(crate) fn end(&self, ttl: Duration) -> Option<u64> {
        let ttl_of = |head: &QueueEntry| clock::millis(head.ttl.unwrap_or(ttl));
        let first_end = self.head().and_then(|head| Some(self.head_since()?.saturating_add(ttl_of(head))));
        // `None` is lower than any `Some`, so the maximum of a time and `None` is the time.
        self.until.max(first_end)
    }

    /// Returns the time, in epoch milliseconds, at which the head of the queue became the holder.
    pub(crate) fn head_since(&self) -> Option<u64> {
        self.turn.max(self.queue.first().and_then(|head| head.entered))
    }

    /// Returns the time of the grant, in epoch milliseconds. For a holder without a queue entry,
    /// the returned time is the end of the lease minus `ttl`, so each heartbeat changes the
    /// returned time.
    pub(crate) fn granted_at(&self, ttl: Duration) -> Option<u64> {
        match self.head() {
            Some(_) => self.head_since(),
            None => self.until.map(|until| until.saturating_sub(clock::millis(ttl))),
        }
    }

    /// Returns `false` under `Expiry::Observed`, which compares no clocks.
    pub(crate) fn has_expired_head(&self, options: &LeaseOptions) -> bool {
        let ends = options.expired_before().zip(self.end(options.ttl));
        // The comparison of times is strict, like the comparison in the conditions of requests.
        self.head().is_some() && ends.is_some_and(|(moment, end)| end < moment)
    }

    /// `now` is the current time in epoch milliseconds.
    pub(crate) fn remaining(&self, now: u64, ttl: Duration) -> Duration {
        Duration::from_millis(self.end(ttl).unwrap_or(0).saturating_sub(now))
    }

    pub(crate) fn locked(
        &self,
        table: &Arc<str>,
        name: Option<Arc<str>>,
        options: &LeaseOptions,
        spent: Spent,
    ) -> Error {
        Error::Locked(Box::new(Locked {
            table: Arc::clone(table),
            name,
            owner: Owner::parse(self.holder().unwrap_or_default()).label.into(),
            fence: self.last_fence().unwrap_or(0),
            remaining: self.remaining(options.passed(), options.ttl),
            spent,
        }))
    }
}

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
        // A new heartbeat number must be above the stored number, so a stored number with a
        // fraction is rounded up.
        assert_eq!(read("5", "7.5"), (Some(5), Some(8)));
        assert_eq!(read("5", "1000"), (Some(5), Some(1000)));
        assert_eq!(read("5.0", "1e3"), (Some(5), Some(1000)));
        assert_eq!(read("1.2E1", "0.0"), (Some(12), Some(0)));
        assert_eq!(read("5.5", "-1"), (None, None));
    }

    #[test]
    fn an_entry_is_parsed_once_and_any_value_stays_an_entry() {
        let read = |value| {
            let QueueEntry { owner, ttl, entered } = QueueEntry::parse(&super::text(&value));
            (owner.to_string(), ttl.map(|ttl| ttl.as_millis()), entered)
        };
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let ours = QueueEntry::new("host:1", Duration::from_secs(2), 255);
        assert_eq!(QueueEntry::parse(&ours.owner), ours);
        assert_eq!(read(text("host:1/2000/ff")), ("host:1/2000/ff".to_owned(), Some(2000), Some(255)));
        assert_eq!(read(text("a/b/7/10")), ("a/b/7/10".to_owned(), Some(7), Some(16)));
        assert_eq!(read(text("bob")), ("bob".to_owned(), None, None));
        assert_eq!(read(text("beef")), ("beef".to_owned(), None, None));
        assert_eq!(read(text("bob/soon/x")), ("bob/soon/x".to_owned(), None, None));
        assert_eq!(read(AttributeValue::Bool(true)), ("(not a string)".to_owned(), None, None));
    }
}

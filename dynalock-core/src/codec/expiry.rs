use std::time::Duration;

use super::Item;
use crate::{
    clock,
    model::{ItemExpiry, Model},
    number,
};

/// Says whether a read returns expired items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpiredItems {
    Absent,
    Included,
}

/// The times to live that count as expired, in epoch seconds, from `first` to `last` (both
/// included).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExpiredTimes {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Returns the time to live of an item in epoch seconds, or `None` if the item has no valid time in
/// `attribute`.
pub(crate) fn expiry_time(item: &Item, attribute: &str) -> Option<u64> {
    number::rounded_up(item.get(attribute)?.as_n().ok()?)
}

impl ItemExpiry {
    pub(crate) const DEFAULT: Self = Self { max_skew: Duration::from_secs(2), clock_offset: 0 };

    /// DynamoDB does not delete an item whose time to live is more than five years ago, for example
    /// 0 (the start of 1970).
    const OLDEST: Duration = Duration::from_hours(5 * 365 * 24);

    /// Returns `true` if the item has expired. An item has expired when its expiry time plus the
    /// allowed clock skew has passed. An expiry time of more than five years ago does not count.
    pub(crate) fn is_over(&self, model: &Model, item: &Item) -> bool {
        let Some(expires) = model.times.expires else { return false };
        expiry_time(item, expires.name).is_some_and(|time| self.times().contain(time))
    }

    pub(crate) fn alive(&self, model: &Model, item: Option<Item>) -> Option<Item> {
        item.filter(|item| !self.is_over(model, item))
    }

    pub(crate) fn times(&self) -> ExpiredTimes {
        let now = Duration::from_millis(clock::epoch_millis().saturating_add_signed(self.clock_offset));
        ExpiredTimes::at(now.saturating_sub(self.max_skew))
    }
}

impl ExpiredTimes {
    fn at(now: Duration) -> Self {
        let last = now.as_secs().saturating_sub(1);
        Self { first: now.saturating_sub(ItemExpiry::OLDEST).as_secs(), last }
    }

    pub(crate) fn contain(self, time: u64) -> bool {
        (self.first..=self.last).contains(&time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_over_after_its_second_and_for_five_years() {
        const YEARS: u64 = 5 * 365 * 24 * 3600;
        let now = ExpiredTimes::at(Duration::from_millis(1_800_000_000_999));
        for (time, is_over) in [
            (1_800_000_001, false),
            (1_800_000_000, false),
            (1_799_999_999, true),
            (1_800_000_000 - YEARS, true),
            (1_800_000_000 - YEARS - 1, false),
            (0, false),
        ] {
            assert_eq!(now.contain(time), is_over, "{time}");
        }
        assert!(!ExpiredTimes::at(Duration::ZERO).contain(1));
    }
}

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::{
    codec::Item,
    error::Lost,
    expression::Holder,
    model::LockModel,
    number::{rounded_up, whole_number},
};

/// What a row says about its lock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Mark {
    pub(crate) owner: Option<String>,
    pub(crate) fence: Option<u64>,
    pub(crate) beat: Option<u64>,
    /// Epoch milliseconds, by the holder's clock.
    pub(crate) until: Option<u64>,
    /// The same as it is stored.
    pub(crate) end: Option<String>,
    pub(crate) released: Option<String>,
}

impl Holder {
    /// Why the lease is not held any more, by an item.
    pub(crate) fn lost(&self, lock: LockModel, met: Option<&Item>) -> Option<Lost> {
        let Some(item) = met else { return Some(Lost::Deleted) };
        let mark = Mark::read(&lock, item);
        match mark.owner {
            Some(owner) if *owner == *self.owner => None,
            Some(owner) => Some(Lost::Stolen { by: owner.into(), fence: mark.fence.unwrap_or(0) }),
            None => Some(Lost::Expired),
        }
    }
}

impl Mark {
    /// Reads a row; what is of another type than it must be counts as missing, and the conditions of the protocol refuse it.
    pub(crate) fn read(layout: &LockModel, item: &Item) -> Self {
        let text = |name| {
            item.get(name).map(|value: &AttributeValue| match value {
                AttributeValue::S(text) => text.clone(),
                // Another program's; to the conditions it is there all the same.
                _ => "(not a string)".to_owned(),
            })
        };
        let digits = |name| item.get(name).and_then(|value| value.as_n().ok());
        let number = |name| digits(name).and_then(|digits| whole_number(digits));
        Self {
            owner: text(layout.owner),
            fence: number(layout.fence),
            beat: number(layout.beat),
            end: digits(layout.until).cloned(),
            until: digits(layout.until).and_then(|end| rounded_up(end)).map(|end| layout.unit.to_millis(end)),
            released: text(layout.released),
        }
    }

    /// Whether somebody else than `owner` has it.
    pub(crate) fn is_of_another(&self, owner: &str) -> bool {
        self.owner.as_deref().is_some_and(|holder| holder != owner)
    }

    /// How long the lease has still to go by a clock that shows `now`.
    pub(crate) fn remaining(&self, now: u64) -> Duration {
        Duration::from_millis(self.until.unwrap_or(0).saturating_sub(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::locks::LAYOUT;

    #[test]
    fn numbers_are_read_in_the_notations_of_other_programs() {
        let row = |fence: &str, beat: &str| {
            let number = |text: &str| AttributeValue::N(text.to_owned());
            [(LAYOUT.fence.to_owned(), number(fence)), (LAYOUT.beat.to_owned(), number(beat))].into()
        };
        let read = |fence, beat| {
            let mark = Mark::read(&LAYOUT, &row(fence, beat));
            (mark.fence, mark.beat)
        };
        assert_eq!(read("5", "1000"), (Some(5), Some(1000)));
        assert_eq!(read("5.0", "1e3"), (Some(5), Some(1000)));
        assert_eq!(read("1.2E1", "0.0"), (Some(12), Some(0)));
        assert_eq!(read("5.5", "-1"), (None, None));
    }
}

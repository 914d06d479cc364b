use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::codec::Item;

/// The names of a lock's attributes, and the unit of its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) owner: &'static str,
    pub(crate) fence: &'static str,
    pub(crate) beat: &'static str,
    pub(crate) until: &'static str,
    pub(crate) released: &'static str,
}

impl Layout {
    pub(crate) const DEFAULT: Self =
        Self { owner: "_owner", fence: "_fence", beat: "_beat", until: "_until", released: "_released" };
}

/// What a row says about its lock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Mark {
    pub(super) owner: Option<String>,
    pub(super) fence: Option<u64>,
    pub(super) beat: Option<u64>,
    /// Epoch milliseconds, by the holder's clock.
    pub(super) until: Option<u64>,
    pub(super) released: Option<String>,
}

impl Mark {
    /// Reads a row; what is of another type than it must be counts as missing, and the conditions of the protocol refuse it.
    pub(super) fn read(layout: &Layout, item: &Item) -> Self {
        let text = |name| item.get(name).and_then(|value: &AttributeValue| value.as_s().ok()).cloned();
        let number = |name| item.get(name).and_then(|value| value.as_n().ok()).and_then(|digits| digits.parse().ok());
        Self {
            owner: text(layout.owner),
            fence: number(layout.fence),
            beat: number(layout.beat),
            until: number(layout.until),
            released: text(layout.released),
        }
    }

    /// Whether somebody else than `owner` has it.
    pub(super) fn is_of_another(&self, owner: &str) -> bool {
        self.owner.as_deref().is_some_and(|holder| holder != owner)
    }

    /// How long the lease has still to go by a clock that shows `now`.
    pub(super) fn remaining(&self, now: u64) -> Duration {
        Duration::from_millis(self.until.unwrap_or(0).saturating_sub(now))
    }
}

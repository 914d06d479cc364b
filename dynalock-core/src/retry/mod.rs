//! The requests of one call: when a request is sent again, and when the call ends.
//!
//! An [`Attempts`] is one call of the public API, over all its requests. It owns the deadline and the count of attempts, and does
//! what a [`Failure`](crate::operation::Failure) asks for. `write` reads failed conditions.

mod attempts;
mod backoff;
mod budget;
mod connection;
mod pace;
mod pending;
mod thread;

pub(crate) use attempts::{AfterConflict, Answered, Attempts, mismatch, tables, unexpected_condition};
pub(crate) use backoff::Backoff;
pub(crate) use connection::Connection;
pub use pace::Pace;
pub(crate) use pending::PendingGuard;
pub(crate) use thread::Thread;

use std::time::Duration;

use crate::error::InvalidSetting;

/// How long, how often and how fast a call tries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) deadline: Duration,
    pub(crate) attempt_timeout: Duration,
    pub(crate) attempts: Option<u32>,
    pub(crate) pace: Pace,
}

impl Limits {
    /// The time that each request for several items has in addition, for each item after the first. The request is a
    /// BatchGetItem, a TransactGetItems or a TransactWriteItems. 100 items on a slow server take seconds, and a request
    /// that is given up and sent again takes as long again.
    const MORE_PER_ITEM: Duration = Duration::from_millis(20);

    /// The time that the first attempt of a request for so many items may take.
    pub(crate) fn attempt_timeout_of(&self, items: usize) -> Duration {
        let more = u32::try_from(items.saturating_sub(1)).unwrap_or(u32::MAX);
        self.attempt_timeout.saturating_add(Self::MORE_PER_ITEM.saturating_mul(more))
    }

    /// Those of a request that is not sent again.
    pub(crate) fn of_one_request() -> Self {
        Self { attempts: Some(1), ..Self::default() }
    }

    /// Whether a request can be sent within them.
    fn check(&self) -> Result<(), InvalidSetting> {
        if self.attempts == Some(0) {
            Err(InvalidSetting::Attempts)
        } else if self.attempt_timeout.is_zero() {
            Err(InvalidSetting::AttemptTimeout)
        } else {
            Ok(())
        }
    }

    /// Those of a transaction: to learn what became of a request whose reply was lost, DynamoDB may have to be asked again after 5 seconds.
    pub(crate) fn of_transaction() -> Self {
        Self { deadline: Duration::from_secs(10), ..Self::default() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(5),
            attempt_timeout: Duration::from_secs(1),
            attempts: None,
            pace: Pace::default(),
        }
    }
}

mod attempts;
mod backoff;
mod call_cost;
mod connection;
mod limit_methods;
mod local_waiters;
mod pace;
mod pending;
mod retry_budget;
mod runtime_thread;

pub(crate) use attempts::{AfterConflict, Answered, Attempts, mismatch, unexpected_condition};
pub(crate) use backoff::Backoff;
pub(crate) use call_cost::{CallCost, ConnectionMeter, Purpose, TableMeter};
pub(crate) use connection::{Connection, HeartbeatThread};
pub(crate) use limit_methods::limit_methods;
pub(crate) use local_waiters::{LocalWaiter, RowSource, SeenRow};
pub use pace::Pace;
pub(crate) use pending::{PendingGuard, RowId};

use std::time::Duration;

use crate::error::InvalidSetting;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) deadline: Duration,
    pub(crate) attempt_timeout: Duration,
    pub(crate) attempts: Option<u32>,
    pub(crate) budget: Option<u64>,
    pub(crate) pace: Option<Pace>,
}

impl Limits {
    /// The additional timeout for each item after the first item of a request. A slow server may
    /// need several seconds for a request with 100 items.
    const MORE_PER_ITEM: Duration = Duration::from_millis(20);

    pub(crate) fn attempt_timeout_of(&self, items: usize) -> Duration {
        let more = u32::try_from(items.saturating_sub(1)).unwrap_or(u32::MAX);
        self.attempt_timeout.saturating_add(Self::MORE_PER_ITEM.saturating_mul(more))
    }

    pub(crate) fn of_creation(self) -> Self {
        let attempt_timeout = self.attempt_timeout.max(Duration::from_secs(10));
        Self { deadline: Duration::from_mins(1), attempt_timeout, ..self }
    }

    pub(crate) fn of_one_request() -> Self {
        Self { attempts: Some(1), ..Self::default() }
    }

    fn check(&self) -> Result<(), InvalidSetting> {
        if self.attempts == Some(0) {
            Err(InvalidSetting::Attempts)
        } else if self.attempt_timeout.is_zero() {
            Err(InvalidSetting::AttemptTimeout)
        } else {
            Ok(())
        }
    }

    /// The deadline of a transaction is longer than the deadline of a write of one item, because
    /// DynamoDB may take 5 seconds to report the outcome of a transaction after a lost reply.
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
            budget: None,
            pace: None,
        }
    }
}

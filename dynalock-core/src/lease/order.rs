use std::time::Duration;

use tokio::sync::watch;

use super::{
    acquire::call::AcquireMode,
    options::Wait,
    queue::{QueueStatus, enter::QueueLimits},
};
use crate::{
    error::{Error, InvalidSetting},
    retry::Limits,
};

/// The default order: any of several waiters may get the lock next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnyOrder;

/// The marker type of a request for any one of several leases.
/// [`Repository::lock_any`](crate::Repository::lock_any) returns such a request. A request with the
/// marker `AnyOne` has no method `fair`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnyOne;

/// The first-come, first-served order of waiters. [`Acquire::fair`](crate::lock::Acquire::fair) and
/// [`LeaseRequest::fair`](crate::lock::LeaseRequest::fair) select the order `Fair`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fair {
    pub(crate) most: usize,
}

impl Default for Fair {
    fn default() -> Self {
        Self { most: 100 }
    }
}

/// The order in which waiting callers get a lock: [`AnyOrder`] or [`Fair`].
pub trait LockOrder: sealed::Sealed {}

pub(crate) mod sealed {
    use super::Fair;

    /// Only the types of the library implement `Sealed`, so other crates cannot implement
    /// [`LockOrder`](super::LockOrder).
    pub trait Sealed: Send + 'static {
        fn fair(&self) -> Option<Fair>;
    }
}

impl LockOrder for AnyOrder {}
impl LockOrder for Fair {}

impl sealed::Sealed for AnyOrder {
    fn fair(&self) -> Option<Fair> {
        None
    }
}

impl sealed::Sealed for Fair {
    fn fair(&self) -> Option<Fair> {
        Some(*self)
    }
}

/// Returns whether a call acquires all its locks by one request or through queues. `transaction`
/// contains the limits of a transaction for several locks, and `progress` receives the status of a
/// call that waits in a queue.
pub(crate) fn acquire_mode(
    order: &impl LockOrder,
    wait: Wait,
    transaction: Limits,
    progress: watch::Sender<Option<QueueStatus>>,
) -> Result<AcquireMode, Error> {
    let Some(fair) = order.fair() else { return Ok(AcquireMode::All(transaction)) };
    let most = match (fair.most, wait) {
        (0, _) => return Err(Error::InvalidSetting(InvalidSetting::MaxQueue)),
        // A call that does not wait may enter only an empty queue.
        (_, Wait::No | Wait::For(Duration::ZERO)) => 1,
        // The row of a lock has no room for more than 10,000 queue entries. DynamoDB refuses a
        // condition with a very large list index.
        (most, Wait::For(_) | Wait::Forever) => most.min(10_000),
    };
    Ok(AcquireMode::Queue(QueueLimits { most, transaction }, progress))
}

use std::time::Duration;

use super::options::Wait;
use crate::error::{Error, InvalidSetting};

/// The default order: any of several waiters may get the lock next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnyOrder;

/// The marker type of a request for any one of several leases, which
/// [`Repository::lock_any`](crate::Repository::lock_any) returns. A request with the marker
/// `AnyOne` has no method `fair`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnyOne;

/// The first-come, first-served order of waiters. [`Acquire::fair`](crate::lock::Acquire::fair) and
/// [`LeaseRequest::fair`](crate::lock::LeaseRequest::fair) select the order `Fair`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fair {
    pub(crate) most: usize,
}

impl Fair {
    /// A call that does not wait may enter only an empty queue.
    pub(crate) fn most(self, wait: Wait) -> Result<usize, Error> {
        match (self.most, wait) {
            (0, _) => Err(Error::InvalidSetting(InvalidSetting::MaxQueue)),
            (_, Wait::No | Wait::For(Duration::ZERO)) => Ok(1),
            // The row of a lock has no room for more than 10,000 queue entries. DynamoDB refuses a
            // condition with a very large list index.
            (most, Wait::For(_) | Wait::Forever) => Ok(most.min(10_000)),
        }
    }
}

impl Default for Fair {
    fn default() -> Self {
        Self { most: 100 }
    }
}

use super::options::Wait;
use crate::error::{Error, InvalidSetting};

/// Of several who wait for a lock, any may be next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnyOrder;

/// Of several locks, any will do: [`Repository::lock_any`](crate::Repository::lock_any).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnyOne;

/// Whoever came first is next: [`Acquire::fair`](crate::lock::Acquire::fair) and [`Lock::fair`](crate::lock::LeaseRequest::fair).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fair {
    pub(crate) most: usize,
}

impl Fair {
    /// How many may stand in the queue, for one who waits so long: who does not wait at all stands nowhere but at its head.
    pub(crate) fn most(self, wait: Wait) -> Result<usize, Error> {
        match (self.most, wait) {
            (0, _) => Err(Error::InvalidSetting(InvalidSetting::MaxQueue)),
            (_, Wait::No) => Ok(1),
            // More do not fit in a row; and DynamoDB refuses a place that is beyond all measure.
            (most, Wait::For(_) | Wait::Forever) => Ok(most.min(10_000)),
        }
    }
}

impl Default for Fair {
    fn default() -> Self {
        Self { most: 100 }
    }
}

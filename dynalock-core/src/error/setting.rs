use std::time::Duration;

/// A setting with a value outside the allowed range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSetting {
    /// The ttl of a lease is shorter than a millisecond or longer than 366 days.
    #[error("the ttl of a lease is between a millisecond and a year, and this one is {ttl:?}; set another `ttl`")]
    #[non_exhaustive]
    Ttl {
        /// The ttl that the caller has set.
        ttl: Duration,
    },
    /// The caller has called `refresh` with zero as the shortest interval, or with a shortest
    /// interval that is longer than the longest interval.
    #[error(
        "a waiter cannot refresh at least every {max:?} and at most every {min:?}; set `refresh` to a shortest interval above zero and up to the longest one"
    )]
    #[non_exhaustive]
    Refresh {
        /// The lower bound of the refresh interval, as set by the caller.
        min: Duration,
        /// The upper bound of the refresh interval, as set by the caller.
        max: Duration,
    },
    /// The caller has called `acquire_all` or `lock_any` with an empty list.
    #[error("no lock is named; name at least one")]
    NoLocks,
    /// The caller has set `max_queue(0)`. With `max_queue(0)`, no caller could enter the queue of
    /// the lock.
    #[error("`max_queue(0)` leaves no place in the queue; allow at least 1")]
    MaxQueue,
    /// The caller has set `concurrency(0)`. With `concurrency(0)`, the call could not begin any
    /// request.
    #[error("`concurrency(0)` lets no request begin; allow at least 1")]
    Concurrency,
    /// The caller has set `attempts(0)`. With `attempts(0)`, the call could not send any request.
    #[error("`attempts(0)` allows no request; allow at least 1")]
    Attempts,
    /// The caller has set `attempt_timeout(Duration::ZERO)`. An attempt timeout of zero leaves no
    /// time for an answer from DynamoDB.
    #[error("an attempt timeout of zero leaves no time for an answer; set a longer `attempt_timeout`")]
    AttemptTimeout,
    /// The caller has called `segments` with 0, or with a larger number than DynamoDB allows.
    #[error("a scan has 1 to 1000000 segments, and this one has {segments}; set another number of `segments`")]
    #[non_exhaustive]
    Segments {
        /// The number of segments that the caller has set.
        segments: u32,
    },
}

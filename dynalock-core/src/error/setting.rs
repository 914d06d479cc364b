use std::time::Duration;

/// A setting of a call that is out of its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSetting {
    /// The ttl of a lease is shorter than a millisecond or longer than 366 days.
    #[error("the ttl of a lease is between a millisecond and a year, and this one is {ttl:?}; set another `ttl`")]
    #[non_exhaustive]
    Ttl {
        /// The ttl that was set.
        ttl: Duration,
    },
    /// `refresh` was called with a shortest interval of zero, or with a shortest interval above the
    /// longest one.
    #[error(
        "a waiter cannot refresh at least every {max:?} and at most every {min:?}; set `refresh` to a shortest interval above zero and up to the longest one"
    )]
    #[non_exhaustive]
    Refresh {
        /// The shortest interval that was set.
        min: Duration,
        /// The longest interval that was set.
        max: Duration,
    },
    /// `acquire_all` or `lock_any` was called with an empty list.
    #[error("no lock is named; name at least one")]
    NoLocks,
    /// `max_queue(0)` was set. With a limit of 0, no caller could enter the queue.
    #[error("`max_queue(0)` leaves no place in the queue; allow at least 1")]
    MaxQueue,
    /// `concurrency(0)` was set. With a limit of 0, no request could begin.
    #[error("`concurrency(0)` lets no request begin; allow at least 1")]
    Concurrency,
    /// `attempts(0)` was set. With a limit of 0, the call could not send a request.
    #[error("`attempts(0)` allows no request; allow at least 1")]
    Attempts,
    /// `attempt_timeout(Duration::ZERO)` was set. A timeout of zero leaves no time for an answer.
    #[error("an attempt timeout of zero leaves no time for an answer; set a longer `attempt_timeout`")]
    AttemptTimeout,
    /// `segments` was called with 0, or with a larger number than DynamoDB allows.
    #[error("a scan has 1 to 1000000 segments, and this one has {segments}; set another number of `segments`")]
    #[non_exhaustive]
    Segments {
        /// The number of segments that was set.
        segments: u32,
    },
}

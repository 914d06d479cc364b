use std::time::Duration;

/// When a lease that its holder does not renew may be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expiry {
    /// When the moment that its holder wrote down, and `max_skew` after it, is past by this machine's clock. One request takes a dead lease
    /// over, also from a process that has just started. Two holders are ruled out while the clocks of all machines differ by at most
    /// `max_skew`; where they differ by more than that and the time of a lease between two heartbeats, the fence alone protects.
    Clock {
        /// The most by which two clocks differ.
        max_skew: Duration,
    },
    /// When it has been watched for a whole ttl without a sign of life, on this machine's monotonic clock: no clocks are compared, and a
    /// takeover takes a ttl of watching. All users of the lock must have the same ttl.
    Observed,
}

impl Default for Expiry {
    /// [`Expiry::Clock`] with two seconds.
    fn default() -> Self {
        Self::Clock { max_skew: Duration::from_secs(2) }
    }
}

/// How long to wait for a lock that somebody else holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Wait {
    /// Not at all.
    No,
    /// So long.
    For(Duration),
    /// Until it is granted.
    #[default]
    Forever,
}

impl From<Duration> for Wait {
    fn from(duration: Duration) -> Self {
        Self::For(duration)
    }
}

/// The terms of a lease.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) ttl: Duration,
    pub(super) expiry: Expiry,
    pub(super) heartbeat: bool,
    pub(super) max_hold: Option<Duration>,
    /// How much this machine's clock is set forward, for tests.
    pub(super) skew_millis: i64,
}

impl Terms {
    pub(super) const TTL: Duration = Duration::from_secs(20);

    /// The longest ttl: clocks cannot add up more than they can show.
    pub(super) const LONGEST: Duration = Duration::from_hours(366 * 24);

    /// Now, in epoch milliseconds.
    pub(super) fn now(&self) -> u64 {
        crate::clock::epoch_millis().saturating_add_signed(self.skew_millis)
    }

    /// When a lease ends that is asked for now.
    pub(super) fn until(&self) -> u64 {
        self.now().saturating_add(u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Default for Terms {
    fn default() -> Self {
        Self { ttl: Self::TTL, expiry: Expiry::default(), heartbeat: true, max_hold: None, skew_millis: 0 }
    }
}

use std::time::Duration;

use crate::{
    error::{Error, InvalidSetting},
    model::{LockModel, Model},
};

/// The rule that decides when a lease without heartbeats may be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expiry {
    /// The lease has ended when its stored end plus `max_skew` is past by this machine's clock. A
    /// process that has just started can take over an expired lease with one request. There are
    /// never two holders while the clocks of all machines differ by at most `max_skew`. If the
    /// clocks differ by more than `max_skew` plus the time of a lease between two heartbeats, only
    /// the fence protects.
    Clock {
        /// The largest difference between the clocks of two machines.
        max_skew: Duration,
    },
    /// The lease has ended when a waiting caller has seen no change of the lease for a whole ttl.
    /// The caller measures the ttl by its monotonic clock, and compares the owner, the number of
    /// the last heartbeat and the end of the lease. The rule does not compare the clocks of two
    /// machines. A takeover takes one ttl of waiting. All users of the lock must have the same ttl.
    /// A call that writes an item does not wait to observe the lease. After a holder crashes, the
    /// writes of other callers are refused until a caller acquires the lease.
    Observed,
}

impl Default for Expiry {
    /// Returns [`Expiry::Clock`] with a `max_skew` of two seconds.
    fn default() -> Self {
        Self::Clock { max_skew: Duration::from_secs(2) }
    }
}

/// The limit of the wait for a lock that another caller holds. By default, a call waits for twice
/// the ttl plus the allowed clock skew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// The call tries once and does not wait.
    No,
    /// The call waits at most for the given time.
    For(Duration),
    /// The call waits until the lock is granted.
    Forever,
}

impl From<Duration> for Wait {
    fn from(duration: Duration) -> Self {
        Self::For(duration)
    }
}

/// The way in which a lock is renewed while it is held. `true` converts to [`Task`](Self::Task),
/// and `false` to [`Off`](Self::Off).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Heartbeat {
    /// A task on the runtime that acquired the lock. The task cannot run while that runtime is
    /// blocked, so blocking work belongs on `spawn_blocking`.
    #[default]
    Task,
    /// A thread with a separate runtime. Blocking work in the caller's runtime cannot delay this
    /// thread. All locks of a [`Locks`](crate::Locks) or a [`Repository`](crate::Repository) and
    /// its clones share one thread. The thread starts with the first lock and ends with the last
    /// lock. The thread also releases the guards that are dropped. If the thread cannot be started,
    /// the call that acquires the lock fails with [`Error::Unavailable`](crate::Error::Unavailable)
    /// and sends nothing.
    ///
    /// The thread has its own client, made from the configuration of the program's client. Both
    /// clients share the HTTP client in that configuration, together with its open connections. A
    /// connection that belongs to a blocked runtime does not answer. After a timeout, the heartbeat
    /// is sent again on another connection. Both clients also share the credentials provider. If
    /// the provider waits for the blocked runtime, heartbeats wait as well.
    ///
    /// A stuck worker keeps its lock as long as its process lives, unless a `max_hold` is set. Do
    /// not use `Thread` in tests that pause tokio's clock, because the heartbeat thread ignores the
    /// paused clock.
    Thread,
    /// The library sends no heartbeats. The holder renews the lock itself.
    Off,
}

impl From<bool> for Heartbeat {
    fn from(on: bool) -> Self {
        if on { Self::Task } else { Self::Off }
    }
}

/// The options of a lease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseOptions {
    pub(crate) ttl: Duration,
    pub(crate) expiry: Expiry,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) max_hold: Option<Duration>,
    /// The bounds of the interval between two reads of a waiter, or `None` for the default bounds.
    pub(crate) refresh: Option<Refresh>,
    /// The offset of this machine's clock, for tests.
    pub(crate) skew_millis: i64,
}

/// The shortest and the longest interval between two reads of a waiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refresh {
    pub(crate) min: Duration,
    pub(crate) max: Duration,
}

impl LeaseOptions {
    pub(crate) const TTL: Duration = LockModel::DEFAULT.ttl;

    /// Returns the lease options for the items of a type.
    pub(crate) fn of(model: &Model) -> Self {
        Self { ttl: model.lock.map_or(Self::TTL, |lock| lock.ttl.min(Self::LONGEST)), ..Self::default() }
    }

    /// The longest ttl. A clock could not show the end of a longer lease.
    pub(crate) const LONGEST: Duration = Duration::from_hours(366 * 24);

    /// The shortest ttl. The ends of leases are stored in milliseconds.
    const SHORTEST: Duration = Duration::from_millis(1);

    /// Returns an error if the ttl is too short or too long, or if the bounds of the refresh allow
    /// no interval.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !(Self::SHORTEST..=Self::LONGEST).contains(&self.ttl) {
            return Err(Error::InvalidSetting(InvalidSetting::Ttl { ttl: self.ttl }));
        }
        match self.refresh {
            Some(Refresh { min, max }) if min.is_zero() || min > max => {
                Err(Error::InvalidSetting(InvalidSetting::Refresh { min, max }))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Returns the default wait, which is long enough to take over the lease of a crashed holder.
    pub(crate) fn default_wait(&self) -> Wait {
        let skew = match self.expiry {
            Expiry::Clock { max_skew } => max_skew,
            Expiry::Observed => Duration::ZERO,
        };
        Wait::For(self.ttl.saturating_mul(2).saturating_add(skew))
    }

    /// Returns the current time by this machine's clock, in epoch milliseconds.
    pub(crate) fn now(&self) -> u64 {
        crate::clock::epoch_millis().saturating_add_signed(self.skew_millis)
    }

    /// Returns a time in epoch milliseconds, or `None` if clocks are not compared. A lease that
    /// ended before this time may be taken over.
    pub(crate) fn expired_before(&self) -> Option<u64> {
        match self.expiry {
            Expiry::Clock { max_skew } => {
                let skew = u64::try_from(max_skew.as_millis()).unwrap_or(u64::MAX);
                Some(self.now().saturating_sub(skew))
            }
            Expiry::Observed => None,
        }
    }

    /// Returns a time, in epoch milliseconds, that is past by the clocks of all callers. Other
    /// callers can take over only a lease that ends before this time.
    pub(crate) fn passed(&self) -> u64 {
        self.expired_before().unwrap_or_else(|| self.now())
    }

    /// Returns the end of a lease that is acquired or renewed now, in epoch milliseconds.
    pub(crate) fn until(&self) -> u64 {
        self.now().saturating_add(u64::try_from(self.ttl.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Default for LeaseOptions {
    fn default() -> Self {
        Self {
            ttl: Self::TTL,
            expiry: Expiry::default(),
            heartbeat: Heartbeat::default(),
            max_hold: None,
            refresh: None,
            skew_millis: 0,
        }
    }
}

use std::time::Duration;

use crate::{
    clock,
    error::{Error, InvalidSetting},
    model::{LockModel, Model},
};

/// The rule that decides when a lease without heartbeats may be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expiry {
    /// A lease has ended when its stored end plus `max_skew` is past by the clock of the machine
    /// that wants to take the lease over. A process that has just started can take over an expired
    /// lease by one request. While the clocks of all machines differ by at most `max_skew`, a lock
    /// never has two holders. If the clocks differ by more, two callers may believe to hold a lock,
    /// and only systems that check the fence are protected.
    Clock {
        /// The largest difference between the clocks of two machines.
        max_skew: Duration,
    },
    /// A lease has ended when a waiting caller has seen no change of the lease for a whole ttl. The
    /// waiting caller measures the ttl by its monotonic clock, and compares the owner, the number
    /// of the last heartbeat and the end of the lease in each read. The clocks of two machines are
    /// never compared. To take over a lease, a caller must therefore wait for one ttl. All users of
    /// the lock must have the same ttl. A call that writes an item does not wait to observe the
    /// lease. If a holder crashes, the writes of other callers are therefore refused until a caller
    /// acquires the lease.
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
    /// The call tries to acquire the lock once, and does not wait.
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

/// Where the heartbeats of a lock are sent from, or that none are sent. `true` converts to
/// [`Task`](Self::Task), and `false` to [`Off`](Self::Off).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Heartbeat {
    /// A task on the runtime that acquired the lock sends the heartbeats. The task cannot run while
    /// blocking code occupies that runtime, so blocking work belongs on `spawn_blocking`.
    #[default]
    Task,
    /// A thread with a separate runtime sends the heartbeats. Blocking work in the caller's runtime
    /// cannot delay this thread. All locks of a [`Locks`](crate::Locks) or a
    /// [`Repository`](crate::Repository) and its clones share one thread. The thread starts with
    /// the first lock and ends with the last lock. The thread also releases the locks of dropped
    /// guards. If the thread cannot be started, the call that acquires the lock fails with
    /// [`Error::Unavailable`](crate::Error::Unavailable) and sends nothing.
    ///
    /// The thread has its own client, made from the configuration of the program's client. The
    /// client of the thread and the client of the program share the HTTP client, together with its
    /// open connections. A connection that belongs to a blocked runtime gives no answers. A
    /// heartbeat on a connection of a blocked runtime is sent again on another connection after a
    /// timeout. The two clients also share the credentials provider. If the credentials provider
    /// waits for the blocked runtime, the heartbeats also wait.
    ///
    /// With `Thread`, a worker that makes no progress keeps its lock as long as its process lives,
    /// unless a `max_hold` is set. Do not use `Thread` in tests that pause tokio's clock, because
    /// the heartbeat thread ignores the paused clock.
    Thread,
    /// The library sends no heartbeats in the background. The holder renews the lock, for example
    /// by `extend`.
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
        clock::epoch_millis().saturating_add_signed(self.skew_millis)
    }

    /// Returns a time in epoch milliseconds: a lease that ended before this time may be taken over.
    /// Returns `None` under [`Expiry::Observed`], which does not compare clocks.
    pub(crate) fn expired_before(&self) -> Option<u64> {
        match self.expiry {
            Expiry::Clock { max_skew } => Some(self.now().saturating_sub(clock::millis(max_skew))),
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
        self.now().saturating_add(clock::millis(self.ttl))
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

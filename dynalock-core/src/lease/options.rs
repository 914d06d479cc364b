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
    /// A caller compares the stored end of a lease with the clock of its own machine. The lease has
    /// ended if the clock is more than `max_skew` past the stored end. A process that has just
    /// started can take over an expired lease by one request. While the clocks of all machines
    /// differ by at most `max_skew`, a lock never has two holders. If the clocks of two machines
    /// differ by more than `max_skew`, two callers may hold the same lock at the same time. Each
    /// holder can pass its fence to the other systems that it writes to. Such a system can refuse a
    /// request whose fence is lower than a fence that it has already seen. This check works even if
    /// clocks differ by more than `max_skew`.
    Clock {
        /// The largest allowed difference between the clocks of two machines.
        max_skew: Duration,
    },
    /// Under `Observed`, a lease has ended when a waiting caller has seen no change of the lease
    /// for a whole ttl. The waiting caller measures the ttl by its monotonic clock. A lease has
    /// changed if a read shows another owner, another fence, another heartbeat number or another
    /// end of the lease. The library never compares the clocks of two machines under `Observed`. To
    /// take over a lease under `Observed`, a caller must wait for one ttl. Under `Observed`, all
    /// users of a lock must set the same ttl. Under `Observed`, a write never takes over the lease
    /// of a crashed holder, because a write does not wait for a whole ttl. DynamoDB refuses the
    /// writes of other callers until one caller has acquired and released the lease.
    Observed,
}

impl Default for Expiry {
    /// Returns [`Expiry::Clock`] with a `max_skew` of two seconds.
    fn default() -> Self {
        Self::Clock { max_skew: Duration::from_secs(2) }
    }
}

/// The limit of the wait for a lock that another caller holds. The default limit is the allowed
/// clock skew plus twice the ttl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// The call tries to acquire the lock once, and does not wait.
    No,
    /// The call waits for the lock for at most the given duration.
    For(Duration),
    /// The call waits until the lock is granted.
    Forever,
}

impl From<Duration> for Wait {
    fn from(duration: Duration) -> Self {
        Self::For(duration)
    }
}

/// The sender of the heartbeats of a lock: a task, a thread, or nothing. The value `true` converts
/// to [`Task`](Self::Task), and the value `false` converts to [`Off`](Self::Off).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Heartbeat {
    /// A task on the runtime that acquired the lock sends the heartbeats. The heartbeat task cannot
    /// run while blocking code occupies the runtime, so blocking code must run in `spawn_blocking`.
    #[default]
    Task,
    /// A thread with a separate runtime sends the heartbeats. Blocking work in the caller's runtime
    /// cannot delay the heartbeat thread. One heartbeat thread serves all locks of a
    /// [`Locks`](crate::Locks) or a [`Repository`](crate::Repository), including the locks of
    /// clones. The heartbeat thread starts with the acquire of the first lock, and ends after the
    /// release of the last lock. The heartbeat thread releases the locks of dropped guards. If the
    /// heartbeat thread cannot be started, the call that acquires the lock fails with
    /// [`Error::Unavailable`](crate::Error::Unavailable) and sends nothing.
    ///
    /// The heartbeat thread has its own SDK client, made from the configuration of the program's
    /// SDK client. If the program sets an HTTP client in the configuration of its SDK client, the
    /// heartbeat thread shares this HTTP client and its open connections. A shared HTTP connection
    /// gives no answers while the runtime that drives the connection is blocked. If a heartbeat
    /// gets no answer before the timeout of the request, the heartbeat thread repeats the heartbeat
    /// on another connection. The SDK clients of the program and of the heartbeat thread share one
    /// credentials provider. If the credentials provider waits for the program's runtime, a blocked
    /// runtime of the program delays the heartbeats.
    ///
    /// With `Thread`, a worker that makes no progress holds its lock until the process ends, unless
    /// a `max_hold` is set. Do not use `Thread` in tests that pause tokio's clock, because the
    /// heartbeat thread ignores the paused clock.
    Thread,
    /// The library sends no heartbeats in the background. If the holder does not renew the lock,
    /// for example by `extend`, the lock ends after its ttl.
    Off,
}

impl From<bool> for Heartbeat {
    fn from(on: bool) -> Self {
        if on { Self::Task } else { Self::Off }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseOptions {
    pub(crate) ttl: Duration,
    pub(crate) expiry: Expiry,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) max_hold: Option<Duration>,
    /// With `None`, a waiter uses the default intervals between two reads.
    pub(crate) refresh: Option<Refresh>,
    /// A number of milliseconds that tests add to the clock of this machine.
    pub(crate) skew_millis: i64,
}

/// The shortest and the longest interval between two reads by a waiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refresh {
    pub(crate) min: Duration,
    pub(crate) max: Duration,
}

impl LeaseOptions {
    pub(crate) const TTL: Duration = LockModel::DEFAULT.ttl;

    pub(crate) fn of(model: &Model) -> Self {
        Self { ttl: model.lock.map_or(Self::TTL, |lock| lock.ttl.min(Self::LONGEST)), ..Self::default() }
    }

    /// With a ttl much longer than a year, the end of a lease could exceed the range of a clock.
    pub(crate) const LONGEST: Duration = Duration::from_hours(366 * 24);

    /// The smallest unit in which the library stores the end of a lease is one millisecond.
    const SHORTEST: Duration = Duration::from_millis(1);

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

    /// The default wait is long enough to take over the lease of a crashed holder.
    pub(crate) fn default_wait(&self) -> Wait {
        let skew = match self.expiry {
            Expiry::Clock { max_skew } => max_skew,
            Expiry::Observed => Duration::ZERO,
        };
        Wait::For(self.ttl.saturating_mul(2).saturating_add(skew))
    }

    pub(crate) fn now(&self) -> u64 {
        clock::epoch_millis().saturating_add_signed(self.skew_millis)
    }

    /// Returns a time in epoch milliseconds. Another caller can take over a lease that ended before
    /// this time. Returns `None` under [`Expiry::Observed`], which compares no clocks.
    pub(crate) fn expired_before(&self) -> Option<u64> {
        match self.expiry {
            Expiry::Clock { max_skew } => Some(self.now().saturating_sub(clock::millis(max_skew))),
            Expiry::Observed => None,
        }
    }

    /// Returns the time, in epoch milliseconds, from which [`Error::Locked`] counts the remaining
    /// time of a lease. Under [`Expiry::Clock`], a takeover is possible only `max_skew` after the
    /// end of the lease, so `passed` returns the current time minus `max_skew`.
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

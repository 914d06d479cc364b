use std::time::Duration;

use crate::{
    error::{Error, InvalidSetting},
    model::{LockModel, Model},
};

/// Decides when a lease that its holder does not renew may be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expiry {
    /// A lease has ended when its stored end plus `max_skew` is past by this machine's clock. One request takes over an expired lease, even
    /// if the process has just started. There are no two holders while the clocks of all machines differ by at most `max_skew`. If the clocks
    /// differ by more than `max_skew` and the time of a lease between two heartbeats, only the fence protects.
    Clock {
        /// The largest difference between two clocks.
        max_skew: Duration,
    },
    /// A lease has ended when a waiting caller has seen no sign of life for a whole ttl of its monotonic clock: owner, beat and end stayed the
    /// same. No clocks are compared, and a takeover takes one ttl of waiting. All users of the lock must have the same ttl. Writers of items do
    /// not wait and observe: the lease of a dead process denies their writes until another caller acquires the lease.
    Observed,
}

impl Default for Expiry {
    /// [`Expiry::Clock`] with two seconds.
    fn default() -> Self {
        Self::Clock { max_skew: Duration::from_secs(2) }
    }
}

/// The limit of the wait for a lock that another caller holds. Without one, a call waits for twice the ttl plus the
/// allowed clock skew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// The call tries once and does not wait.
    No,
    /// The call waits for this time at most.
    For(Duration),
    /// The call waits until the lock is granted.
    Forever,
}

impl From<Duration> for Wait {
    fn from(duration: Duration) -> Self {
        Self::For(duration)
    }
}

/// Renews a lock while it is held. `true` stands for [`Task`](Self::Task), and `false` for [`Off`](Self::Off).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Heartbeat {
    /// A task on the runtime that acquired the lock. The task cannot run while that runtime is blocked, so blocking work belongs on
    /// `spawn_blocking`.
    #[default]
    Task,
    /// A thread with a runtime of its own, which blocking work cannot starve. All locks of a [`Locks`](crate::Locks) or a
    /// [`Repository`](crate::Repository) and its clones share one thread. It starts with the first lock, ends with the last one, and also
    /// releases the guards that are dropped. If the thread cannot be started, the call that acquires the lock fails with
    /// [`Error::Unavailable`](crate::Error::Unavailable) and sends nothing.
    ///
    /// The thread has a client of its own, made from the configuration of yours. An HTTP client in that configuration is shared, together with
    /// its open connections. A connection that the blocked runtime has opened does not answer, and the heartbeat is sent again on another
    /// connection after a timeout. A provider of credentials is shared, too. If it waits on the blocked runtime, heartbeats wait for it.
    ///
    /// A stuck worker keeps its lock as long as its process lives, unless there is a `max_hold`. The thread does not work under tokio's paused
    /// clock, because it has another clock.
    Thread,
    /// No heartbeat. The holder renews the lock itself.
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
    /// The time by which tests set this machine's clock forward.
    pub(crate) skew_millis: i64,
}

impl LeaseOptions {
    pub(crate) const TTL: Duration = LockModel::DEFAULT.ttl;

    /// The options of the leases on items of a type.
    pub(crate) fn of(model: &Model) -> Self {
        Self { ttl: model.lock.map_or(Self::TTL, |lock| lock.ttl.min(Self::LONGEST)), ..Self::default() }
    }

    /// The longest ttl. A clock could not show the end of a longer lease.
    pub(crate) const LONGEST: Duration = Duration::from_hours(366 * 24);

    /// The shortest ttl, because the ends of leases are stored in milliseconds.
    const SHORTEST: Duration = Duration::from_millis(1);

    /// Refuses a ttl that no lease can have.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match (Self::SHORTEST..=Self::LONGEST).contains(&self.ttl) {
            true => Ok(()),
            false => Err(Error::InvalidSetting(InvalidSetting::Ttl { ttl: self.ttl })),
        }
    }

    /// The wait of a call without a limit of its own: long enough to survive a holder that has died, and never for ever.
    pub(crate) fn default_wait(&self) -> Wait {
        let skew = match self.expiry {
            Expiry::Clock { max_skew } => max_skew,
            Expiry::Observed => Duration::ZERO,
        };
        Wait::For(self.ttl.saturating_mul(2).saturating_add(skew))
    }

    /// Now, in epoch milliseconds.
    pub(crate) fn now(&self) -> u64 {
        crate::clock::epoch_millis().saturating_add_signed(self.skew_millis)
    }

    /// The moment, in epoch milliseconds, before which a lease must have ended to be taken over. `None` if clocks are not compared.
    pub(crate) fn expired_before(&self) -> Option<u64> {
        match self.expiry {
            Expiry::Clock { max_skew } => {
                let skew = u64::try_from(max_skew.as_millis()).unwrap_or(u64::MAX);
                Some(self.now().saturating_sub(skew))
            }
            Expiry::Observed => None,
        }
    }

    /// The moment, in epoch milliseconds, that is past by the clocks of all callers. No other caller may take over a lease that ends later.
    pub(crate) fn passed(&self) -> u64 {
        self.expired_before().unwrap_or_else(|| self.now())
    }

    /// The end of a lease that is acquired or renewed now, in epoch milliseconds.
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
            skew_millis: 0,
        }
    }
}

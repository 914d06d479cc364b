use std::time::Duration;

use crate::{
    error::{Error, InvalidSetting},
    model::{LockModel, Model},
};

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
    /// When it has been watched for a whole ttl without a sign of life (owner, beat and end stayed the same), on this machine's monotonic clock: no clocks are compared, and a
    /// takeover takes a ttl of watching. All users of the lock must have the same ttl. Writers of items do not watch: a lease of a holder that has
    /// died keeps them out until somebody asks for it and takes it over.
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

/// What renews a lock while it is held: `true` is a task, `false` nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Heartbeat {
    /// A task on the runtime on which the lock was granted. It cannot run while that runtime is blocked: blocking work belongs on
    /// `spawn_blocking` then.
    #[default]
    Task,
    /// A thread with a runtime of its own, which blocking work cannot starve: one for all locks of a [`Locks`](crate::Locks) or a
    /// [`Repository`](crate::Repository) and its clones, started for the first and ended with the last. It releases what is dropped, too. If it
    /// cannot be started, the call that asks for the lock fails with [`Error::Unavailable`](crate::Error::Unavailable) and sends nothing.
    ///
    /// It has a client with connections of its own, made from the configuration of yours. An HTTP client that you have set there is shared, and
    /// so are connections that it keeps open: one that the blocked runtime has opened does not answer, and the heartbeat is sent again on another
    /// after a timeout. A provider of credentials is shared too; one that is being asked on a blocked runtime makes heartbeats wait.
    ///
    /// A stuck worker keeps its lock like this for as long as its process lives, unless there is a `max_hold`. Under tokio's paused clock it does not
    /// work: the thread has another clock.
    Thread,
    /// Nothing: the holder renews it by itself.
    Off,
}

impl From<bool> for Heartbeat {
    fn from(on: bool) -> Self {
        if on { Self::Task } else { Self::Off }
    }
}

/// The terms of a lease.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeaseOptions {
    pub(crate) ttl: Duration,
    pub(crate) expiry: Expiry,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) max_hold: Option<Duration>,
    /// How much this machine's clock is set forward, for tests.
    pub(crate) skew_millis: i64,
}

impl LeaseOptions {
    pub(crate) const TTL: Duration = LockModel::DEFAULT.ttl;

    /// Those of the items of a type.
    pub(crate) fn of(model: &Model) -> Self {
        Self { ttl: model.lock.map_or(Self::TTL, |lock| lock.ttl.min(Self::LONGEST)), ..Self::default() }
    }

    /// The longest ttl: clocks cannot add up more than they can show.
    pub(crate) const LONGEST: Duration = Duration::from_hours(366 * 24);

    /// The shortest ttl: ends of leases are stored in milliseconds.
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

    /// The moment that is past for everybody, in epoch milliseconds: a lease that ends later is nobody else's yet.
    pub(crate) fn passed(&self) -> u64 {
        self.expired_before().unwrap_or_else(|| self.now())
    }

    /// When a lease ends that is asked for now.
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

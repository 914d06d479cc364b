use std::{fmt, sync::Arc, time::Duration};

use super::Spent;

/// A lock or lease that another caller holds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Locked {
    /// The name of the table that stores the lock.
    pub table: Arc<str>,
    /// The name of the lock. For a lease on an item, `name` is the key of the item, or `None` if
    /// the type has no `#[dynalock(show_key)]`.
    pub name: Option<Arc<str>>,
    /// The label of the holder. If the holder has no label, `owner` is the random nonce of the
    /// holder.
    pub owner: Arc<str>,
    /// The fence of the holder. The fence is 0 if a program that does not use dynalock has written
    /// the lock's row without a fence.
    pub fence: u64,
    /// The duration until another caller can acquire the lock, unless the holder renews the lease.
    /// `remaining` is the time until the end of the lease, by the clock of the caller's machine.
    /// With [`Expiry::Clock`](crate::Expiry::Clock), `remaining` includes the maximum clock skew
    /// (`max_skew`) after the end of the lease.
    pub remaining: Duration,
    /// The number of requests that the failed call sent, and the duration of the failed call.
    pub spent: Spent,
}

/// The reason why a caller no longer holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// Another caller has acquired the lock.
    #[error("`{by}` has acquired it, with fence {fence}")]
    #[non_exhaustive]
    Stolen {
        /// The owner that now holds the lock.
        by: Arc<str>,
        /// The fence of the new holder.
        fence: u64,
    },
    /// The lease has ended. The guard did not renew the lease in time, an operator has broken the
    /// lock, or the guard held the lock for longer than `max_hold`.
    #[error("its lease has ended")]
    Expired,
    /// The guard has released the lock: in a call of `release`, in a commit, in a delete of the
    /// leased item, or when the guard was dropped.
    #[error("it was released")]
    Released,
    /// The lock's row no longer exists in the table.
    #[error("its row was deleted")]
    Deleted,
    /// The lease has ended because DynamoDB has answered no heartbeat before the end of the ttl.
    #[error("its lease has ended, since no heartbeat was answered: {0}")]
    Unreachable(Arc<str>),
}

impl Lost {
    /// Returns `true` if the stored lease has certainly ended. After [`Lost::Unreachable`], the
    /// lock's row may still contain the lease.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Stolen { .. } | Self::Expired | Self::Released | Self::Deleted => true,
            Self::Unreachable(_) => false,
        }
    }
}

impl fmt::Display for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, name, owner, fence, remaining, spent } = self;
        match &**owner {
            "" => f.write_str("another caller")?,
            owner => write!(f, "`{owner}`")?,
        }
        match name {
            Some(name) => write!(f, " holds the lock `{name}` in table `{table}`")?,
            None => write!(f, " holds the lock in table `{table}`")?,
        }
        if *fence > 0 {
            write!(f, " under fence {fence}")?;
        }
        if !remaining.is_zero() {
            write!(f, ", for {remaining:.1?} more unless it is renewed")?;
        }
        write!(f, " ({spent})")
    }
}

use std::{fmt, sync::Arc, time::Duration};

use super::Spent;

/// A lock that another caller holds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Locked {
    /// The table.
    pub table: Arc<str>,
    /// The name of the lock. For a lease on an item, the name is the key of the item, or `None` if
    /// the type has no `#[dynalock(show_key)]`.
    pub name: Option<Arc<str>>,
    /// The label of the holder, or the nonce of the holder if it has no label.
    pub owner: Arc<str>,
    /// The fence of the holder's grant. The fence is 0 if another program wrote the row without a
    /// fence.
    pub fence: u64,
    /// The time until another caller can acquire the lock, unless the holder renews the lease. The
    /// remaining time ends when the lease ends by the clock of this machine. Under
    /// [`Expiry::Clock`](crate::Expiry::Clock), the remaining time ends `max_skew` later.
    pub remaining: Duration,
    /// The number of requests that the call sent, and the time that the call took.
    pub spent: Spent,
}

/// The reason why a lock is no longer held.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// Another caller holds the lock.
    #[error("`{by}` has acquired it, with fence {fence}")]
    #[non_exhaustive]
    Stolen {
        /// The new holder.
        by: Arc<str>,
        /// The fence of the new grant.
        fence: u64,
    },
    /// The lease has ended, for one of three reasons: the guard did not renew the lease in time, an
    /// operator broke the lock, or the guard was held for longer than its `max_hold`.
    #[error("its lease has ended")]
    Expired,
    /// The guard released the lock: by a `release`, by a `commit`, or when the guard was dropped.
    #[error("it was released")]
    Released,
    /// The row of the lock was deleted.
    #[error("its row was deleted")]
    Deleted,
    /// The lease has ended because DynamoDB answered no heartbeat.
    #[error("its lease has ended, since no heartbeat was answered: {0}")]
    Unreachable(Arc<str>),
}

impl Lost {
    /// Returns whether the grant has certainly ended. With [`Lost::Unreachable`], the row may still
    /// contain the grant.
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
        // If another program wrote the row, it may have neither an owner nor a fence.
        if *fence > 0 {
            write!(f, " under fence {fence}")?;
        }
        if !remaining.is_zero() {
            write!(f, ", for {remaining:.1?} more unless it is renewed")?;
        }
        write!(f, " ({spent})")
    }
}

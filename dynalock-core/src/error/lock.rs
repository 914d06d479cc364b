use std::{fmt, sync::Arc, time::Duration};

use super::Spent;

/// A lock that somebody else holds.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Locked {
    /// The table.
    pub table: Arc<str>,
    /// The name of the lock. For a lease of an item it is the item's key, if the type has `#[dynalock(show_key)]`, and `None` otherwise.
    pub name: Option<Arc<str>>,
    /// Who holds it: the name that it gave itself, and the nonce of its grant.
    pub owner: Arc<str>,
    /// The fence of its grant; 0 if the row does not say, as those of other programs may.
    pub fence: u64,
    /// How long until somebody else can have it, if its lease is not renewed: to the end of the lease by this machine's clock, and under
    /// [`Expiry::Clock`](crate::Expiry::Clock) for `max_skew` after that.
    pub remaining: Duration,
    /// The requests that the call sent, and the time that it took.
    pub spent: Spent,
}

/// Why a lock is held no more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// Somebody else has it.
    #[error("`{by}` has taken it, under fence {fence}")]
    #[non_exhaustive]
    Stolen {
        /// Who.
        by: Arc<str>,
        /// The fence of the new grant.
        fence: u64,
    },
    /// The lease has ended: it was not renewed in time, somebody took it away, or its longest time was reached.
    #[error("its lease has ended")]
    Expired,
    /// The row is gone.
    #[error("its row was deleted")]
    Deleted,
    /// DynamoDB could not be reached for so long that the lease has ended.
    #[error("its lease has ended, since no heartbeat was answered: {0}")]
    Unreachable(Arc<str>),
}

impl fmt::Display for Locked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, name, owner, fence, remaining, spent } = self;
        match &**owner {
            "" => f.write_str("somebody")?,
            owner => write!(f, "`{owner}`")?,
        }
        match name {
            Some(name) => write!(f, " holds the lock `{name}` in table `{table}`")?,
            None => write!(f, " holds the lock in table `{table}`")?,
        }
        // The row of another program may have neither.
        if *fence > 0 {
            write!(f, " under fence {fence}")?;
        }
        if !remaining.is_zero() {
            write!(f, ", for {remaining:.1?} more unless it is renewed")?;
        }
        write!(f, " ({spent})")
    }
}

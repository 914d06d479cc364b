use std::{fmt, time::Duration};

/// What is written down about a lock.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockInfo {
    /// Its name.
    pub name: String,
    /// The namespace that it is in: [`Locks::namespace`](crate::Locks::namespace).
    pub namespace: Option<String>,
    /// Who holds it; nobody if nothing.
    pub owner: Option<String>,
    /// How many wait for it in its fair queue.
    pub waiting: usize,
    /// The fence of the last grant.
    pub fence: u64,
    /// How long the lease still lasts by this machine's clock, if it is not renewed; zero if it is free.
    pub remaining: Duration,
    /// What a holder has left in it.
    pub payload: Option<Vec<u8>>,
}

impl fmt::Debug for LockInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, owner, waiting, fence, remaining, .. } = self;
        let mut shown = f.debug_struct("LockInfo");
        shown.field("name", name).field("owner", owner).field("waiting", waiting).field("fence", fence);
        shown.field("remaining", remaining);
        shown.finish_non_exhaustive()
    }
}

/// Somebody in the fair queue of a lock, as an operator sees it: [`Locks::waiters`](crate::Locks::waiters).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiter {
    /// How many are served before: 0 holds the lock.
    pub position: usize,
    /// The name that it gave itself, and what makes its place its own: [`lock`](crate::lock) says what.
    pub owner: String,
}

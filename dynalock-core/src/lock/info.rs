use std::{fmt, time::Duration};

/// What is written down about a lock.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockInfo {
    /// Its name.
    pub name: String,
    /// Who holds it; nobody if nothing.
    pub owner: Option<String>,
    /// The fence of the last grant.
    pub fence: u64,
    /// How long the lease still lasts by this machine's clock, if it is not renewed; zero if it is free.
    pub remaining: Duration,
    /// What a holder has left in it.
    pub payload: Option<Vec<u8>>,
}

impl fmt::Debug for LockInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, owner, fence, remaining, .. } = self;
        let mut shown = f.debug_struct("LockInfo");
        shown.field("name", name).field("owner", owner).field("fence", fence).field("remaining", remaining);
        shown.finish_non_exhaustive()
    }
}

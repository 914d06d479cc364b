//! The fixture of leases and locks: their duration, their callers, and processes that die.

use std::time::Duration;

use dynalock::{Error, LeaseGuard, LockGuard, Lockable, Locks, Wait, lock::LockInfo};

use super::{Shop, secs};

/// The duration of a lease without a heartbeat in these tests.
pub(crate) const TTL: Duration = secs(10);

/// The maximum difference between clocks.
pub(crate) const SKEW: Duration = secs(2);

impl Shop {
    /// The locks of a new table: through the client behind the faults, and through the plain
    /// client.
    pub(crate) async fn locks(&self) -> (Locks, Locks) {
        let [mine, others] =
            [&self.client, &self.plain].map(|client| Locks::new(client, "locks").ttl(TTL).wait(Wait::Forever));
        others.create_table().await.unwrap();
        (mine, others)
    }

    /// Returns another process with the same locks, behind its own faults.
    pub(crate) fn another_process(&self) -> (Self, Locks) {
        let shop = self.another_client();
        let locks = Locks::new(&shop.client, "locks").ttl(TTL).wait(Wait::Forever);
        (shop, locks)
    }

    /// Makes a shop without faults, and its locks.
    pub(crate) async fn with_locks() -> (Self, Locks, Locks) {
        let shop = Self::without_faults();
        let (mine, others) = shop.locks().await;
        (shop, mine, others)
    }
}

/// A lock by name or the lease of an item.
pub(crate) trait Granted {
    /// Forgets the grant like a process that dies, and returns its fence.
    fn forget(self) -> u64;
}

impl Granted for LockGuard {
    fn forget(self) -> u64 {
        self.detach().fence()
    }
}

impl<T: Lockable> Granted for LeaseGuard<T> {
    fn forget(self) -> u64 {
        self.detach().fence()
    }
}

/// Makes the process of this grant die: neither heartbeats nor a release follow. Returns the fence.
pub(crate) fn kill(granted: impl Granted) -> u64 {
    granted.forget()
}

/// Acquires a lock, with or without a place in its queue.
pub(crate) async fn acquire(locks: &Locks, name: &str, is_fair: bool) -> Result<LockGuard, Error> {
    let request = locks.acquire(name);
    if is_fair { request.fair().await } else { request.await }
}

/// Returns the row of a lock. Asserts that it names this holder and this fence.
pub(crate) async fn row_of(locks: &Locks, held: &LockGuard) -> LockInfo {
    let row = locks.inspect(held.name()).await.unwrap().expect("the lock has a row");
    assert_eq!((row.owner.as_deref(), row.fence), (Some(held.owner()), held.fence()), "{held:?}");
    row
}

//! The fixture of leases and locks: how long they last, who asks for them, and processes that die.

use std::time::Duration;

use dynalock::{Error, LeaseGuard, LockGuard, Lockable, Locks, Wait, lock::LockInfo};

use super::{Shop, secs};

/// How long a lease lasts in these tests without a heartbeat.
pub(crate) const TTL: Duration = secs(10);

/// How far clocks may differ.
pub(crate) const SKEW: Duration = secs(2);

impl Shop {
    /// The locks of a table of their own: through the client behind the faults, and through the plain client.
    pub(crate) async fn locks(&self) -> (Locks, Locks) {
        let [mine, others] =
            [&self.client, &self.plain].map(|client| Locks::new(client, "locks").ttl(TTL).wait(Wait::Forever));
        others.create_table().await.unwrap();
        (mine, others)
    }

    /// Another process with the same locks, behind faults of its own.
    pub(crate) fn another_process(&self) -> (Self, Locks) {
        let shop = self.another_client();
        let locks = Locks::new(&shop.client, "locks").ttl(TTL).wait(Wait::Forever);
        (shop, locks)
    }

    /// A shop without faults, and its locks.
    pub(crate) async fn with_locks() -> (Self, Locks, Locks) {
        let shop = Self::without_faults();
        let (mine, others) = shop.locks().await;
        (shop, mine, others)
    }
}

/// A lock by name or the lease of an item.
pub(crate) trait Granted {
    /// Forgets the grant, as a process that dies does, and returns its fence.
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

/// The process of this grant dies: no heartbeat follows, and no release. Returns the fence.
pub(crate) fn kill(granted: impl Granted) -> u64 {
    granted.forget()
}

/// Asks for a lock, with or without a place in its queue.
pub(crate) async fn acquire(locks: &Locks, name: &str, is_fair: bool) -> Result<LockGuard, Error> {
    let request = locks.acquire(name);
    if is_fair { request.fair().await } else { request.await }
}

/// What the row of a lock says. It names this holder and this fence.
pub(crate) async fn row_of(locks: &Locks, held: &LockGuard) -> LockInfo {
    let row = locks.inspect(held.name()).await.unwrap().expect("the lock has a row");
    assert_eq!((row.owner.as_deref(), row.fence), (Some(held.owner()), held.fence()), "{held:?}");
    row
}

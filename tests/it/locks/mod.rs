//! Locks by name, on paused time: what holders and waiters see, whatever happens to their requests.

mod asked_again;
mod blocked;
mod ends;
mod exclusion;
mod expiry;
mod losses;
mod lost;
mod no_thread;
mod pace;
mod resumed;
mod stale;
mod storm;
mod together;
mod unusual;

use std::time::Duration;

use dynalock::{LockGuard, Locks, local::Fault};

use crate::support::{Shop, secs};

/// How long a lock lasts in these tests without a heartbeat.
const TTL: Duration = secs(10);

/// How far clocks are taken to differ.
const SKEW: Duration = secs(2);

impl Shop {
    /// The locks of a table of their own, by the client that faults stand in front of, and by everybody else's.
    async fn locks(&self) -> (Locks, Locks) {
        let [mine, others] = [&self.client, &self.plain].map(|client| Locks::new(client, "locks").ttl(TTL));
        others.create_table().await.unwrap();
        (mine, others)
    }
}

/// A process that dies: it never beats again, and releases nothing.
fn kill(held: LockGuard) {
    drop(held.detach());
}

/// Loses the reply to the first write of `report`, and breaks the lock before the write with this number.
fn break_before(shop: &Shop, others: &Locks, nth: usize) {
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    let others = others.clone();
    shop.rival.before("UpdateItem", nth, move || async move {
        let fence = others.inspect("report").await.unwrap().unwrap().fence;
        assert!(others.break_lock("report", fence).await.unwrap());
    });
}

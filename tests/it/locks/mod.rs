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

use dynalock::{Held, Locks};

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
fn kill(held: Held) {
    drop(held.detach());
}

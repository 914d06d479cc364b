//! The fair queue, on paused time: who came first is served first, whatever happens to the requests.

#![expect(clippy::disallowed_methods, reason = "the clock is paused")]

mod cost;
mod cut_off;
mod deaths;
mod dying;
mod faults;
mod foreign;
mod items;
mod leftovers;
mod model;
mod order;
mod pace;
mod soak;
mod storm;
mod together;
mod waiting;

use std::time::Duration;

use dynalock::{LockGuard, Locks};

use crate::support::{Shop, secs};

/// How long a lock lasts in these tests without a heartbeat.
const TTL: Duration = secs(10);

/// How far clocks are taken to differ.
const SKEW: Duration = secs(2);

impl Shop {
    /// The locks of a table of their own, by the client that faults stand in front of, and by everybody else's.
    async fn queues(&self) -> (Locks, Locks) {
        let [mine, others] = [&self.client, &self.plain].map(|client| Locks::new(client, "locks").ttl(TTL));
        others.create_table().await.unwrap();
        (mine, others)
    }
}

/// A process that dies: it never beats again, and releases nothing.
fn kill(held: LockGuard) {
    drop(held.detach());
}

/// The attributes of a lock's row beside its name.
async fn attributes(shop: &Shop, name: &str) -> Vec<String> {
    let row = shop.raw("locks", "name").get(name).await.unwrap();
    let mut names: Vec<_> = row.into_keys().filter(|attribute| attribute != "name").collect();
    names.sort_unstable();
    names
}

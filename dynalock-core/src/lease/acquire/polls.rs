//! The reads of a call that waits for one lock.

use std::{sync::Arc, time::Duration};

use super::holds::{ObservedHolds, WaiterPlace};
use crate::{
    clock::{self, Instant},
    codec::Item,
    lease::{
        options::{LeaseOptions, Refresh},
        record::LockRecord,
        row::Row,
    },
    random,
    retry::{Connection, LocalWaiter, RowSource, SeenRow},
};

/// The reads of a call that waits for one lock. The calls of one process that wait for the same
/// lock share the rows that they read. The call that has waited longest reads for all calls. Each
/// other call reads the row itself only if it has received no row during one whole read interval.
pub(crate) struct Polls {
    connection: Arc<Connection>,
    options: LeaseOptions,
    holds: ObservedHolds,
    waiter: Option<LocalWaiter>,
    rng: fastrand::Rng,
}

impl Polls {
    pub(crate) fn new(connection: &Arc<Connection>, options: LeaseOptions) -> Self {
        let (holds, rng) = (ObservedHolds::default(), random::generator());
        Self { connection: Arc::clone(connection), options, holds, waiter: None, rng }
    }

    /// Records a row that shows a holder.
    pub(crate) fn observe(&mut self, record: &LockRecord) {
        self.holds.observe(record, clock::now(), self.options.now());
    }

    /// Records a row that shows no holder. The call may have to wait longer, because another waiter
    /// of this process may acquire the free lock first.
    pub(crate) fn observe_free(&mut self) {
        self.holds.observe_free(clock::now());
    }

    /// Returns the pause until the next read of the row. By default, the pause between two reads is
    /// at least one round trip to DynamoDB.
    pub(crate) fn pause(&mut self, place: WaiterPlace) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(10);
        let ttl = self.options.ttl;
        let longest = match place {
            WaiterPlace::Plain => (ttl / 20).clamp(SHORTEST, Duration::from_secs(1)),
            WaiterPlace::Behind(places) => {
                (ttl / 40).clamp(SHORTEST, Duration::from_millis(250)).saturating_mul(places)
            }
        };
        let default = Refresh { min: self.connection.round_trip().min(longest), max: longest };
        let Refresh { min, max } = self.options.refresh.unwrap_or(default);
        let now = clock::now();
        let interval = match self.waiter.as_ref().is_none_or(LocalWaiter::is_first) {
            true => self.holds.interval(place, now),
            false => self.holds.interval_of_others(place, now),
        };
        let limit = match place {
            WaiterPlace::Plain => Duration::MAX,
            // A waiter whose entry has become the head of the queue must notice this change before
            // the lease of its entry ends.
            WaiterPlace::Behind(_) => ttl / 6,
        };
        // The random factor of the pause is different for each waiter, so that waiters do not send
        // their requests at the same time.
        interval.min(max).min(limit).mul_f64(0.5 + self.rng.f64()).max(min.min(limit))
    }

    /// Returns whether this call has waited longest of all calls of this process that wait for the
    /// lock.
    pub(crate) fn is_first(&self) -> bool {
        self.waiter.as_ref().is_some_and(LocalWaiter::is_first)
    }

    /// Begins to receive the row of the lock whenever another request of this process reads it.
    pub(crate) fn join(&mut self, row: &Row) {
        let join = || self.connection.local_waiters.join(&row.table, &row.key, clock::now());
        self.waiter.get_or_insert_with(join);
    }

    /// Shares the row of the lock with the other waiters of this process.
    pub(crate) fn share(&mut self, item: Option<&Item>, sent: Instant, source: RowSource) {
        if let Some(waiter) = &mut self.waiter {
            waiter.share(sent, || SeenRow { item: item.cloned(), sent, source });
        }
    }

    /// Waits for the next row of the lock that another request of this process receives, and
    /// returns the row.
    pub(crate) async fn seen(&mut self) -> SeenRow {
        match &mut self.waiter {
            Some(waiter) => waiter.seen().await,
            None => std::future::pending().await,
        }
    }
}

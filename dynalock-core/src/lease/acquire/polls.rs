use std::{sync::Arc, time::Duration};

use super::{
    holds::{ObservedHolds, WaiterPlace},
    spec::AcquireSpec,
};
use crate::{
    clock,
    lease::{
        options::{LeaseOptions, Refresh},
        record::LockRecord,
    },
    random,
    retry::{LocalWaiter, SeenRow},
};

/// If several calls of one client wait for the same lock, the calls share the lock rows that
/// DynamoDB returns.
pub(crate) struct Polls<'a> {
    spec: &'a AcquireSpec,
    holds: ObservedHolds,
    waiter: Option<LocalWaiter>,
    holder: Option<Arc<str>>,
    rng: fastrand::Rng,
}

impl<'a> Polls<'a> {
    pub(crate) fn new(spec: &'a AcquireSpec) -> Self {
        Self { spec, holds: ObservedHolds::default(), waiter: None, holder: None, rng: random::generator() }
    }

    pub(crate) fn observe(&mut self, record: &LockRecord) {
        let options = &self.spec.options;
        self.holds.observe(record, clock::now(), options.now(), options.ttl);
        self.holder = record.holder().map(Into::into);
    }

    pub(crate) fn observe_free(&mut self) {
        self.holds.observe_free(clock::now());
        self.holder = None;
    }

    /// By default, the minimum pause between two reads is one round trip to DynamoDB. If a round
    /// trip takes longer than the maximum pause, the minimum pause equals the maximum pause.
    pub(crate) fn pause(&mut self, place: WaiterPlace) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(10);
        let AcquireSpec { connection, options: LeaseOptions { ttl, refresh, .. }, .. } = self.spec;
        let longest = match place {
            WaiterPlace::Plain => (*ttl / 20).clamp(SHORTEST, Duration::from_secs(1)),
            WaiterPlace::Behind(places) => {
                (*ttl / 40).clamp(SHORTEST, Duration::from_millis(250)).saturating_mul(places)
            }
        };
        let round_trip = connection.round_trip();
        let default = Refresh { min: round_trip.min(longest), max: longest };
        let Refresh { min, max } = refresh.unwrap_or(default);
        let now = clock::now();
        let pause = match self.reads_for_all() {
            true => self.holds.pause(place, now, round_trip),
            false => self.holds.pause_of_others(place, now, round_trip),
        };
        let limit = match place {
            WaiterPlace::Plain => Duration::MAX,
            // When a waiter's entry becomes the head of the queue, the waiter must read the lock's
            // row before the lease of the entry ends.
            WaiterPlace::Behind(_) => *ttl / 6,
        };
        let max = max.min(limit);
        let longest = (max / 2).saturating_add(max.mul_f64(self.rng.f64()));
        let (from, to) = (pause.start.min(longest), pause.end.min(longest));
        (from + to.saturating_sub(from).mul_f64(self.rng.f64())).max(min.min(limit))
    }

    pub(crate) fn is_first(&self) -> bool {
        self.waiter.as_ref().is_some_and(LocalWaiter::is_first)
    }

    /// Returns `false` if another waiter of the same client reads the lock's row for this waiter.
    /// If a caller of the same client holds the lock, the release wakes the waiters, so
    /// `reads_for_all` returns `false` for all waiters.
    fn reads_for_all(&self) -> bool {
        let Some(waiter) = &self.waiter else { return true };
        let is_local = self.holder.as_ref().is_some_and(|holder| waiter.is_local(holder));
        waiter.is_first() && !is_local
    }

    pub(crate) fn join(&mut self, owner: &Arc<str>) {
        let AcquireSpec { connection, row, .. } = self.spec;
        match &mut self.waiter {
            Some(waiter) => waiter.set_owner(owner),
            None => self.waiter = Some(connection.local_waiters.join(&row.table, &row.key, owner, clock::now())),
        }
    }

    pub(crate) fn share(&mut self, seen: &SeenRow) {
        if let Some(waiter) = &mut self.waiter {
            waiter.share(seen);
        }
    }

    pub(crate) async fn seen(&mut self) -> SeenRow {
        match &mut self.waiter {
            Some(waiter) => waiter.seen().await,
            None => std::future::pending().await,
        }
    }
}

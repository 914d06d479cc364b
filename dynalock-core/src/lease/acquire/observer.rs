use std::time::Duration;

use crate::{
    clock::{self, Instant},
    lease::{
        clause::Expired,
        options::{Expiry, LeaseOptions},
        record::LockRecord,
    },
    model::TimeUnit,
    random,
};

pub(crate) struct ExpiryObserver {
    options: LeaseOptions,
    /// The unit in which the table stores the end of a lease.
    unit: TimeUnit,
    rng: fastrand::Rng,
    observed: Option<Observed>,
    /// `true` if the last read showed no holder. After a read that shows no holder, `observed`
    /// keeps the last holder, because an eventually consistent read may be outdated.
    seems_free: bool,
    /// The number of attempts to take over the lease since the last change of the lease.
    denials: u32,
}

/// After the end of a lease, a waiter sends its next request after a random delay. Without a queue,
/// the delay is at most `JITTER`. In a queue, the delay is between `JITTER` and twice `JITTER`.
const JITTER: Duration = Duration::from_millis(10);

struct Observed {
    record: LockRecord,
    /// The time just after the waiter first received the current lease attributes. If `since` were
    /// a time before the read, the waiter could take over the lease too early.
    since: Instant,
}

impl ExpiryObserver {
    pub(crate) fn new(options: LeaseOptions, unit: TimeUnit) -> Self {
        Self { options, unit, rng: random::generator(), observed: None, seems_free: false, denials: 0 }
    }

    pub(crate) fn observe(&mut self, record: LockRecord) {
        let since = match &self.observed {
            Some(observed) if observed.record.observation() == record.observation() => observed.since,
            Some(_) | None => {
                self.denials = 0;
                clock::now()
            }
        };
        self.observed = Some(Observed { record, since });
        self.seems_free = false;
    }

    pub(crate) fn forget(&mut self) {
        self.observed = None;
    }

    pub(crate) fn saw_free(&mut self) {
        self.seems_free = true;
    }

    pub(crate) fn saw_holder(&self) -> bool {
        !self.seems_free && self.record().is_some_and(|record| record.holder().is_some())
    }

    /// Returns the lease attributes from the last read that showed a holder.
    pub(crate) fn record(&self) -> Option<&LockRecord> {
        self.observed.as_ref().map(|observed| &observed.record)
    }

    pub(crate) fn expects_the_end(&mut self) {
        self.denials = self.denials.saturating_add(1);
    }

    pub(crate) fn has_expired_head(&self) -> bool {
        let Some(record) = self.record() else { return false };
        // The lease of a queue's head ends after the ttl in the head's entry, and not after the ttl
        // of the waiter.
        let has_been_silent = |ttl: Option<Duration>| self.has_been_silent_for(ttl.unwrap_or(self.options.ttl));
        record.has_expired_head(&self.options) || record.head().is_some_and(|head| has_been_silent(head.ttl))
    }

    pub(crate) fn expired(&self) -> Expired {
        match self.options.expired_before() {
            Some(moment) => Expired::EndedBefore(moment),
            None if self.has_been_silent_for(self.options.ttl) => {
                let observation = self.record().and_then(LockRecord::observation);
                observation.map_or(Expired::Nobody, |observation| Expired::Silent(Box::new(observation.clone())))
            }
            None => Expired::Nobody,
        }
    }

    fn has_been_silent_for(&self, ttl: Duration) -> bool {
        self.observed.as_ref().is_some_and(|observed| clock::now() >= observed.since + ttl)
    }

    pub(crate) fn remaining(&self) -> Duration {
        let Some(Observed { record, since }) = &self.observed else { return Duration::MAX };
        match self.options.expiry {
            Expiry::Clock { max_skew } => {
                // The condition of a takeover is true only after the stored end of the lease, so
                // the earliest takeover is one unit of the stored time later.
                let step = self.unit.to_millis(1);
                let end = record.end(self.options.ttl).unwrap_or(u64::MAX);
                let end = end.saturating_add(clock::millis(max_skew)).saturating_add(step);
                Duration::from_millis(end.saturating_sub(self.options.now()))
            }
            Expiry::Observed => {
                let ttl = record.head().and_then(|head| head.ttl).unwrap_or(self.options.ttl);
                (*since + ttl).saturating_duration_since(clock::now())
            }
        }
    }

    /// Returns the time until the waiter's next read or attempt. `read` is the planned time until
    /// the next read of the lock's row. Each further refused attempt to take over the lease doubles
    /// the returned time, up to one second.
    pub(crate) fn pause(&mut self, read: Duration) -> Duration {
        const LONGEST: Duration = Duration::from_secs(1);
        if let Some(doublings) = self.denials.checked_sub(1) {
            return read.saturating_mul(1 << doublings.min(7)).min(LONGEST);
        }
        let jitter = JITTER.mul_f64(self.rng.f64());
        self.remaining().saturating_add(jitter).min(read).max(Duration::from_millis(1))
    }

    pub(crate) fn pause_in_queue(&mut self, read: Duration) -> Duration {
        let jitter = JITTER.mul_f64(1.0 + self.rng.f64());
        match self.remaining() {
            // The lease of the queue's head seems to have ended, but the head is still in the
            // queue.
            Duration::ZERO => read,
            remaining => remaining.saturating_add(jitter).min(read),
        }
    }
}

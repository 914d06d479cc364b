//! What one who waits has seen, and what may be concluded from it.

use std::time::Duration;

use super::one::AcquireSpec;
use crate::{
    clock::{self, Instant},
    error::{Error, Spent, Unavailable},
    lease::{
        options::{Expiry, Wait},
        record::{LockRecord, ttl_of},
        row::Expired,
    },
    random,
    retry::{Attempts, Backoff, Limits},
};

/// What a request may take that a call sends when its wait ends: the last look, and the place in a queue that is given up.
pub(crate) const LAST_REQUEST: Duration = Duration::from_millis(50);

/// What was seen last of the lock, and since when its sign of life has been the same.
#[derive(Debug, Clone)]
struct Observed {
    record: LockRecord,
    /// After the response that showed it first.
    since: Instant,
}

/// One asker on its way to one lock.
pub(crate) struct ExpiryObserver {
    pub(crate) started: Instant,
    pub(crate) requests: u32,
    pub(crate) end: Option<Instant>,
    rng: fastrand::Rng,
    observed: Option<Observed>,
    /// How often it was asked in vain since that sign of life, though the lease seemed to have ended.
    in_vain: u32,
    /// The fence of the last dead holder that this call took away.
    pub(crate) taken_over: Option<u64>,
}

impl ExpiryObserver {
    /// The fence of the holder directly before this grant, if this call took its lease over.
    pub(crate) fn taken_over_before(&self, fence: u64) -> Option<u64> {
        self.taken_over.filter(|dead| dead.checked_add(1) == Some(fence))
    }

    /// Starts anew when there is a sign of life.
    pub(crate) fn watch(&mut self, record: &LockRecord) {
        let since = match &self.observed {
            Some(observed) if observed.record.observation() == record.observation() => observed.since,
            Some(_) | None => {
                self.in_vain = 0;
                clock::now()
            }
        };
        self.observed = Some(Observed { record: record.clone(), since });
    }

    /// The lease that is watched seems to have ended: it is asked for. If that is refused without a sign of life, the next pauses are longer.
    pub(crate) fn expects_the_end(&mut self) {
        self.in_vain = self.in_vain.saturating_add(1);
    }

    /// Whether the last sign of life is as old as this.
    fn has_watched_for(&self, ttl: Duration) -> bool {
        self.observed.as_ref().is_some_and(|observed| clock::now() >= observed.since + ttl)
    }

    /// The requests of the call so far, and the time since it began.
    pub(crate) fn spent(&self) -> Spent {
        Spent::new(self.requests, self.elapsed())
    }

    fn elapsed(&self) -> Duration {
        clock::now().duration_since(self.started)
    }

    /// The time that is left to wait.
    pub(crate) fn left(&self) -> Duration {
        self.end.map_or(Duration::MAX, |end| end.saturating_duration_since(clock::now()))
    }

    /// The limits of a request that ends with the wait. A call that only tries has no wait: its deadline ends it.
    pub(crate) fn within_wait(&self, limits: Limits) -> Limits {
        match self.only_tries() {
            true => limits,
            false => Limits { deadline: limits.deadline.min(self.left().max(LAST_REQUEST)), ..limits },
        }
    }

    /// The end of a call to whose last request no answer came in time.
    pub(crate) fn unanswered(&self) -> Error {
        let last = Box::new(Error::Unavailable(Unavailable::Timeout));
        Error::Exhausted { spent: self.spent(), last }
    }

    /// Whether the call asks once and does not wait.
    pub(crate) fn only_tries(&self) -> bool {
        self.end == Some(self.started)
    }
}

impl AcquireSpec {
    pub(crate) fn observer(&self) -> ExpiryObserver {
        let started = clock::now();
        let end = match self.wait {
            Wait::No => Some(started),
            Wait::For(duration) => started.checked_add(duration),
            Wait::Forever => None,
        };
        ExpiryObserver {
            started,
            requests: 0,
            end,
            rng: random::generator(),
            observed: None,
            in_vain: 0,
            taken_over: None,
        }
    }

    /// The limits of the next request, which ends with the wait.
    pub(crate) fn limits(&self, observer: &ExpiryObserver) -> Limits {
        observer.within_wait(self.limits)
    }

    /// The next request of a call, with its repetitions.
    pub(crate) fn attempts(&self, observer: &ExpiryObserver) -> Attempts {
        Attempts::new(&self.connection, self.limits(observer))
    }

    /// Sleeps before it is asked again for a lock in whose way nobody was; an error if there is no time left for that.
    pub(crate) async fn pause_before_retry(
        &self,
        observer: &mut ExpiryObserver,
        backoff: &mut Backoff,
    ) -> Result<(), Error> {
        let left = match observer.only_tries() {
            true => self.limits.deadline.saturating_sub(observer.elapsed()),
            false => observer.left(),
        };
        let pause = backoff.next(Backoff::FIRST, &mut observer.rng);
        if pause >= left {
            return Err(Attempts::since(&self.connection, self.limits, observer.started, observer.requests).too_late());
        }
        clock::sleep(pause).await;
        Ok(())
    }

    /// The error of a call whose wait is over: while somebody else had the lock when it was seen last, that is the reason, also if the last
    /// request was not answered.
    pub(crate) fn at_the_end(&self, error: Error, observer: &ExpiryObserver) -> Error {
        let is_over = observer.left().is_zero() && !observer.only_tries();
        match (&error, &observer.observed) {
            (Error::Exhausted { .. }, Some(Observed { record, .. })) if is_over && record.holder().is_some() => {
                self.locked(record, observer)
            }
            _ => error,
        }
    }

    /// Whether the lease of the head of the queue has ended.
    pub(crate) fn has_dead_head(&self, record: &LockRecord, observer: &mut ExpiryObserver) -> bool {
        let Some(head) = record.head() else { return false };
        observer.watch(record);
        let ttl = ttl_of(head).unwrap_or(self.options.ttl);
        record.has_dead_head(&self.options) || observer.has_watched_for(ttl)
    }

    /// Whose lease this asker may take over.
    pub(crate) fn dead(&self, observer: &ExpiryObserver) -> Expired {
        match (self.options.dead_before(), &observer.observed) {
            (Some(moment), _) => Expired::EndedBefore(moment),
            (None, Some(Observed { record, .. })) if observer.has_watched_for(self.options.ttl) => record
                .observation()
                .map_or(Expired::Nobody, |observation| Expired::Silent(Box::new(observation.clone()))),
            (None, _) => Expired::Nobody,
        }
    }

    /// How long until the lease of the holder has ended, if it is not renewed.
    pub(crate) fn left(&self, record: &LockRecord, observer: &ExpiryObserver) -> Duration {
        match self.options.expiry {
            Expiry::Clock { max_skew } => {
                let skew = u64::try_from(max_skew.as_millis()).unwrap_or(u64::MAX);
                let step = self.row.layout.unit.to_millis(1);
                let end = record.end(self.options.ttl).unwrap_or(u64::MAX).saturating_add(skew).saturating_add(step);
                Duration::from_millis(end.saturating_sub(self.options.now()))
            }
            Expiry::Observed => {
                let since = observer.observed.as_ref().map_or_else(clock::now, |observed| observed.since);
                let ttl = record.head().and_then(ttl_of).unwrap_or(self.options.ttl);
                (since + ttl).saturating_duration_since(clock::now())
            }
        }
    }

    /// Until the lease can have ended, or the next cheap look, whichever is first; never nothing. A lease that seems to have ended and is not
    /// granted, since another program writes its row, is asked for ever less often.
    pub(crate) fn pause(&self, record: &LockRecord, observer: &mut ExpiryObserver) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(10);
        const LONGEST: Duration = Duration::from_secs(1);
        let look = (self.options.ttl / 20).clamp(SHORTEST, LONGEST).mul_f64(0.5 + observer.rng.f64());
        if let Some(doublings) = observer.in_vain.checked_sub(1) {
            return look.saturating_mul(1 << doublings.min(7)).min(LONGEST);
        }
        let jitter = SHORTEST.mul_f64(observer.rng.f64());
        self.left(record, observer).saturating_add(jitter).min(look).max(Duration::from_millis(1))
    }

    /// Until the next look at a queue, the longer the farther behind.
    pub(crate) fn pause_in_queue(&self, record: &LockRecord, index: usize, observer: &mut ExpiryObserver) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(10);
        const LONGEST: Duration = Duration::from_millis(250);
        let each = (self.options.ttl / 40).clamp(SHORTEST, LONGEST);
        let look = each.saturating_mul(u32::try_from(index).unwrap_or(u32::MAX));
        // A turn that comes is seen long before it could be over.
        let look = look.min(self.options.ttl / 6).mul_f64(0.5 + observer.rng.f64());
        let jitter = SHORTEST.mul_f64(1.0 + observer.rng.f64());
        match self.left(record, observer) {
            // A head that seems dead and could not be taken out.
            Duration::ZERO => look,
            left => left.saturating_add(jitter).min(look),
        }
    }
}

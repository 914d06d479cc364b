//! What one who waits has seen, and what may be concluded from it.

use std::time::Duration;

use super::{
    acquire::Asking,
    mark::{Mark, ttl_of},
    row::Dead,
    terms::{Expiry, Wait},
};
use crate::{
    clock::{self, Instant},
    error::{Error, Spent, Unavailable},
    random,
    retry::{Backoff, Effort, Limits},
};

/// What a request may take that a call sends when its wait ends: the last look, and the place in a queue that is given up.
pub(super) const LAST_REQUEST: Duration = Duration::from_millis(50);

/// What was seen last of the lock, and since when its sign of life has been the same.
#[derive(Debug, Clone)]
struct Watched {
    mark: Mark,
    /// After the response that showed it first.
    since: Instant,
}

/// One asker on its way to one lock.
pub(super) struct Watcher {
    pub(super) started: Instant,
    pub(super) requests: u32,
    pub(super) end: Option<Instant>,
    rng: fastrand::Rng,
    watched: Option<Watched>,
    /// How often it was asked in vain since that sign of life, though the lease seemed to have ended.
    in_vain: u32,
    /// The fence of the last dead holder that this call took away.
    pub(super) taken_over: Option<u64>,
}

impl Watcher {
    /// The fence of the holder directly before this grant, if this call took its lease over.
    pub(super) fn taken_over_before(&self, fence: u64) -> Option<u64> {
        self.taken_over.filter(|dead| dead.checked_add(1) == Some(fence))
    }

    /// Starts anew when there is a sign of life.
    pub(super) fn watch(&mut self, mark: &Mark) {
        let since = match &self.watched {
            Some(watched) if watched.mark.sighting() == mark.sighting() => watched.since,
            Some(_) | None => {
                self.in_vain = 0;
                clock::now()
            }
        };
        self.watched = Some(Watched { mark: mark.clone(), since });
    }

    /// The lease that is watched seems to have ended: it is asked for. If that is refused without a sign of life, the next pauses are longer.
    pub(super) fn expects_the_end(&mut self) {
        self.in_vain = self.in_vain.saturating_add(1);
    }

    /// Whether the last sign of life is as old as this.
    fn has_watched_for(&self, ttl: Duration) -> bool {
        self.watched.as_ref().is_some_and(|watched| clock::now() >= watched.since + ttl)
    }

    /// The requests of the call so far, and the time since it began.
    pub(super) fn spent(&self) -> Spent {
        Spent::new(self.requests, self.elapsed())
    }

    fn elapsed(&self) -> Duration {
        clock::now().duration_since(self.started)
    }

    /// The time that is left to wait.
    pub(super) fn left(&self) -> Duration {
        self.end.map_or(Duration::MAX, |end| end.saturating_duration_since(clock::now()))
    }

    /// The limits of a request that ends with the wait. A call that only tries has no wait: its deadline ends it.
    pub(super) fn within_wait(&self, limits: Limits) -> Limits {
        match self.only_tries() {
            true => limits,
            false => Limits { deadline: limits.deadline.min(self.left().max(LAST_REQUEST)), ..limits },
        }
    }

    /// The end of a call to whose last request no answer came in time.
    pub(super) fn unanswered(&self) -> Error {
        let last = Box::new(Error::Unavailable(Unavailable::Timeout));
        Error::Exhausted { spent: self.spent(), last }
    }

    /// Whether the call asks once and does not wait.
    pub(super) fn only_tries(&self) -> bool {
        self.end == Some(self.started)
    }
}

impl Asking {
    pub(super) fn watcher(&self) -> Watcher {
        let started = clock::now();
        let end = match self.wait {
            Wait::No => Some(started),
            Wait::For(duration) => started.checked_add(duration),
            Wait::Forever => None,
        };
        Watcher { started, requests: 0, end, rng: random::generator(), watched: None, in_vain: 0, taken_over: None }
    }

    /// The limits of the next request, which ends with the wait.
    pub(super) fn limits(&self, watcher: &Watcher) -> Limits {
        watcher.within_wait(self.limits)
    }

    /// The next request of a call, with its repetitions.
    pub(super) fn effort(&self, watcher: &Watcher) -> Effort {
        Effort::new(&self.connection, self.limits(watcher))
    }

    /// Sleeps before it is asked again for a lock in whose way nobody was; an error if there is no time left for that.
    pub(super) async fn pause_before_retry(&self, watcher: &mut Watcher, backoff: &mut Backoff) -> Result<(), Error> {
        let left = match watcher.only_tries() {
            true => self.limits.deadline.saturating_sub(watcher.elapsed()),
            false => watcher.left(),
        };
        let pause = backoff.next(Backoff::FIRST, &mut watcher.rng);
        if pause >= left {
            return Err(Effort::since(&self.connection, self.limits, watcher.started, watcher.requests).too_late());
        }
        clock::sleep(pause).await;
        Ok(())
    }

    /// The error of a call whose wait is over: while somebody else had the lock when it was seen last, that is the reason, also if the last
    /// request was not answered.
    pub(super) fn at_the_end(&self, error: Error, watcher: &Watcher) -> Error {
        let is_over = watcher.left().is_zero() && !watcher.only_tries();
        match (&error, &watcher.watched) {
            (Error::Exhausted { .. }, Some(Watched { mark, .. })) if is_over && mark.holder().is_some() => {
                self.locked(mark, watcher)
            }
            _ => error,
        }
    }

    /// Whether the lease of the head of the queue has ended.
    pub(super) fn has_dead_head(&self, mark: &Mark, watcher: &mut Watcher) -> bool {
        let Some(head) = mark.head() else { return false };
        watcher.watch(mark);
        let ttl = ttl_of(head).unwrap_or(self.terms.ttl);
        mark.has_dead_head(&self.terms) || watcher.has_watched_for(ttl)
    }

    /// Whose lease this asker may take over.
    pub(super) fn dead(&self, watcher: &Watcher) -> Dead {
        match (self.terms.dead_before(), &watcher.watched) {
            (Some(moment), _) => Dead::EndedBefore(moment),
            (None, Some(Watched { mark, .. })) if watcher.has_watched_for(self.terms.ttl) => {
                mark.sighting().map_or(Dead::Nobody, |sighting| Dead::Silent(Box::new(sighting.clone())))
            }
            (None, _) => Dead::Nobody,
        }
    }

    /// How long until the lease of the holder has ended, if it is not renewed.
    pub(super) fn left(&self, mark: &Mark, watcher: &Watcher) -> Duration {
        match self.terms.expiry {
            Expiry::Clock { max_skew } => {
                let skew = u64::try_from(max_skew.as_millis()).unwrap_or(u64::MAX);
                let step = self.row.layout.unit.to_millis(1);
                let end = mark.end(self.terms.ttl).unwrap_or(u64::MAX).saturating_add(skew).saturating_add(step);
                Duration::from_millis(end.saturating_sub(self.terms.now()))
            }
            Expiry::Observed => {
                let since = watcher.watched.as_ref().map_or_else(clock::now, |watched| watched.since);
                let ttl = mark.head().and_then(ttl_of).unwrap_or(self.terms.ttl);
                (since + ttl).saturating_duration_since(clock::now())
            }
        }
    }

    /// Until the lease can have ended, or the next cheap look, whichever is first; never nothing. A lease that seems to have ended and is not
    /// granted, since another program writes its row, is asked for ever less often.
    pub(super) fn pause(&self, mark: &Mark, watcher: &mut Watcher) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(10);
        const LONGEST: Duration = Duration::from_secs(1);
        let look = (self.terms.ttl / 20).clamp(SHORTEST, LONGEST).mul_f64(0.5 + watcher.rng.f64());
        if let Some(doublings) = watcher.in_vain.checked_sub(1) {
            return look.saturating_mul(1 << doublings.min(7)).min(LONGEST);
        }
        let jitter = SHORTEST.mul_f64(watcher.rng.f64());
        self.left(mark, watcher).saturating_add(jitter).min(look).max(Duration::from_millis(1))
    }

    /// Until the next look at a queue, the longer the farther behind.
    pub(super) fn pause_in_queue(&self, mark: &Mark, index: usize, watcher: &mut Watcher) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(10);
        const LONGEST: Duration = Duration::from_millis(250);
        let each = (self.terms.ttl / 40).clamp(SHORTEST, LONGEST);
        let look = each.saturating_mul(u32::try_from(index).unwrap_or(u32::MAX));
        // A turn that comes is seen long before it could be over.
        let look = look.min(self.terms.ttl / 6).mul_f64(0.5 + watcher.rng.f64());
        let jitter = SHORTEST.mul_f64(1.0 + watcher.rng.f64());
        match self.left(mark, watcher) {
            // A head that seems dead and could not be taken out.
            Duration::ZERO => look,
            left => left.saturating_add(jitter).min(look),
        }
    }
}

//! What one who waits has seen, and what may be concluded from it.

use std::time::Duration;

use super::{
    acquire::Asking,
    mark::{Mark, Sighting, ttl_of},
    row::Dead,
    terms::{Expiry, Wait},
};
use crate::{
    clock::{self, Instant},
    random,
};

/// Somebody's sign of life, and since when it has been the last one.
#[derive(Debug, Clone)]
struct Watched {
    sighting: Option<Sighting>,
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
}

impl Watcher {
    /// Starts anew when there is a sign of life.
    pub(super) fn watch(&mut self, mark: &Mark) {
        let sighting = mark.sighting();
        if !self.watched.as_ref().is_some_and(|seen| seen.sighting == sighting) {
            self.watched = Some(Watched { sighting, since: clock::now() });
        }
    }

    /// Whether the last sign of life is as old as this.
    fn has_watched_for(&self, ttl: Duration) -> bool {
        self.watched.as_ref().is_some_and(|watched| clock::now() >= watched.since + ttl)
    }

    pub(super) fn elapsed(&self) -> Duration {
        clock::now().duration_since(self.started)
    }

    /// The time that is left to wait.
    pub(super) fn left(&self) -> Duration {
        self.end.map_or(Duration::MAX, |end| end.saturating_duration_since(clock::now()))
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
        Watcher { started, requests: 0, end, rng: random::generator(), watched: None }
    }

    /// Whether the lease of the head of the queue has ended.
    pub(super) fn has_dead_head(&self, mark: &Mark, watcher: &mut Watcher) -> bool {
        let Some(head) = mark.head() else { return false };
        watcher.watch(mark);
        let ttl = ttl_of(&head.holder).unwrap_or(self.terms.ttl);
        mark.has_dead_head(&self.terms) || watcher.has_watched_for(ttl)
    }

    /// Whose lease this asker may take over.
    pub(super) fn dead(&self, watcher: &Watcher) -> Dead {
        match (self.terms.dead_before(), &watcher.watched) {
            (Some(moment), _) => Dead::EndedBefore(moment),
            (None, Some(Watched { sighting: Some(sighting), .. })) if watcher.has_watched_for(self.terms.ttl) => {
                Dead::Silent(sighting.clone())
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
                let ttl = mark.head().and_then(|head| ttl_of(&head.holder)).unwrap_or(self.terms.ttl);
                (since + ttl).saturating_duration_since(clock::now())
            }
        }
    }

    /// Until the lease can have ended, or the next cheap look, whichever is first; never nothing.
    pub(super) fn pause(&self, mark: &Mark, watcher: &mut Watcher) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(10);
        const LONGEST: Duration = Duration::from_secs(1);
        let look = (self.terms.ttl / 20).clamp(SHORTEST, LONGEST).mul_f64(0.5 + watcher.rng.f64());
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
        self.left(mark, watcher).saturating_add(jitter).min(look)
    }
}

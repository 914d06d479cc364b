//! The current holders, and the observed events.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use dynalock::LockGuard;
use tokio::time::Instant;

/// The observed events.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    pub(crate) grants: u64,
    /// The number of grants of both locks at once.
    pub(crate) together: u64,
    pub(crate) writes: u64,
    pub(crate) refused: u64,
    pub(crate) takeovers: u64,
    pub(crate) cancelled: u64,
    /// The number of moments at which two guards both believed that they held one lock.
    pub(crate) overlaps: u64,
    /// The number of times that work had not been told to end when the next holder entered.
    pub(crate) told_late: u64,
    /// The number of fences that did not grow.
    pub(crate) fences: u64,
    /// The number of writes with a lower fence than a fence that had already been used for a write,
    /// or was known before the write was sent.
    pub(crate) stale: u64,
    /// The number of locks that were still held a ttl and the skew after the end of all processes.
    pub(crate) left: u64,
    /// The number of grants that no caller knew of. The next caller found each of them after its
    /// ttl.
    pub(crate) ghosts: u64,
    /// The number of leases that ended although their holder was renewing them.
    pub(crate) lost: u64,
    /// The number of grants in the queue that came after the grant of a caller that had entered
    /// later.
    pub(crate) inversions: u64,
    /// The number of waiters whose entry was removed.
    pub(crate) evicted: u64,
    /// The number of writes that were applied more than once.
    pub(crate) doubled: u64,
    /// The number of writes that were acknowledged, but were not applied.
    pub(crate) forgotten: u64,
    /// The number of writes that were refused, but were applied.
    pub(crate) denied: u64,
    /// The number of writes with an old fence that an outside resource accepted. The resource knows
    /// only the last fence that it has seen.
    pub(crate) outside: u64,
    /// The number of grants that another process resumed after the first process had died.
    pub(crate) resumed: u64,
    /// The number of incarnations of items that ended.
    pub(crate) lives: u64,
    /// The number of items that a guard deleted.
    pub(crate) deleted: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, figure) in self.figures().into_iter().zip(other.clone().figures()) {
            *sum += *figure;
        }
    }

    /// Returns the events that must never happen.
    pub(crate) fn broken(&self) -> [u64; 9] {
        let Self { overlaps, told_late, fences, stale, left, inversions, doubled, forgotten, denied, .. } = *self;
        [overlaps, told_late, fences, stale, left, inversions, doubled, forgotten, denied]
    }

    fn figures(&mut self) -> [&mut u64; 22] {
        let Self {
            grants,
            together,
            writes,
            refused,
            takeovers,
            cancelled,
            overlaps,
            told_late,
            fences,
            stale,
            left,
            ghosts,
            lost,
            inversions,
            evicted,
            doubled,
            forgotten,
            denied,
            outside,
            resumed,
            lives,
            deleted,
        } = self;
        [
            grants, together, writes, refused, takeovers, cancelled, overlaps, told_late, fences, stale, left, ghosts,
            lost, inversions, evicted, doubled, forgotten, denied, outside, resumed, lives, deleted,
        ]
    }
}

/// A guard that believes that it holds the lock, from the view of its process.
#[derive(Clone)]
pub(crate) struct Believer {
    pub(crate) held: Arc<LockGuard>,
    pub(crate) told: Arc<AtomicBool>,
    /// The answer of a deviation that replaces the answer of the guard.
    pub(crate) until: Option<Arc<Mutex<Instant>>>,
}

impl Believer {
    fn believes(&self) -> bool {
        match &self.until {
            Some(until) => Instant::now() < *until.lock().unwrap(),
            None => !self.held.remaining().is_zero(),
        }
    }
}

/// The current holders, and the observed events.
#[derive(Default)]
pub(crate) struct Arena {
    believers: HashMap<String, Vec<Believer>>,
    fences: BTreeMap<String, BTreeSet<u64>>,
    crashed: Vec<(String, u64)>,
    /// The last fence that an outside resource has seen, for each lock.
    outside: HashMap<String, u64>,
    pub(crate) tally: Tally,
}

impl Arena {
    pub(crate) fn enter(&mut self, name: &str, believer: Believer) {
        let held = &believer.held;
        self.tally.grants += 1;
        self.tally.takeovers += u64::from(held.acquired_after_crash().is_some());
        self.crashed.extend(held.acquired_after_crash().map(|fence| (name.to_owned(), fence)));
        let known = self.fences.entry(name.to_owned()).or_default();
        // A delayed answer may come after the answer of the next grant.
        let is_late = known.last().is_some_and(|last| held.fence() < *last) && believer.believes();
        if !known.insert(held.fence()) || is_late {
            self.tally.fences += 1;
        }
        let here = self.believers.entry(name.to_owned()).or_default();
        if believer.believes() {
            for other in here.iter() {
                if other.believes() {
                    self.tally.overlaps += 1;
                } else if !other.told.load(Ordering::Relaxed) {
                    self.tally.told_late += 1;
                }
            }
        }
        here.push(believer);
    }

    /// Records that another process continues the grant of a process that has died.
    pub(crate) fn resume(&mut self, name: &str, believer: Believer) {
        self.tally.resumed += 1;
        let here = self.believers.entry(name.to_owned()).or_default();
        if believer.believes() {
            self.tally.overlaps += here.iter().filter(|other| other.believes()).count() as u64;
        }
        here.push(believer);
    }

    /// Returns whether another caller has entered with a higher fence.
    pub(crate) fn is_superseded(&self, name: &str, fence: u64) -> bool {
        self.fences.get(name).and_then(BTreeSet::last).is_some_and(|last| fence < *last)
    }

    /// Writes to a resource that refuses a lower fence than the last one that it has seen. The
    /// resource checks nothing else.
    pub(crate) fn write_outside(&mut self, name: &str, fence: u64) {
        let last = self.outside.get(name).copied().unwrap_or_default();
        if fence >= last {
            self.tally.outside += u64::from(self.is_superseded(name, fence));
            self.outside.insert(name.to_owned(), fence);
        }
    }

    /// Counts crashed holders that no caller has seen alive.
    pub(crate) fn ghosts(&self) -> u64 {
        let is_known =
            |(name, fence): &&(String, u64)| self.fences.get(name).is_some_and(|known| known.contains(fence));
        (self.crashed.len() - self.crashed.iter().filter(is_known).count()) as u64
    }

    pub(crate) fn leave(&mut self, name: &str, fence: u64) {
        if let Some(here) = self.believers.get_mut(name) {
            here.retain(|believer| believer.held.fence() != fence);
        }
    }
}

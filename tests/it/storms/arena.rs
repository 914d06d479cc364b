//! Who is in, and what was seen.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use dynalock::LockGuard;
use tokio::time::Instant;

/// What was seen.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    pub(crate) grants: u64,
    /// Grants of both locks at once.
    pub(crate) together: u64,
    pub(crate) writes: u64,
    pub(crate) refused: u64,
    pub(crate) takeovers: u64,
    pub(crate) cancelled: u64,
    /// Two guards that believed at one moment.
    pub(crate) overlaps: u64,
    /// Work that had not been told to end when the next one entered.
    pub(crate) told_late: u64,
    /// Fences that did not grow.
    pub(crate) fences: u64,
    /// Writes under an older fence than one that had written, or was known before they were sent.
    pub(crate) stale: u64,
    /// Locks that were still held a ttl and the skew after everything had ended.
    pub(crate) left: u64,
    /// Grants that nobody knows of, each found by the next asker after its ttl.
    pub(crate) ghosts: u64,
    /// Leases that ended while their holder was renewing them.
    pub(crate) lost: u64,
    /// Grants in the queue that came after that of somebody who had entered later.
    pub(crate) inversions: u64,
    /// Waiters whose place was taken away.
    pub(crate) evicted: u64,
    /// Writes that were applied more than once.
    pub(crate) doubled: u64,
    /// Writes that were acknowledged, and are not there.
    pub(crate) forgotten: u64,
    /// Writes that were refused, and are there.
    pub(crate) denied: u64,
    /// Writes under an old fence that a resource outside took, which knows only the last fence it has seen.
    pub(crate) outside: u64,
    /// Grants with which another process went on, after the first had died.
    pub(crate) resumed: u64,
    /// Lives of items that ended.
    pub(crate) lives: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, figure) in self.figures().into_iter().zip(other.clone().figures()) {
            *sum += *figure;
        }
    }

    /// What must never be.
    pub(crate) fn broken(&self) -> [u64; 9] {
        let Self { overlaps, told_late, fences, stale, left, inversions, doubled, forgotten, denied, .. } = *self;
        [overlaps, told_late, fences, stale, left, inversions, doubled, forgotten, denied]
    }

    fn figures(&mut self) -> [&mut u64; 21] {
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
        } = self;
        [
            grants, together, writes, refused, takeovers, cancelled, overlaps, told_late, fences, stale, left, ghosts,
            lost, inversions, evicted, doubled, forgotten, denied, outside, resumed, lives,
        ]
    }
}

/// A guard that believes, as its process sees it.
#[derive(Clone)]
pub(crate) struct Believer {
    pub(crate) held: Arc<LockGuard>,
    pub(crate) told: Arc<AtomicBool>,
    /// In place of what the guard says, where a deviation has another opinion.
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

/// Who is in, and what was seen.
#[derive(Default)]
pub(crate) struct Arena {
    believers: HashMap<String, Vec<Believer>>,
    fences: BTreeMap<String, BTreeSet<u64>>,
    crashed: Vec<(String, u64)>,
    /// The last fence that a resource outside has seen, of each lock.
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
        // An answer that was long on its way may come after that of the next grant.
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

    /// A grant whose first process has died goes on in another one.
    pub(crate) fn resume(&mut self, name: &str, believer: Believer) {
        self.tally.resumed += 1;
        let here = self.believers.entry(name.to_owned()).or_default();
        if believer.believes() {
            self.tally.overlaps += here.iter().filter(|other| other.believes()).count() as u64;
        }
        here.push(believer);
    }

    /// Whether somebody has entered under a later fence.
    pub(crate) fn is_superseded(&self, name: &str, fence: u64) -> bool {
        self.fences.get(name).and_then(BTreeSet::last).is_some_and(|last| fence < *last)
    }

    /// A write to a resource that refuses what comes under an older fence than the last one it has seen, and asks nobody else.
    pub(crate) fn write_outside(&mut self, name: &str, fence: u64) {
        let last = self.outside.get(name).copied().unwrap_or_default();
        if fence >= last {
            self.tally.outside += u64::from(self.is_superseded(name, fence));
            self.outside.insert(name.to_owned(), fence);
        }
    }

    /// Dead holders that nobody has seen alive.
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

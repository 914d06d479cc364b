//! Who believes to hold the item, and what came of each write.

use std::collections::{BTreeMap, BTreeSet};

use dynalock::{Error, Lease, Lockable};
use tokio::time::Instant;

use crate::{storms::Tally, support::now};

/// What a writer was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Done,
    InDoubt,
    Refused,
}

struct Believer<T> {
    fence: u64,
    /// Not here while it writes.
    lease: Option<Lease<T>>,
    until: Instant,
}

impl<T: Lockable> Believer<T> {
    fn believes(&self) -> bool {
        match &self.lease {
            Some(lease) => !lease.remaining().is_zero(),
            None => now() < self.until,
        }
    }
}

/// One item, and all who want it. Each write leaves a mark of its own in the item, so that the item shows in which order they were applied.
pub(super) struct Ground<T> {
    believers: Vec<Believer<T>>,
    fences: BTreeSet<u64>,
    told: BTreeMap<String, Told>,
    /// How many lives were to be ended.
    lives: u64,
    pub(super) tally: Tally,
}

impl<T> Default for Ground<T> {
    fn default() -> Self {
        let (fences, told, tally) = <_>::default();
        Self { believers: Vec::new(), fences, told, lives: 0, tally }
    }
}

impl<T: Lockable> Ground<T> {
    pub(super) fn enter(&mut self, lease: Lease<T>) {
        let fence = lease.fence();
        self.tally.grants += 1;
        self.tally.takeovers += u64::from(lease.acquired_after_crash().is_some());
        let mine = Believer { fence, lease: Some(lease), until: now() };
        let believes = mine.believes();
        // An answer that was long on its way may come after that of the next grant.
        let is_late = believes && self.fences.last().is_some_and(|last| fence < *last);
        self.tally.fences += u64::from(!self.fences.insert(fence) || is_late);
        if believes {
            self.tally.overlaps += self.believers.iter().filter(|other| other.believes()).count() as u64;
        }
        self.believers.push(mine);
    }

    /// A grant whose first process has died goes on in another one.
    pub(super) fn resume(&mut self, lease: Lease<T>) {
        self.tally.resumed += 1;
        let mine = Believer { fence: lease.fence(), lease: Some(lease), until: now() };
        if mine.believes() {
            self.tally.overlaps += self.believers.iter().filter(|other| other.believes()).count() as u64;
        }
        self.believers.push(mine);
    }

    /// For a write.
    pub(super) fn take(&mut self, fence: u64) -> Lease<T> {
        let mine = self.believers.iter_mut().find(|believer| believer.fence == fence).expect("it has entered");
        let lease = mine.lease.take().expect("one write at a time");
        mine.until = now() + lease.remaining();
        lease
    }

    pub(super) fn put(&mut self, lease: Lease<T>) {
        let mine = self.believers.iter_mut().find(|believer| believer.fence == lease.fence());
        mine.expect("it has entered").lease = Some(lease);
    }

    /// To end it: the next one may enter.
    pub(super) fn leave(&mut self, fence: u64) -> Lease<T> {
        let place = self.believers.iter().position(|believer| believer.fence == fence).expect("it has entered");
        self.believers.swap_remove(place).lease.expect("one write at a time")
    }

    /// The number of a life that is to end: they end in this order, since each begins after the end of the one before.
    pub(super) fn end_of_life(&mut self) -> u64 {
        self.lives += 1;
        self.lives - 1
    }

    /// How many lives were to be ended.
    pub(super) fn lives(&self) -> u64 {
        self.lives
    }

    pub(super) fn wrote(&mut self, mark: String, result: &Result<(), Error>) {
        let told = match result {
            Ok(()) => Told::Done,
            Err(Error::Indeterminate { .. }) => Told::InDoubt,
            Err(Error::Locked(_) | Error::Lost(_) | Error::Exhausted { .. } | Error::NotFound { .. }) => Told::Refused,
            Err(other) => panic!("{other:?}"),
        };
        match told {
            Told::Done => self.tally.writes += 1,
            Told::InDoubt | Told::Refused => self.tally.refused += 1,
        }
        assert_eq!(self.told.insert(mark, told), None, "a mark is used once");
    }

    /// Compares what was told with the marks in the item.
    pub(super) fn settle(&mut self, marks: &[&str]) {
        let applied: BTreeSet<&str> = marks.iter().copied().collect();
        self.tally.doubled += (marks.len() - applied.len()) as u64;
        for (mark, told) in &self.told {
            self.tally.forgotten += u64::from(*told == Told::Done && !applied.contains(&**mark));
            self.tally.denied += u64::from(*told == Told::Refused && applied.contains(&**mark));
        }
        // A grant writes from its first mark to its last: nobody else is between, and no earlier grant comes after.
        let fences: Vec<Option<u64>> = marks.iter().map(|mark| fence_of(mark)).collect();
        let mut last = 0;
        for (place, fence) in fences.iter().enumerate() {
            match fence {
                Some(fence) => {
                    self.tally.stale += u64::from(*fence < last);
                    last = last.max(*fence);
                }
                None => self.tally.stale += u64::from(last > 0 && fences[place..].contains(&Some(last))),
            }
        }
    }
}

/// That of the grant under which it was written, if there was one.
fn fence_of(mark: &str) -> Option<u64> {
    mark.strip_prefix('h')?.split('.').next()?.parse().ok()
}

//! The callers that believe that they hold the lease of the item, and the result of each write.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

use dynalock::{Error, LeaseGuard};
use tokio::time::Instant;

use super::storm::Counted;
use crate::{storms::Tally, support::now};

/// The result that a writer got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Done,
    InDoubt,
    Refused,
}

/// The key of a grant. Fences grow within one incarnation of the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Grant {
    life: u64,
    fence: u64,
}

impl Grant {
    pub(super) fn of<T: Counted>(lease: &LeaseGuard<T>) -> Self {
        Self { life: T::clone(lease).life(), fence: lease.fence() }
    }

    /// Returns the grant of a mark, or `None` if the write had no grant.
    fn from_mark(mark: &str) -> Option<Self> {
        let mut parts = mark.strip_prefix('h')?.split('.');
        Some(Self { life: parts.next()?.parse().ok()?, fence: parts.next()?.parse().ok()? })
    }

    /// Returns the mark of a write under this grant.
    pub(super) fn mark(self, write: impl Display) -> String {
        format!("h{}.{}.{write}", self.life, self.fence)
    }
}

struct Believer<T> {
    grant: Grant,
    /// The guard, or `None` while the caller writes with it.
    lease: Option<LeaseGuard<T>>,
    until: Instant,
}

impl<T: Counted> Believer<T> {
    fn believes(&self) -> bool {
        match &self.lease {
            Some(lease) => !lease.remaining().is_zero(),
            None => now() < self.until,
        }
    }
}

/// One item and all its callers. Each write adds its own mark to the item, so the item shows the
/// order in which the writes were applied.
pub(super) struct Ground<T> {
    believers: Vec<Believer<T>>,
    grants: BTreeSet<Grant>,
    told: BTreeMap<String, Told>,
    /// The marks of each incarnation that a guard may have deleted, by the number of the
    /// incarnation.
    ended_by_guards: BTreeMap<u64, String>,
    /// The number of creates that were sent.
    begun: u64,
    /// The number of deletes that were sent with the marks of the deleted incarnation.
    graves: u64,
    pub(super) tally: Tally,
}

impl<T> Default for Ground<T> {
    fn default() -> Self {
        let (grants, told, ended_by_guards, tally) = <_>::default();
        Self { believers: Vec::new(), grants, told, ended_by_guards, begun: 0, graves: 0, tally }
    }
}

impl<T: Counted> Ground<T> {
    pub(super) fn enter(&mut self, lease: LeaseGuard<T>) {
        let grant = Grant::of(&lease);
        self.tally.grants += 1;
        self.tally.takeovers += u64::from(lease.acquired_after_crash().is_some());
        let mine = Believer { grant, lease: Some(lease), until: now() };
        let believes = mine.believes();
        // A delayed answer may come after the answer of the next grant.
        let later = grant..Grant { life: grant.life + 1, fence: 0 };
        let is_late = believes && self.grants.range(later).next().is_some();
        self.tally.fences += u64::from(!self.grants.insert(grant) || is_late);
        if believes {
            self.tally.overlaps += self.believers.iter().filter(|other| other.believes()).count() as u64;
        }
        self.believers.push(mine);
    }

    /// Records that another process continues the grant of a process that has died.
    pub(super) fn resume(&mut self, lease: LeaseGuard<T>) {
        self.tally.resumed += 1;
        let mine = Believer { grant: Grant::of(&lease), lease: Some(lease), until: now() };
        if mine.believes() {
            self.tally.overlaps += self.believers.iter().filter(|other| other.believes()).count() as u64;
        }
        self.believers.push(mine);
    }

    /// Returns the guard for a write.
    pub(super) fn take(&mut self, grant: Grant) -> LeaseGuard<T> {
        let mine = self.believers.iter_mut().find(|believer| believer.grant == grant).expect("it has entered");
        let lease = mine.lease.take().expect("one write at a time");
        mine.until = now() + lease.remaining();
        lease
    }

    pub(super) fn put(&mut self, lease: LeaseGuard<T>) {
        let grant = Grant::of(&lease);
        let mine = self.believers.iter_mut().find(|believer| believer.grant == grant);
        mine.expect("it has entered").lease = Some(lease);
    }

    /// Ends a grant, and returns its guard. The next caller may enter.
    pub(super) fn leave(&mut self, grant: Grant) -> LeaseGuard<T> {
        let place = self.believers.iter().position(|believer| believer.grant == grant).expect("it has entered");
        self.believers.swap_remove(place).lease.expect("one write at a time")
    }

    /// Returns a new item, which begins a new incarnation.
    pub(super) fn newborn(&mut self) -> T {
        self.begun += 1;
        let mut item = T::new("a", 0);
        *item.label() = Some(format!("l{} ", self.begun - 1));
        item
    }

    /// Returns a new number for the item that stores the marks of a deleted incarnation.
    pub(super) fn number_of_grave(&mut self) -> u64 {
        self.graves += 1;
        self.graves - 1
    }

    /// Records that a guard deletes the item with these marks. The delete of a later guard shows
    /// that the delete of an earlier guard was not applied.
    pub(super) fn may_end(&mut self, marks: String) {
        self.ended_by_guards.insert(life_of(&marks), marks);
    }

    /// Adds the incarnations that only the delete of a guard can have ended.
    pub(super) fn with_lives_ended_by_guards(&mut self, lives: Vec<String>) -> Vec<String> {
        let mut all = std::mem::take(&mut self.ended_by_guards);
        all.extend(lives.into_iter().map(|marks| (life_of(&marks), marks)));
        all.into_values().collect()
    }

    /// Returns the number of deletes that were sent with the marks of the deleted incarnation.
    pub(super) fn graves(&self) -> u64 {
        self.graves
    }

    pub(super) fn wrote(&mut self, mark: String, result: &Result<(), Error>) -> Told {
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
        told
    }

    /// Compares the results of the writers with the marks of each incarnation. The first mark of an
    /// incarnation is its number.
    pub(super) fn settle(&mut self, lives: &[String]) {
        let lives: Vec<Vec<&str>> = lives.iter().map(|marks| marks.split_whitespace().collect()).collect();
        let applied: BTreeSet<&str> = lives.iter().flatten().copied().collect();
        self.tally.doubled += (lives.iter().flatten().count() - applied.len()) as u64;
        for (mark, told) in &self.told {
            self.tally.forgotten += u64::from(*told == Told::Done && !applied.contains(&**mark));
            self.tally.denied += u64::from(*told == Told::Refused && applied.contains(&**mark));
        }
        for marks in &lives {
            self.tally.stale += stale(life_of(marks[0]), marks);
        }
    }
}

/// Returns the number of the incarnation with these marks.
pub(super) fn life_of(marks: &str) -> u64 {
    let number = marks.split_whitespace().next().and_then(|mark| mark.strip_prefix('l')?.parse().ok());
    number.expect("a life has a number")
}

/// Returns the number of marks in a wrong place. All marks of a grant are in its own incarnation.
/// No mark of another caller is between them, and no mark of an earlier grant comes after them.
fn stale(life: u64, marks: &[&str]) -> u64 {
    let grants: Vec<Option<Grant>> = marks.iter().map(|mark| Grant::from_mark(mark)).collect();
    let mut last = Grant { life, fence: 0 };
    let mut stale = 0;
    for (place, grant) in grants.iter().enumerate() {
        match grant {
            Some(grant) => {
                stale += u64::from(grant.life != life || *grant < last);
                last = last.max(*grant);
            }
            None => stale += u64::from(grants[place..].contains(&Some(last))),
        }
    }
    stale
}

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{grip::Grip, mark::Mark, terms::Terms};
use crate::{
    codec::Item,
    error::{Error, Locked},
    expression::Standing,
    model::{LockModel, Model},
    plan::Repeats,
    retry::{Late, Release},
};

/// How the writes of a call stand to the leases of their items.
#[derive(Debug, Clone)]
pub(crate) enum Stance {
    /// They do not ask for them.
    Ignoring,
    /// They respect those of others.
    Outside { terms: Terms, asked: Arc<Asked> },
    /// They are made under a lease, and the last of them may end it.
    Holder { grip: Arc<Grip>, ends: Ends },
}

/// The moment that the last request has compared leases with, in epoch milliseconds; [`Asked::NEVER`] if it compared none.
#[derive(Debug)]
pub(crate) struct Asked(AtomicU64);

impl Asked {
    const NEVER: u64 = 0;

    fn remember(&self, moment: Option<u64>) {
        self.0.store(moment.unwrap_or(Self::NEVER), Ordering::Relaxed);
    }

    fn moment(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|moment| *moment != Self::NEVER)
    }
}

/// Whether a write ends the lease that it is made under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    No,
    Yes,
}

impl Stance {
    /// That of a call from outside.
    pub(crate) fn outside(model: &Model, terms: Terms) -> Self {
        match model.lock {
            Some(_) => Self::Outside { terms, asked: Arc::new(Asked(AtomicU64::new(Asked::NEVER))) },
            None => Self::Ignoring,
        }
    }

    /// What becomes of late copies.
    pub(crate) fn late(&self) -> Late {
        match self {
            Self::Ignoring | Self::Outside { .. } => Late::MayPass,
            Self::Holder { .. } => Late::Refused,
        }
    }

    /// What its writes leave in the item that end a lease.
    pub(crate) fn releases(&self, model: &Model) -> Option<Release<'_>> {
        match self {
            Self::Holder { grip, ends: Ends::Yes } => {
                model.lock.map(|lock| Release { attribute: lock.released, owner: &grip.owner })
            }
            Self::Holder { ends: Ends::No, .. } | Self::Outside { .. } | Self::Ignoring => None,
        }
    }

    /// For the attempt that is made now.
    pub(crate) fn standing(&self, repeats: Repeats) -> Standing {
        match self {
            Self::Ignoring => Standing::Ignoring,
            Self::Outside { terms, asked } => {
                let dead_before = match repeats {
                    Repeats::InThisCall => terms.dead_before(),
                    // The time of day would make another request of it.
                    Repeats::Ever => None,
                };
                asked.remember(dead_before);
                Standing::Outside { dead_before }
            }
            Self::Holder { grip, ends } => Standing::Holder(grip.holder(*ends)),
        }
    }

    /// The error that a refused write is, if the lease of the item that it met is the reason. Before the version is looked at.
    pub(crate) fn refusal(
        &self,
        model: &Model,
        table: &Arc<str>,
        met: Option<&Item>,
        (attempts, elapsed): (u32, Duration),
    ) -> Option<Error> {
        let lock = model.lock?;
        match (self, met) {
            (Self::Ignoring, _) | (Self::Outside { .. }, None) => None,
            (Self::Outside { terms, asked }, Some(item)) => {
                let mark = Mark::read(&lock, item);
                mark.is_alive(&lock, asked.moment()).then(|| {
                    Error::Locked(Box::new(Locked {
                        table: Arc::clone(table),
                        owner: mark.owner.as_deref().unwrap_or_default().into(),
                        fence: mark.fence.unwrap_or(0),
                        remaining: mark.remaining(terms.passed()),
                        attempts,
                        elapsed,
                    }))
                })
            }
            (Self::Holder { grip, .. }, met) => match grip.judge(met) {
                Ok(()) => None,
                Err(Error::Lost(lost)) => Some(Error::Lost(grip.lose(lost))),
                Err(error) => Some(error),
            },
        }
    }
}

impl Mark {
    /// Whether somebody holds the lock, by the moment that a condition has compared it with.
    fn is_alive(&self, lock: &LockModel, dead_before: Option<u64>) -> bool {
        let is_dead = |moment| self.until.is_some_and(|until| until < lock.unit.to_millis(lock.unit.moment(moment)));
        self.owner.is_some() && !dead_before.is_some_and(is_dead)
    }
}

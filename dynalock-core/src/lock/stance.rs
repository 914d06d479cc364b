use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use super::{
    grip::Grip,
    mark::Mark,
    row::{Beside, Row},
    terms::Terms,
};
use crate::{
    codec::{Item, key_of},
    error::{Error, Locked, Spent},
    expression::Standing,
    model::{LockModel, Model},
    plan::Repeats,
    retry::{Effort, Release},
    version::LateCopies,
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

/// What a call has asked of the lease in its way, and learned.
#[derive(Debug)]
pub(crate) struct Asked {
    /// The moment that the last request has compared the lease with, in epoch milliseconds; [`Asked::NEVER`] if it compared none.
    moment: AtomicU64,
    /// Whether requests compare it at all.
    compares: AtomicBool,
}

impl Asked {
    const NEVER: u64 = 0;

    /// A lease beside the item is compared with nothing until a dead one was met: a request that takes one away writes its row, even if there
    /// is none.
    fn nothing_yet(lock: LockModel) -> Self {
        Self { moment: AtomicU64::new(Self::NEVER), compares: AtomicBool::new(lock.is_in_item()) }
    }

    /// Remembers the moment that a request compares the lease with, and returns it.
    fn compare(&self, moment: Option<u64>) -> Option<u64> {
        self.moment.store(moment.unwrap_or(Self::NEVER), Ordering::Relaxed);
        moment
    }

    /// [`compare`](Self::compare) for a request that is made now.
    fn compare_now(&self, terms: &Terms) -> Option<u64> {
        self.compare(terms.dead_before().filter(|_| self.compares.load(Ordering::Relaxed)))
    }

    fn moment(&self) -> Option<u64> {
        Some(self.moment.load(Ordering::Relaxed)).filter(|moment| *moment != Self::NEVER)
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
            Some(lock) => Self::Outside { terms, asked: Arc::new(Asked::nothing_yet(lock)) },
            None => Self::Ignoring,
        }
    }

    /// What becomes of late copies.
    pub(crate) fn late(&self) -> LateCopies {
        match self {
            Self::Ignoring | Self::Outside { .. } => LateCopies::MayPass,
            Self::Holder { .. } => LateCopies::AreRefused,
        }
    }

    /// What its writes leave in the item that end a lease.
    pub(crate) fn releases(&self, model: &Model) -> Option<Release<'_>> {
        match self {
            Self::Holder { grip, ends: Ends::Yes } => {
                model.lock_in_item().map(|lock| Release { attribute: lock.released, owner: &grip.owner })
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
                    Repeats::InThisCall => asked.compare_now(terms),
                    // The time of day would make another request of it.
                    Repeats::Ever => asked.compare(None),
                };
                Standing::Outside { dead_before }
            }
            Self::Holder { grip, ends } => Standing::Holder(grip.holder(*ends)),
        }
    }

    /// Takes a dead head out of the queue of the item that a refused write has met: `true` if the write is to be sent again. (A dead owner is
    /// taken away by the write itself, which an expression cannot do with a queue that may not be there.)
    pub(crate) async fn make_way(
        &self,
        effort: &mut Effort,
        model: &'static Model,
        table: &Arc<str>,
        met: &Item,
    ) -> Result<bool, Error> {
        let (Self::Outside { terms, .. }, Some(layout)) = (self, model.lock) else { return Ok(false) };
        let mark = Mark::read(&layout, met);
        if !mark.has_dead_head(terms) {
            return Ok(false);
        }
        let key = met.iter().filter(|(name, _)| model.is_key(name)).map(|(name, value)| (name.clone(), value.clone()));
        let row = Row { table: Arc::clone(table), key: key.collect(), layout, existing: None, beside: Beside::Nothing };
        row.evict_dead(effort, &mark, terms).await
    }

    /// Whether a write that was refused by the row beside its item may pass if it is made anew: the lease there is dead, and taken away
    /// by the next request, or is the holder's own.
    pub(crate) fn clears(&self, model: &Model, row: Option<&Item>) -> bool {
        let Some(lock) = model.lock_beside() else { return false };
        match self {
            Self::Ignoring => false,
            Self::Outside { terms, asked } => {
                let mark = Mark::of(&lock, row);
                let is_dead = !mark.is_alive(&lock, terms.dead_before());
                asked.compares.fetch_or(is_dead, Ordering::Relaxed);
                is_dead
            }
            Self::Holder { grip, .. } => grip.judge(row).is_ok(),
        }
    }

    /// The error that a write would be if it met this item now, and the lease in it were the reason.
    pub(crate) fn refusal_now(&self, model: &Model, table: &Arc<str>, item: &Item, spent: Spent) -> Option<Error> {
        if let Self::Outside { terms, asked } = self {
            asked.compare_now(terms);
        }
        self.refusal(model, table, Some(item), spent)
    }

    /// The error that a refused write is, if the lease that it met is the reason, in the item or in the row beside it. Before the version is
    /// looked at.
    pub(crate) fn refusal(&self, model: &Model, table: &Arc<str>, met: Option<&Item>, spent: Spent) -> Option<Error> {
        let lock = model.lock?;
        match (self, met) {
            (Self::Ignoring, _) | (Self::Outside { .. }, None) => None,
            (Self::Outside { terms, asked }, Some(item)) => {
                let mark = Mark::read(&lock, item);
                mark.is_alive(&lock, asked.moment()).then(|| {
                    Error::Locked(Box::new(Locked {
                        table: Arc::clone(table),
                        name: shown_key(model, item),
                        owner: mark.holder().unwrap_or_default().into(),
                        fence: mark.last_fence().unwrap_or(0),
                        remaining: mark.remaining(terms.passed(), terms.ttl),
                        spent,
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

/// The key of the item that a lease was met in, or in the row beside it, as far as errors show it.
fn shown_key(model: &Model, met: &Item) -> Option<Arc<str>> {
    let key = key_of(model, met)?;
    model.shown_key(&if model.lock_beside().is_some() { key.of_item() } else { key })
}

impl Mark {
    /// Whether somebody holds the lock, by the moment that a condition has compared it with.
    fn is_alive(&self, lock: &LockModel, dead_before: Option<u64>) -> bool {
        let is_dead = |moment| self.until.is_some_and(|until| until < lock.unit.to_millis(lock.unit.moment(moment)));
        // Whoever stands in the queue is for others to take out.
        self.head().is_some() || (self.owner.is_some() && !dead_before.is_some_and(is_dead))
    }
}

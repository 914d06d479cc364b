use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use super::{
    clause::{AfterWrite, LeaseClause},
    grant::Grant,
    options::LeaseOptions,
    queue::dequeue::{DequeueResult, evict},
    record::LockRecord,
    row::{LeaseSubject, Row},
};
use crate::{
    codec::{Item, key_of},
    error::{Error, Locked, Spent},
    model::{LockModel, Model},
    retry::{Attempts, Release},
    version::{LateCopies, Repeats},
};

/// How the writes of a call stand to the leases of their items.
#[derive(Debug, Clone)]
pub(crate) enum LeasePolicy {
    /// They do not ask for them.
    Ignoring,
    /// They respect those of others.
    Outside { options: LeaseOptions, asked: Arc<LeaseComparison> },
    /// They are made under a lease, and the last of them may end it.
    Holder { grant: Arc<Grant>, ends: AfterWrite },
}

/// What a call has asked of the lease in its way, and learned.
#[derive(Debug)]
pub(crate) struct LeaseComparison {
    /// The moment that the last request has compared the lease with, in epoch milliseconds; [`LeaseComparison::NEVER`] if it compared none.
    moment: AtomicU64,
    /// Whether requests compare it at all.
    compares: AtomicBool,
}

impl LeaseComparison {
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
    fn compare_now(&self, options: &LeaseOptions) -> Option<u64> {
        self.compare(options.expired_before().filter(|_| self.compares.load(Ordering::Relaxed)))
    }

    fn moment(&self) -> Option<u64> {
        Some(self.moment.load(Ordering::Relaxed)).filter(|moment| *moment != Self::NEVER)
    }
}

impl LeasePolicy {
    /// That of a call from outside.
    pub(crate) fn outside(model: &Model, options: LeaseOptions) -> Self {
        match model.lock {
            Some(lock) => Self::Outside { options, asked: Arc::new(LeaseComparison::nothing_yet(lock)) },
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
            Self::Holder { grant, ends: AfterWrite::Release } => {
                model.lock_in_item().map(|lock| Release { attribute: lock.released, owner: &grant.owner })
            }
            Self::Holder { ends: AfterWrite::Renew, .. } | Self::Outside { .. } | Self::Ignoring => None,
        }
    }

    /// For the attempt that is made now.
    pub(crate) fn clause(&self, repeats: Repeats) -> LeaseClause {
        match self {
            Self::Ignoring => LeaseClause::Ignoring,
            Self::Outside { options, asked } => {
                let expired_before = match repeats {
                    Repeats::InThisCall => asked.compare_now(options),
                    // The time of day would make another request of it.
                    Repeats::Ever => asked.compare(None),
                };
                LeaseClause::Outside { expired_before }
            }
            Self::Holder { grant, ends } => LeaseClause::Holder(grant.holder(*ends)),
        }
    }

    /// Takes a dead head out of the queue of the item that a refused write has met: `true` if the write is to be sent again. (A dead owner is
    /// taken away by the write itself, which an expression cannot do with a queue that may not be there.)
    pub(crate) async fn make_way(
        &self,
        attempts: &mut Attempts,
        model: &'static Model,
        table: &Arc<str>,
        met: &Item,
    ) -> Result<bool, Error> {
        let (Self::Outside { options, .. }, Some(layout)) = (self, model.lock) else { return Ok(false) };
        let record = LockRecord::read(&layout, met);
        if !record.has_expired_head(options) {
            return Ok(false);
        }
        let key = met.iter().filter(|(name, _)| model.is_key(name)).map(|(name, value)| (name.clone(), value.clone()));
        let subject = LeaseSubject::Item { key_attribute: model.partition_key.name };
        let row = Row { table: Arc::clone(table), key: key.collect(), layout, subject };
        Ok(evict(&row, attempts, &record, options).await? != DequeueResult::StillThere)
    }

    /// Whether a write that was refused by the row beside its item may pass if it is made anew: the lease there is dead, and taken away
    /// by the next request, or is the holder's own.
    pub(crate) fn clears(&self, model: &Model, row: Option<&Item>) -> bool {
        let Some(lock) = model.lock_beside() else { return false };
        match self {
            Self::Ignoring => false,
            Self::Outside { options, asked } => {
                let record = LockRecord::of(&lock, row);
                let is_dead = !record.is_alive(&lock, options.expired_before());
                asked.compares.fetch_or(is_dead, Ordering::Relaxed);
                is_dead
            }
            Self::Holder { grant, .. } => grant.judge(row).is_ok(),
        }
    }

    /// The error that a write would be if it met this item now, and the lease in it were the reason.
    pub(crate) fn refusal_now(&self, model: &Model, table: &Arc<str>, item: &Item, spent: Spent) -> Option<Error> {
        if let Self::Outside { options, asked } = self {
            asked.compare_now(options);
        }
        self.refusal(model, table, Some(item), spent)
    }

    /// The error that a refused write is, if the lease that it met is the reason, in the item or in the row beside it. Before the version is
    /// looked at.
    pub(crate) fn refusal(&self, model: &Model, table: &Arc<str>, met: Option<&Item>, spent: Spent) -> Option<Error> {
        let lock = model.lock?;
        match (self, met) {
            (Self::Ignoring, _) | (Self::Outside { .. }, None) => None,
            (Self::Outside { options, asked }, Some(item)) => {
                let record = LockRecord::read(&lock, item);
                record.is_alive(&lock, asked.moment()).then(|| {
                    Error::Locked(Box::new(Locked {
                        table: Arc::clone(table),
                        name: shown_key(model, item),
                        owner: record.holder().unwrap_or_default().into(),
                        fence: record.last_fence().unwrap_or(0),
                        remaining: record.remaining(options.passed(), options.ttl),
                        spent,
                    }))
                })
            }
            (Self::Holder { grant, .. }, met) => match grant.judge(met) {
                Ok(()) => None,
                Err(Error::Lost(lost)) => Some(Error::Lost(grant.lose(lost))),
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

impl LockRecord {
    /// Whether somebody holds the lock, by the moment that a condition has compared it with.
    fn is_alive(&self, lock: &LockModel, expired_before: Option<u64>) -> bool {
        let is_dead = |moment| self.until.is_some_and(|until| until < lock.unit.to_millis(lock.unit.moment(moment)));
        // Whoever stands in the queue is for others to take out.
        self.head().is_some() || (self.owner.is_some() && !expired_before.is_some_and(is_dead))
    }
}

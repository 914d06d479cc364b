use std::sync::Arc;

use super::{
    clause::{AfterWrite, LeaseClause},
    grant::Grant,
    options::LeaseOptions,
    owner::Owner,
    queue::dequeue::{DequeueResult, evict},
    record::LockRecord,
    row::{LeaseSubject, Row},
};
use crate::{
    codec::{Item, key_of},
    error::{Error, Locked, Spent},
    model::{ItemRef, LockModel, Model},
    retry::Attempts,
    version::{LateCopies, Repeats},
};

/// How the writes of a call treat the leases of their items.
#[derive(Debug, Clone)]
pub(crate) enum LeasePolicy {
    /// They ignore leases.
    Ignoring,
    /// They respect the leases of other callers.
    Outside { options: LeaseOptions },
    /// They are made under a lease, and the last of them may release it.
    Holder { grant: Arc<Grant>, ends: AfterWrite },
}

/// What a write from outside does with the separate row of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompanionWrite {
    /// It checks the row, so that an item without any lease request gets no row.
    Check,
    /// It removes an expired lease, because an earlier request of the call has met one.
    RemoveExpired,
}

/// The sign of a release in an item. Only the holder's own release leaves the same.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release<'a> {
    pub(crate) attribute: &'static str,
    pub(crate) owner: &'a str,
}

impl LeasePolicy {
    /// The policy of a call without the lease.
    pub(crate) fn outside(model: &Model, options: LeaseOptions) -> Self {
        match model.lock {
            Some(_) => Self::Outside { options },
            None => Self::Ignoring,
        }
    }

    /// What becomes of late copies of the writes.
    pub(crate) fn late(&self) -> LateCopies {
        match self {
            Self::Ignoring | Self::Outside { .. } => LateCopies::MayPass,
            Self::Holder { .. } => LateCopies::AreRefused,
        }
    }

    /// The sign that the writes leave in the item if they release the lease.
    pub(crate) fn release(&self, model: &Model) -> Option<Release<'_>> {
        match self {
            Self::Holder { grant, ends: AfterWrite::Release } => {
                model.lock_in_item().map(|lock| Release { attribute: lock.released, owner: &grant.owner })
            }
            Self::Holder { ends: AfterWrite::Renew, .. } | Self::Outside { .. } | Self::Ignoring => None,
        }
    }

    /// What an attempt that begins now asks of the lease, and does to it. Each attempt of a holder has a higher beat.
    pub(crate) fn clause(&self, model: &Model, repeats: Repeats, companion: CompanionWrite) -> LeaseClause {
        match self {
            Self::Ignoring => LeaseClause::Ignoring,
            Self::Outside { .. } => {
                let expired_before = match repeats {
                    Repeats::InThisCall => self.judged_at(model, companion),
                    // With the time of day, the repetition would be another request.
                    Repeats::Ever => None,
                };
                LeaseClause::Outside { expired_before }
            }
            Self::Holder { grant, ends } => LeaseClause::Holder(grant.holder(*ends)),
        }
    }

    /// The moment that an attempt from outside compares the end of a lease with, in epoch milliseconds. `None` if it compares none.
    pub(crate) fn judged_at(&self, model: &Model, companion: CompanionWrite) -> Option<u64> {
        let Self::Outside { options } = self else { return None };
        // A condition on the end lets the write pass an expired lease, which the write then removes. In a separate row that would be
        // an update of the row, also for an item that nobody leases.
        let compares = model.lock_in_item().is_some() || companion == CompanionWrite::RemoveExpired;
        options.expired_before().filter(|_| compares)
    }

    /// Whether a write that the separate row has refused can pass when it is planned anew: the lease in the row has expired, or is the
    /// holder's own.
    pub(crate) fn may_pass(&self, model: &Model, row: Option<&Item>) -> bool {
        let Some(lock) = model.lock_in_row() else { return false };
        match self {
            Self::Ignoring => false,
            Self::Outside { options } => !LockRecord::of(&lock, row).is_alive(&lock, options.expired_before()),
            Self::Holder { grant, .. } => grant.judge(row).is_ok(),
        }
    }

    /// The error of a refused write, if the lease that it met is the reason: in the item, or in the separate row. `judged_at` is the
    /// moment that the request compared the lease with.
    pub(crate) fn refusal(
        &self,
        ItemRef { model, table, .. }: &ItemRef,
        met: Option<&Item>,
        judged_at: Option<u64>,
        spent: Spent,
    ) -> Option<Error> {
        let lock = model.lock?;
        match (self, met) {
            (Self::Ignoring, _) | (Self::Outside { .. }, None) => None,
            (Self::Outside { options }, Some(item)) => {
                let record = LockRecord::read(&lock, item);
                record.is_alive(&lock, judged_at).then(|| {
                    Error::Locked(Box::new(Locked {
                        table: Arc::clone(table),
                        name: shown_key(model, item),
                        owner: Owner::parse(record.holder().unwrap_or_default()).label.into(),
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

/// Removes an expired head from the queue of the item, or of the row, that refused a write. Returns `true` if the write can be sent again.
///
/// The write itself removes an expired owner. It cannot remove a head, because an expression cannot remove the first element of a list that
/// may be missing.
pub(crate) async fn evict_expired_head(
    attempts: &mut Attempts,
    policy: &LeasePolicy,
    ItemRef { model, table, .. }: &ItemRef,
    met: &Item,
) -> Result<bool, Error> {
    let (LeasePolicy::Outside { options }, Some(layout)) = (policy, model.lock) else { return Ok(false) };
    let record = LockRecord::read(&layout, met);
    if !record.has_expired_head(options) {
        return Ok(false);
    }
    let key = met.iter().filter(|(name, _)| model.is_key(name)).map(|(name, value)| (name.clone(), value.clone()));
    let subject = LeaseSubject::Item { key_attribute: model.partition_key.name };
    let row = Row { table: Arc::clone(table), key: key.collect(), layout, subject };
    Ok(evict(&row, attempts, &record, options).await? != DequeueResult::StillThere)
}

/// The key of the item whose lease was met, in the item or in a separate row, as far as errors show it.
fn shown_key(model: &Model, met: &Item) -> Option<Arc<str>> {
    let key = key_of(model, met)?;
    model.shown_key(&if model.lock_in_row().is_some() { key.of_item() } else { key })
}

impl LockRecord {
    /// Whether the lock is held, by the moment that a condition has compared its end with.
    fn is_alive(&self, lock: &LockModel, expired_before: Option<u64>) -> bool {
        let has_expired =
            |moment| self.until.is_some_and(|until| until < lock.unit.to_millis(lock.unit.moment(moment)));
        // A head that has expired is removed by a request of its own, so it counts as a holder here.
        self.head().is_some() || (self.owner.is_some() && !expired_before.is_some_and(has_expired))
    }
}

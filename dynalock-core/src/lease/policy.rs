use std::sync::Arc;

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
    error::{Error, Spent},
    model::{ItemRef, LockModel, Model},
    retry::Attempts,
    version::{LateCopies, Repeats},
};

#[derive(Debug, Clone)]
pub(crate) enum LeasePolicy {
    Ignoring,
    Outside { options: LeaseOptions },
    Holder { grant: Arc<Grant>, ends: AfterWrite },
}

/// The effect of a write on the separate lease row, if the caller does not hold the lease. The
/// write either only checks the row, or also removes an expired lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompanionWrite {
    Check,
    /// The write removes the expired lease that made DynamoDB refuse an earlier attempt of the
    /// call.
    RemoveExpired,
}

/// The effect of a release by the holder: the release stores the text `owner` in the attribute
/// `attribute`. The attribute contains the owner of the last release.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release<'a> {
    pub(crate) attribute: &'static str,
    pub(crate) owner: &'a str,
}

impl LeasePolicy {
    pub(crate) fn outside(model: &Model, options: LeaseOptions) -> Self {
        match model.lock {
            Some(_) => Self::Outside { options },
            None => Self::Ignoring,
        }
    }

    pub(crate) fn late(&self) -> LateCopies {
        match self {
            Self::Ignoring | Self::Outside { .. } => LateCopies::MayPass,
            Self::Holder { .. } => LateCopies::AreRefused,
        }
    }

    pub(crate) fn release(&self, model: &Model) -> Option<Release<'_>> {
        match self {
            Self::Holder { grant, ends: AfterWrite::Release } => {
                model.lock_in_item().map(|lock| Release { attribute: lock.released, owner: &grant.owner })
            }
            // A delete leaves no released owner in the table.
            Self::Holder { ends: AfterWrite::Renew | AfterWrite::Delete, .. }
            | Self::Outside { .. }
            | Self::Ignoring => None,
        }
    }

    /// Returns the condition and the changes of the lease attributes for one attempt of a write.
    /// For a write that renews the lease, each call of `clause` takes the next heartbeat number.
    pub(crate) fn clause(&self, model: &Model, repeats: Repeats, companion: CompanionWrite) -> LeaseClause {
        match self {
            Self::Ignoring => LeaseClause::Ignoring,
            Self::Outside { .. } => {
                let expired_before = match repeats {
                    Repeats::InThisCall => self.judged_at(model, companion),
                    // All repetitions of a write with an idempotency token must be identical
                    // requests, so the condition of the write cannot contain the current time.
                    Repeats::Ever => None,
                };
                LeaseClause::Outside { expired_before }
            }
            Self::Holder { grant, ends } => LeaseClause::Holder(grant.holder(*ends)),
        }
    }

    /// Returns the time, in epoch milliseconds, with which the condition of a write compares the
    /// stored end of the lease.
    pub(crate) fn judged_at(&self, model: &Model, companion: CompanionWrite) -> Option<u64> {
        let Self::Outside { options } = self else { return None };
        // An update would create a lease row for an item that was never leased, so the first
        // attempt only checks a separate lease row.
        let compares = model.lock_in_item().is_some() || companion == CompanionWrite::RemoveExpired;
        options.expired_before().filter(|_| compares)
    }

    /// Returns whether another attempt can succeed after DynamoDB refused a write because of the
    /// separate lease row.
    pub(crate) fn may_pass(&self, model: &Model, row: Option<&Item>) -> bool {
        let Some(lock) = model.lock_in_row() else { return false };
        match self {
            Self::Ignoring => false,
            Self::Outside { options } => !LockRecord::of(&lock, row).is_alive(&lock, options.expired_before()),
            Self::Holder { grant, .. } => grant.lease_error(row).is_none(),
        }
    }

    /// Records in the guard the result of a refused write. The row shows either the loss of the
    /// lease, or a heartbeat number. The number of the holder's next heartbeat must be higher.
    pub(crate) fn learn(&self, met: Option<&Item>) {
        if let Self::Holder { grant, .. } = self {
            grant.learn(met);
        }
    }

    /// Returns `None` if DynamoDB refused the request for a reason other than a lease. `judged_at`
    /// is the time with which the refused request compared the end of the lease.
    pub(crate) fn lease_error(
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
                record.is_alive(&lock, judged_at).then(|| record.locked(table, shown_key(model, item), options, spent))
            }
            (Self::Holder { grant, .. }, met) => grant.lease_error(met),
        }
    }
}

/// Removes the head of an item's queue if the lease of the head has ended. Returns `true` if the
/// expired head is no longer in the queue, so that the call can repeat the refused write.
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

/// Returns `None` if errors must not show the key of the item.
fn shown_key(model: &Model, met: &Item) -> Option<Arc<str>> {
    let key = key_of(model, met)?;
    model.shown_key(&if model.lock_in_row().is_some() { key.of_item() } else { key })
}

impl LockRecord {
    /// `expired_before` is the time with which the condition of the refused request compared the
    /// stored end of the lease.
    fn is_alive(&self, lock: &LockModel, expired_before: Option<u64>) -> bool {
        // Some types store the end of a lease in a coarser unit than milliseconds, so the code
        // rounds `expired_before` like the condition of the request.
        let has_expired =
            |moment| self.until.is_some_and(|until| until < lock.unit.to_millis(lock.unit.moment(moment)));
        // The head of a queue blocks the write even after the end of its lease, because only a
        // separate request can remove the head.
        self.head().is_some() || (self.owner.is_some() && !expired_before.is_some_and(has_expired))
    }
}

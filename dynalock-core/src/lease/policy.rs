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

/// The treatment of leases by the writes of one call.
#[derive(Debug, Clone)]
pub(crate) enum LeasePolicy {
    /// The writes ignore leases.
    Ignoring,
    /// The writes are refused while another caller holds the lease.
    Outside { options: LeaseOptions },
    /// The writes require the caller's own lease. The last write of the call may release the lease.
    Holder { grant: Arc<Grant>, ends: AfterWrite },
}

/// How a write by a caller without the lease uses the separate lease row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompanionWrite {
    /// The write checks the lease row. The check adds no lease row for an item that was never
    /// leased.
    Check,
    /// The write removes an expired lease. An earlier attempt of the call was refused because of
    /// this lease.
    RemoveExpired,
}

/// The attributes by which a release in an item can be recognised. Only the holder's own release
/// leaves these values in the attributes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release<'a> {
    pub(crate) attribute: &'static str,
    pub(crate) owner: &'a str,
}

impl LeasePolicy {
    /// Returns the policy of a call that does not hold the lease.
    pub(crate) fn outside(model: &Model, options: LeaseOptions) -> Self {
        match model.lock {
            Some(_) => Self::Outside { options },
            None => Self::Ignoring,
        }
    }

    /// Returns whether DynamoDB may still apply a delayed duplicate of a write under this policy.
    pub(crate) fn late(&self) -> LateCopies {
        match self {
            Self::Ignoring | Self::Outside { .. } => LateCopies::MayPass,
            Self::Holder { .. } => LateCopies::AreRefused,
        }
    }

    /// Returns the attributes that identify the release, if the writes release the lease.
    pub(crate) fn release(&self, model: &Model) -> Option<Release<'_>> {
        match self {
            Self::Holder { grant, ends: AfterWrite::Release } => {
                model.lock_in_item().map(|lock| Release { attribute: lock.released, owner: &grant.owner })
            }
            Self::Holder { ends: AfterWrite::Renew, .. } | Self::Outside { .. } | Self::Ignoring => None,
        }
    }

    /// Returns the lease clause of an attempt that begins now. Each attempt of a holder has a
    /// higher beat.
    pub(crate) fn clause(&self, model: &Model, repeats: Repeats, companion: CompanionWrite) -> LeaseClause {
        match self {
            Self::Ignoring => LeaseClause::Ignoring,
            Self::Outside { .. } => {
                let expired_before = match repeats {
                    Repeats::InThisCall => self.judged_at(model, companion),
                    // The current time would change the text of the repeated request.
                    Repeats::Ever => None,
                };
                LeaseClause::Outside { expired_before }
            }
            Self::Holder { grant, ends } => LeaseClause::Holder(grant.holder(*ends)),
        }
    }

    /// Returns the time, in epoch milliseconds, with which an attempt without the lease compares
    /// the end of a lease. Returns `None` if the attempt does not compare the end of a lease.
    pub(crate) fn judged_at(&self, model: &Model, companion: CompanionWrite) -> Option<u64> {
        let Self::Outside { options } = self else { return None };
        // A write that compares the end also removes the expired lease. For a separate row, the
        // removal is an update of the row, even for an item that was never leased. The first
        // attempt therefore only checks the row.
        let compares = model.lock_in_item().is_some() || companion == CompanionWrite::RemoveExpired;
        options.expired_before().filter(|_| compares)
    }

    /// Returns whether another attempt can succeed after the separate row refused a write. The
    /// result is `true` if the lease in the row has expired, or belongs to the caller.
    pub(crate) fn may_pass(&self, model: &Model, row: Option<&Item>) -> bool {
        let Some(lock) = model.lock_in_row() else { return false };
        match self {
            Self::Ignoring => false,
            Self::Outside { options } => !LockRecord::of(&lock, row).is_alive(&lock, options.expired_before()),
            Self::Holder { grant, .. } => grant.refusal(row).is_none(),
        }
    }

    /// Raises the next beat of a holder above the beat of the separate row, which refused a write.
    pub(crate) fn pass_beat(&self, row: Option<&Item>) {
        if let Self::Holder { grant, .. } = self {
            grant.pass_beat(row);
        }
    }

    /// Returns the error of a refused write if a lease is the reason. The lease is in the item or
    /// in the separate row. `judged_at` is the time with which the request compared the end of the
    /// lease.
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

/// Removes an expired head from the queue of the item or row that refused a write. Returns `true`
/// if the write can be sent again.
///
/// The write itself can remove an expired owner, but not an expired head. An expression cannot
/// remove the first element of a list that may be missing.
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

/// Returns the key of the item whose lease refused the write, if errors may show it.
fn shown_key(model: &Model, met: &Item) -> Option<Arc<str>> {
    let key = key_of(model, met)?;
    model.shown_key(&if model.lock_in_row().is_some() { key.of_item() } else { key })
}

impl LockRecord {
    /// Returns whether the lock was held at the time with which the condition compared its end.
    fn is_alive(&self, lock: &LockModel, expired_before: Option<u64>) -> bool {
        // The stored end has a coarser unit in some tables. The comparison rounds in the same way
        // as the condition.
        let has_expired =
            |moment| self.until.is_some_and(|until| until < lock.unit.to_millis(lock.unit.moment(moment)));
        // An expired head counts as a holder, because only a separate request removes it.
        self.head().is_some() || (self.owner.is_some() && !expired_before.is_some_and(has_expired))
    }
}

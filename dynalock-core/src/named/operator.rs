//! What operators see and do.

use std::time::Duration;

use super::{
    guard::payload_of,
    info::{LockInfo, Waiter},
    list::LockList,
    locks::{Locks, MODEL},
};
use crate::{
    codec::Item,
    error::Result,
    lease::{
        name::parts,
        queue::{dequeue::DequeueResult, request::EvictReason},
        record::LockRecord,
    },
    model::LockModel,
    operation::Failure,
    retry::{Answered, Attempts},
};

impl Locks {
    /// What is written down about a lock; nothing if it was never held.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`](crate::Error::InvalidKey), [`Error::TableNotFound`](crate::Error::TableNotFound),
    /// [`Error::Rejected`](crate::Error::Rejected), [`Error::Exhausted`](crate::Error::Exhausted).
    pub async fn inspect(&self, name: impl AsRef<str>) -> Result<Option<LockInfo>> {
        let name = name.as_ref();
        let row = self.row(name)?;
        let item = Attempts::new(&self.connection, self.limits).read(&row.get(true)).await?;
        Ok(item.and_then(|item| self.info(&item)))
    }

    /// What is written down about all locks of the table, in no order and not of one moment: a Scan, page by page.
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn show(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let mut list = locks.list();
    /// while let Some(lock) = list.next().await {
    ///     let lock = lock?;
    ///     println!("{} {:?}", lock.name, lock.owner);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list(&self) -> LockList {
        LockList::new(self.clone())
    }

    /// Nothing for a row that is none of a lock.
    pub(super) fn info(&self, item: &Item) -> Option<LockInfo> {
        let (name, namespace) = parts(item.get(MODEL.partition_key.name)?.as_s().ok()?);
        let record = LockRecord::read(&LockModel::DEFAULT, item);
        let owner = record.holder().map(str::to_owned);
        let remaining = match &owner {
            Some(_) => record.remaining(self.options.now(), self.options.ttl),
            None => Duration::ZERO,
        };
        Some(LockInfo {
            name: name.to_owned(),
            namespace: namespace.map(str::to_owned),
            owner,
            waiting: record.queue.len().saturating_sub(1),
            fence: record.last_fence()?,
            remaining,
            payload: payload_of(item),
        })
    }

    /// Deletes the row of a lock that will not be needed again: if nobody holds it. Should the name come back all the same, its fence goes on
    /// above the old one: fences start at the time of day, and a row is deleted only when its fence is a minute below that. (It is where a
    /// lock is not granted a thousand times a second for all of its life, or for the first time within the last minute.) The clocks of all
    /// machines must agree within that minute.
    ///
    /// An acquire that was sent before the row was deleted, and arrives more than a minute later, begins the fence at the time at which it was sent:
    /// that may be below the fences of the deleted row. Retire a lock when no caller asks for it any more.
    ///
    /// `false` if it is held, or too young; `true` if there is no row any more. Nothing else deletes one: a TTL on the table would
    /// delete locks that are held.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`](crate::Error::InvalidKey), [`Error::TableNotFound`](crate::Error::TableNotFound),
    /// [`Error::Rejected`](crate::Error::Rejected), [`Error::Exhausted`](crate::Error::Exhausted).
    pub async fn retire(&self, name: impl AsRef<str>) -> Result<bool> {
        const MARGIN_MILLIS: u64 = 60_000;
        let row = self.row(name.as_ref())?;
        let delete = row.retire(self.options.now().saturating_sub(MARGIN_MILLIS));
        let client = self.connection.client.clone();
        let mut attempts = Attempts::new(&self.connection, self.limits);
        let met = attempts.repeat(&self.table, || async {
            match Box::pin(delete.clone().send(&client)).await {
                Ok(()) => Ok(None),
                Err(Failure::Condition(met)) => Ok(Some(met)),
                Err(failure) => Err(failure),
            }
        });
        match met.await? {
            None => Ok(true),
            Some(Some(_)) => Ok(false),
            // Not there, or an engine that does not return it.
            Some(None) => Ok(attempts.read(&row.get(true)).await?.is_none()),
        }
    }

    /// Takes a lock away from its holder, if the lock is still held under this fence. The call is for operators. The
    /// holder learns of it at its next heartbeat and may work until then. Only systems that check the fence are safe
    /// from this work.
    ///
    /// Returns `false` if the lock is held under another fence, or not held. If a reply was lost, `true` means that
    /// the grant under this fence is over: this call ended it, or its holder released the lock.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`](crate::Error::InvalidKey), [`Error::TableNotFound`](crate::Error::TableNotFound),
    /// [`Error::Rejected`](crate::Error::Rejected), [`Error::Exhausted`](crate::Error::Exhausted).
    pub async fn break_lock(&self, name: impl AsRef<str>, expected_fence: u64) -> Result<bool> {
        let row = self.row(name.as_ref())?;
        let mut attempts = Attempts::new(&self.connection, self.limits);
        let met = match attempts.update(|| row.take_away(expected_fence)).await? {
            Answered::Applied(_) => return Ok(true),
            Answered::Refused(met) => met,
        };
        let record = LockRecord::of(&row.layout, met.as_ref());
        match record.head() {
            Some(_) if record.last_fence() == Some(expected_fence) => {
                let mut attempts = Attempts::new(&self.connection, self.limits);
                Ok(match row.take_out(&mut attempts, &record, EvictReason::Operator, &self.options).await? {
                    DequeueResult::Removed => true,
                    // By an attempt whose reply was lost; or it has left.
                    DequeueResult::AlreadyGone => attempts.is_in_doubt(),
                    DequeueResult::StillThere => false,
                })
            }
            // By an attempt whose reply was lost, if there was such a grant; or its holder has released it.
            Some(_) | None => Ok(attempts.is_in_doubt() && record.fence.is_some_and(|last| last >= expected_fence)),
        }
    }

    /// Who stands in the fair queue of a lock, the holder first; nobody if it is not in use. Of a lock that is held without the queue it is
    /// empty: [`inspect`](Self::inspect) says who holds it.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidKey`](crate::Error::InvalidKey), [`Error::TableNotFound`](crate::Error::TableNotFound),
    /// [`Error::Rejected`](crate::Error::Rejected), [`Error::Exhausted`](crate::Error::Exhausted).
    pub async fn waiters(&self, name: impl AsRef<str>) -> Result<Vec<Waiter>> {
        let row = self.row(name.as_ref())?;
        let item = Attempts::new(&self.connection, self.limits).read(&row.get(true)).await?;
        let queue = LockRecord::of(&LockModel::DEFAULT, item.as_ref()).queue;
        Ok(queue.into_iter().enumerate().map(|(position, owner)| Waiter { position, owner }).collect())
    }
}

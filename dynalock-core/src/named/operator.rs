//! Calls for operators.

use super::{
    info::{LockInfo, QueuePlace},
    list::LockList,
    locks::Locks,
    settings::Settings,
};
use crate::{
    error::Result,
    lease::{
        queue::{
            dequeue::{DequeueResult, dequeue},
            request::DequeueReason,
        },
        record::LockRecord,
    },
    model::LockModel,
    operation::Failure,
    retry::{Answered, Attempts},
};

/// How far below the time of day the fence of a row must be before the row is deleted.
const MARGIN_MILLIS: u64 = 60_000;

impl Locks {
    /// Returns the state of a lock, or `None` if the lock has no row: it was never held, or was [retired](Self::retire).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// if let Some(info) = locks.inspect("nightly-report").await? {
    ///     println!("held by {:?} for {:?} more", info.owner, info.remaining);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The [errors of every call](Locks#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The future can be dropped at any time: a read changes nothing.
    pub async fn inspect(&self, name: impl AsRef<str>) -> Result<Option<LockInfo>> {
        let Settings { connection, options, limits, .. } = &self.settings;
        let row = self.settings.row(name.as_ref())?;
        let item = Attempts::new(connection, *limits).read(&row.get(true)).await?;
        Ok(item.and_then(|item| LockInfo::read(options, &item)))
    }

    /// Returns the state of all locks of the table, by a Scan, page by page. The locks come in no order, and their
    /// states are of different moments.
    ///
    /// # Examples
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
        LockList::new(self.settings.clone())
    }

    /// Deletes the row of a lock that is no longer needed, if no caller holds the lock. Returns `true` if there is no
    /// row any more, and `false` if the lock is held, or was first granted within the last minute.
    ///
    /// If the name is used again, its fences continue above the old ones: the first fence of a row is the time of day in
    /// milliseconds, and a row is deleted only when its fence is a minute below that. A lock that is granted a thousand
    /// times a second for its whole life may exceed it. The clocks of all machines must agree within that minute.
    ///
    /// An acquire that was sent before the row was deleted, and arrives more than a minute later, starts the fence at
    /// the time at which it was sent. That may be below fences of the deleted row, so retire a lock when no caller asks
    /// for it any more. No other call deletes rows, and time to live must not: it would delete locks that are held.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// if !locks.retire("report of 2019").await? {
    ///     println!("the lock is still in use");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The [errors of every call](Locks#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the row may have been deleted. The call can be repeated.
    pub async fn retire(&self, name: impl AsRef<str>) -> Result<bool> {
        let Settings { connection, table, options, limits, .. } = &self.settings;
        let row = self.settings.row(name.as_ref())?;
        let delete = row.retire(options.now().saturating_sub(MARGIN_MILLIS));
        let client = connection.client.clone();
        let mut attempts = Attempts::new(connection, *limits);
        let met = attempts.repeat(table, || async {
            match Box::pin(delete.clone().send(&client)).await {
                Ok(()) => Ok(None),
                Err(Failure::Condition(met)) => Ok(Some(met)),
                Err(failure) => Err(failure),
            }
        });
        match met.await? {
            None => Ok(true),
            Some(Some(_)) => Ok(false),
            // The row is missing, or the engine does not return it.
            Some(None) => Ok(attempts.read(&row.get(true)).await?.is_none()),
        }
    }

    /// Takes a lock away from its holder, if the lock is still held under this fence. The holder learns of it at its
    /// next heartbeat and may work until then. Only systems that check the fence are safe from this work.
    ///
    /// Returns `false` if the lock is held under another fence, or not held. If a reply was lost, `true` means that
    /// the grant under this fence is over: this call ended it, or its holder released the lock.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// if let Some(info) = locks.inspect("nightly-report").await? {
    ///     locks.break_lock("nightly-report", info.fence).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The [errors of every call](Locks#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the lock may have been taken away. The call can be repeated.
    pub async fn break_lock(&self, name: impl AsRef<str>, expected_fence: u64) -> Result<bool> {
        let Settings { connection, options, limits, .. } = &self.settings;
        let row = self.settings.row(name.as_ref())?;
        let mut attempts = Attempts::new(connection, *limits);
        let met = match attempts.update(|| row.break_lock(expected_fence)).await? {
            Answered::Applied(_) => return Ok(true),
            Answered::Refused(met) => met,
        };
        let record = LockRecord::of(&row.layout, met.as_ref());
        match record.head_observation() {
            Some(head) if record.last_fence() == Some(expected_fence) => {
                let mut attempts = Attempts::new(connection, *limits);
                let reason = DequeueReason::Operator(head.clone());
                Ok(match dequeue(&row, &mut attempts, &reason, record.waiters(), options).await? {
                    DequeueResult::Removed => true,
                    // An attempt whose reply was lost has removed the head, or the head has released the lock.
                    DequeueResult::AlreadyGone => attempts.is_in_doubt(),
                    DequeueResult::StillThere => false,
                })
            }
            // An attempt whose reply was lost has ended such a grant, or its holder has released it.
            Some(_) | None => Ok(attempts.is_in_doubt() && record.fence.is_some_and(|last| last >= expected_fence)),
        }
    }

    /// Returns the entries of the fair queue of a lock. The first entry holds the lock. The result is empty if the queue
    /// is not in use; [`inspect`](Self::inspect) then returns the holder.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// for place in locks.queue("printer").await? {
    ///     println!("{}. {}", place.position, place.owner);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The [errors of every call](Locks#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The future can be dropped at any time: a read changes nothing.
    pub async fn queue(&self, name: impl AsRef<str>) -> Result<Vec<QueuePlace>> {
        let Settings { connection, limits, .. } = &self.settings;
        let row = self.settings.row(name.as_ref())?;
        let item = Attempts::new(connection, *limits).read(&row.get(true)).await?;
        let record = LockRecord::of(&LockModel::DEFAULT, item.as_ref());
        let places = record.queue.iter().enumerate();
        Ok(places.map(|(position, entry)| QueuePlace::read(position, &entry.owner)).collect())
    }
}

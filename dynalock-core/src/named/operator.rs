//! Calls for operators: inspect, list, retire and break locks.

use std::sync::Arc;

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
    retry::{Answered, Attempts},
    telemetry::observe,
};

/// The minimum age of a fence, in milliseconds, before `retire` deletes its row. The first fence of
/// a row is the time of its first grant.
const MARGIN_MILLIS: u64 = 60_000;

impl Locks {
    /// Returns the state of a lock. Returns `None` if the lock has no row: it was never held, or
    /// was [retired](Self::retire).
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
    /// The future can be dropped at any time. A read changes nothing.
    pub async fn inspect(&self, name: impl AsRef<str>) -> Result<Option<LockInfo>> {
        observe("inspect", Arc::clone(&self.settings.table), self.read_lock(name.as_ref())).await
    }

    async fn read_lock(&self, name: &str) -> Result<Option<LockInfo>> {
        let Settings { connection, options, limits, .. } = &self.settings;
        let row = self.settings.row(name)?;
        let item = Attempts::new(connection, *limits).read(&row.get(true)).await?;
        Ok(item.and_then(|item| LockInfo::read(options, &item)))
    }

    /// Returns a stream of the states of all locks of the table. A Scan reads the states page by
    /// page. The locks are in no particular order, and their states are from different times.
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

    /// Deletes the row of a lock that is no longer needed, if no caller holds the lock. Returns
    /// `true` if the row no longer exists. Returns `false` if the lock is held, or was first
    /// granted within the last minute.
    ///
    /// If the name is used again, its new fences are higher than the old fences. The reason is that
    /// the first fence of a new row is the current time in milliseconds, and that `retire` deletes
    /// a row only if its fence is at least a minute below the current time. Fences grow only under
    /// two conditions: the clocks of all machines differ by less than a minute, and the lock is
    /// granted fewer than a thousand times a second on average.
    ///
    /// Retire a lock only when no caller acquires it any more. If an acquire request is delayed by
    /// more than a minute, it may create the row again after the delete. The first fence of the new
    /// row is then the time at which the late request was sent, and may be lower than the fences of
    /// the deleted row.
    ///
    /// No other call deletes the row of a lock. Do not enable time to live for the table, because
    /// it would delete locks that are held.
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
        observe("retire", Arc::clone(&self.settings.table), self.delete_row(name.as_ref())).await
    }

    async fn delete_row(&self, name: &str) -> Result<bool> {
        let Settings { connection, options, limits, .. } = &self.settings;
        let row = self.settings.row(name)?;
        let fence = options.now().saturating_sub(MARGIN_MILLIS);
        match Attempts::new(connection, *limits).write(|| row.retire(fence)).await? {
            Answered::Applied(_) => Ok(true),
            Answered::Refused(met) => Ok(met.is_none()),
        }
    }

    /// Takes a lock away from its holder, if the lock is still held with this fence. The holder
    /// learns of the loss at its next heartbeat, and may continue its work until then. Until this
    /// heartbeat, only systems that check the fence refuse the requests of the former holder.
    ///
    /// Returns `true` if the call ended the grant with this fence. Returns `false` if the lock is
    /// free, or is held with another fence. If a reply was lost, `true` means that the grant has
    /// ended, either by this call or by a release of its holder.
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
    /// If the future is dropped, the lock may or may not have been taken from its holder. The call
    /// can be repeated.
    pub async fn break_lock(&self, name: impl AsRef<str>, expected_fence: u64) -> Result<bool> {
        observe("break_lock", Arc::clone(&self.settings.table), self.end_grant(name.as_ref(), expected_fence)).await
    }

    async fn end_grant(&self, name: &str, expected_fence: u64) -> Result<bool> {
        let Settings { connection, options, limits, .. } = &self.settings;
        let row = self.settings.row(name)?;
        let mut attempts = Attempts::new(connection, *limits);
        let met = match attempts.write(|| row.break_lock(expected_fence)).await? {
            Answered::Applied(_) => return Ok(true),
            Answered::Refused(met) => met,
        };
        let record = LockRecord::of(&row.layout, met.as_ref());
        // A plain lock with this fence would have been broken above, so only the head of a queue
        // can still have this fence.
        match record.head_observation() {
            Some(head) if record.last_fence() == Some(expected_fence) => {
                let mut attempts = Attempts::on(attempts.call_cost(), connection, *limits);
                let reason = DequeueReason::Operator(head.clone());
                Ok(match dequeue(&row, &mut attempts, &reason, record.waiters(), options).await? {
                    DequeueResult::Removed => true,
                    // Either an earlier attempt whose reply was lost has removed the head, or the
                    // head has left the queue.
                    DequeueResult::AlreadyGone => attempts.is_in_doubt(),
                    DequeueResult::StillThere => false,
                })
            }
            // Either an earlier attempt whose reply was lost has ended the grant, or its holder has
            // released the lock.
            Some(_) | None => Ok(attempts.is_in_doubt() && record.fence.is_some_and(|last| last >= expected_fence)),
        }
    }

    /// Returns the entries of the fair queue of a lock. The caller of the first entry holds the
    /// lock. If no caller uses the queue, the result is empty. A lock with an empty queue may still
    /// have a holder, which [`inspect`](Self::inspect) returns.
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
    /// The future can be dropped at any time. A read changes nothing.
    pub async fn queue(&self, name: impl AsRef<str>) -> Result<Vec<QueuePlace>> {
        observe("queue", Arc::clone(&self.settings.table), self.read_queue(name.as_ref())).await
    }

    async fn read_queue(&self, name: &str) -> Result<Vec<QueuePlace>> {
        let Settings { connection, options, limits, .. } = &self.settings;
        let row = self.settings.row(name)?;
        let item = Attempts::new(connection, *limits).read(&row.get(true)).await?;
        let record = LockRecord::of(&LockModel::DEFAULT, item.as_ref());
        Ok(QueuePlace::of(&record, options.now()))
    }
}

//! Calls for operators: inspect, list, retire and break locks.

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

/// The minimum age, in milliseconds, of the fence of a row that is deleted. The first fence of a
/// row is the time of its first grant.
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
        let Settings { connection, options, limits, .. } = &self.settings;
        let row = self.settings.row(name.as_ref())?;
        let item = Attempts::new(connection, *limits).read(&row.get(true)).await?;
        Ok(item.and_then(|item| LockInfo::read(options, &item)))
    }

    /// Returns a stream of the states of all locks of the table. A Scan reads the states page by
    /// page. The locks have no order, and their states are from different times.
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
    /// If the name is used again, its fences continue above the old fences. The first fence of a
    /// row is the current time in milliseconds, and a row is deleted only if its fence is at least
    /// a minute older. The rule of growing fences has two limits. The clocks of all machines must
    /// differ by less than that minute. The lock must be granted fewer than a thousand times a
    /// second on average.
    ///
    /// Retire a lock only when no caller acquires it any more. A request to acquire that arrives
    /// more than a minute after it was sent may find the row deleted. The new fence starts at the
    /// time of this late request. The new fence may be below the fences of the deleted row.
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
        let Settings { connection, table, options, limits, .. } = &self.settings;
        let row = self.settings.row(name.as_ref())?;
        let delete = row.retire(options.now().saturating_sub(MARGIN_MILLIS));
        let client = connection.client.clone();
        let mut attempts = Attempts::new(connection, *limits);
        let met = attempts.repeat(table, || async {
            match Box::pin(delete.clone().send(&client)).await {
                Ok(_) => Ok(None),
                Err(Failure::Condition(met)) => Ok(Some(met)),
                Err(failure) => Err(failure),
            }
        });
        match met.await? {
            None => Ok(true),
            Some(Some(_)) => Ok(false),
            // The row is missing, or a DynamoDB-compatible server does not return it. The read
            // decides which.
            Some(None) => Ok(attempts.read(&row.get(true)).await?.is_none()),
        }
    }

    /// Takes a lock away from its holder, if the lock is still held with this fence. The holder
    /// learns of the loss at its next heartbeat, and may continue its work until the heartbeat.
    /// Only systems that check the fence are protected from the work of the former holder.
    ///
    /// Returns `false` if the lock is free, or is held with another fence. If a reply was lost,
    /// `true` means that the grant with this fence has ended: either this call ended it, or its
    /// holder released the lock.
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
        let Settings { connection, options, limits, .. } = &self.settings;
        let row = self.settings.row(name.as_ref())?;
        let mut attempts = Attempts::new(connection, *limits);
        let met = match attempts.update(|| row.break_lock(expected_fence)).await? {
            Answered::Applied(_) => return Ok(true),
            Answered::Refused(met) => met,
        };
        let record = LockRecord::of(&row.layout, met.as_ref());
        // A plain lock with this fence would have been broken above, so only the head of a queue
        // can still have it.
        match record.head_observation() {
            Some(head) if record.last_fence() == Some(expected_fence) => {
                let mut attempts = Attempts::new(connection, *limits);
                let reason = DequeueReason::Operator(head.clone());
                Ok(match dequeue(&row, &mut attempts, &reason, record.waiters(), options).await? {
                    DequeueResult::Removed => true,
                    // An earlier attempt whose reply was lost has removed the head, or the head has
                    // left the queue.
                    DequeueResult::AlreadyGone => attempts.is_in_doubt(),
                    DequeueResult::StillThere => false,
                })
            }
            // An earlier attempt whose reply was lost has ended the grant, or its holder has
            // released it.
            Some(_) | None => Ok(attempts.is_in_doubt() && record.fence.is_some_and(|last| last >= expected_fence)),
        }
    }

    /// Returns the entries of the fair queue of a lock. The first entry holds the lock. The result
    /// is empty if no caller uses the queue. A lock with an empty queue may still have a holder,
    /// and [`inspect`](Self::inspect) returns that holder.
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
        let Settings { connection, limits, .. } = &self.settings;
        let row = self.settings.row(name.as_ref())?;
        let item = Attempts::new(connection, *limits).read(&row.get(true)).await?;
        let record = LockRecord::of(&LockModel::DEFAULT, item.as_ref());
        let places = record.queue.iter().enumerate();
        Ok(places.map(|(position, entry)| QueuePlace::read(position, &entry.owner)).collect())
    }
}

//! The methods for operators. The methods inspect, list, retire and break locks.

use std::sync::Arc;

use super::{
    info::{LockInfo, QueuePlace},
    list::LockList,
    locks::Locks,
    settings::Settings,
};
use crate::{
    codec::Item,
    error::{Error, Result},
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

/// `retire` deletes a lock row only if the current time in milliseconds exceeds the fence of the
/// row by more than `MARGIN_MILLIS`.
const MARGIN_MILLIS: u64 = 60_000;

impl Locks {
    /// Returns the state of a lock. Returns `None` if the lock has no row, because the lock was
    /// never held or was [retired](Self::retire).
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
    /// The call can fail with any of the [errors of every call](Locks#errors-of-every-call).
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `inspect` at any time: a read changes nothing.
    pub async fn inspect(&self, name: impl AsRef<str>) -> Result<Option<LockInfo>> {
        let item = observe("inspect", Arc::clone(&self.settings.table), self.read_row(name.as_ref())).await?;
        Ok(item.and_then(|item| LockInfo::read(&self.settings.options, &item)))
    }

    async fn read_row(&self, name: &str) -> Result<Option<Item>> {
        let Settings { connection, limits, .. } = &self.settings;
        let row = self.settings.row(name)?;
        Attempts::new(connection, *limits).read(&row.get(true)).await
    }

    /// Returns a stream of the states of all locks of the table. The stream reads the table page by
    /// page with Scan requests. The stream returns the locks in no particular order. The stream
    /// reads the locks of different pages at different times.
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
    /// `true` if the row of the lock no longer exists. Returns `false` if the lock is held, or was
    /// first granted within the last minute. After a lost reply, `false` can also have another
    /// meaning: the call has deleted the row, and another caller has acquired the name since.
    ///
    /// If callers use the name of a retired lock again, the fences of the new grants are higher
    /// than the fences of all earlier grants. The first fence in a new lock row is the current time
    /// in milliseconds. `retire` deletes a lock row only if the fence in the row, read as epoch
    /// milliseconds, is a time more than a minute ago. `retire` assumes clocks that differ by less
    /// than a minute, and fewer than a thousand grants of the lock per second on average.
    ///
    /// Retire a lock only when callers have stopped acquiring the lock. If an acquire request is
    /// delayed by more than a minute, the request may create the row of the lock again after
    /// `retire` has deleted the row. A delayed acquire request may create the row of a retired lock
    /// again. The new fence is then the send time of the request, and may be lower than the earlier
    /// fences of the lock.
    ///
    /// Only `retire` deletes the row of a lock. Do not enable time to live for the table, because
    /// DynamoDB could delete the rows of held locks.
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
    /// - [`Error::Indeterminate`]: a reply was lost, and the call gave up before it knew whether
    ///   DynamoDB had deleted the row. After an unknown outcome, the caller can call `retire`
    ///   again.
    /// - The [errors of every call](Locks#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `retire`, the row of the lock may or may not have been
    /// deleted. After a drop of the future, the caller can call `retire` again.
    pub async fn retire(&self, name: impl AsRef<str>) -> Result<bool> {
        let (Settings { connection, table, options, limits, .. }, name) = (&self.settings, name.as_ref());
        let retire = async {
            let row = self.settings.row(name)?;
            let fence = options.now().saturating_sub(MARGIN_MILLIS);
            let mut attempts = Attempts::new(connection, *limits);
            match attempts.write(|| row.retire(fence)).await {
                Ok(Answered::Applied(_)) => Ok(true),
                Ok(Answered::Refused(met)) => Ok(met.is_none()),
                Err(stop) => Err(outcome_of(&attempts, table, stop)),
            }
        };
        observe("retire", Arc::clone(table), retire).await
    }

    /// Takes a lock away from the holder, if the fence of the holder is the expected fence. The
    /// holder of a broken lock may continue its work until its next heartbeat. This heartbeat
    /// reports the loss of the lock. Until the next heartbeat, only systems that check the fence
    /// can stop the holder of a broken lock.
    ///
    /// Returns `true` if `break_lock` ended the grant that has the expected fence. Returns `false`
    /// if the lock is free, or if the fence of the holder differs from the expected fence. If
    /// DynamoDB's reply was lost, `true` means that the grant has ended, either by the call of
    /// `break_lock` or by a release by the holder.
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
    /// - [`Error::Indeterminate`]: a reply was lost, and the call gave up before it knew whether
    ///   DynamoDB had ended the grant. After an unknown outcome, the caller can call `break_lock`
    ///   again with the same fence.
    /// - The [errors of every call](Locks#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `break_lock`, the lock may or may not have been taken from
    /// the holder. After a drop of the future, the caller can call `break_lock` again with the same
    /// fence.
    pub async fn break_lock(&self, name: impl AsRef<str>, expected_fence: u64) -> Result<bool> {
        observe("break_lock", Arc::clone(&self.settings.table), self.end_grant(name.as_ref(), expected_fence)).await
    }

    async fn end_grant(&self, name: &str, expected_fence: u64) -> Result<bool> {
        let Settings { connection, table, options, limits, .. } = &self.settings;
        let row = self.settings.row(name)?;
        let mut attempts = Attempts::new(connection, *limits);
        let met = match attempts.write(|| row.break_lock(expected_fence)).await {
            Ok(Answered::Applied(_)) => return Ok(true),
            Ok(Answered::Refused(met)) => met,
            Err(stop) => return Err(outcome_of(&attempts, table, stop)),
        };
        let record = LockRecord::of(&row.layout, met.as_ref());
        // The request of `Row::break_lock` can only end the grant of a lock without a queue. If
        // DynamoDB refuses the request, only the first entry of a queue can still have the expected
        // fence.
        match record.head_observation() {
            Some(head) if record.last_fence() == Some(expected_fence) => {
                let mut attempts = Attempts::on(attempts.call_cost(), connection, *limits);
                let reason = DequeueReason::Operator(head.clone());
                match dequeue(&row, &mut attempts, &reason, record.waiters(), options).await {
                    Ok(DequeueResult::Removed) => Ok(true),
                    // If a reply was lost, either an earlier attempt of the call has removed the
                    // first queue entry, or the holder has left the queue.
                    Ok(DequeueResult::AlreadyGone) => Ok(attempts.is_in_doubt()),
                    Ok(DequeueResult::StillThere) => Ok(false),
                    Err(stop) => Err(outcome_of(&attempts, table, stop)),
                }
            }
            // If a reply was lost, either an earlier attempt of the call has ended the grant, or
            // the holder has released the lock.
            Some(_) | None => Ok(attempts.is_in_doubt() && record.fence.is_some_and(|last| last >= expected_fence)),
        }
    }

    /// Returns the entries of the fair queue of a lock. The caller with the first entry in the
    /// queue holds the lock. If no caller uses the fair queue, `queue` returns an empty list. A
    /// lock with an empty queue may still have a holder. [`inspect`](Self::inspect) returns the
    /// holder.
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
    /// The call can fail with any of the [errors of every call](Locks#errors-of-every-call).
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `queue` at any time: a read changes nothing.
    pub async fn queue(&self, name: impl AsRef<str>) -> Result<Vec<QueuePlace>> {
        let item = observe("queue", Arc::clone(&self.settings.table), self.read_row(name.as_ref())).await?;
        let record = LockRecord::of(&LockModel::DEFAULT, item.as_ref());
        Ok(QueuePlace::of(&record, self.settings.options.now()))
    }
}

fn outcome_of(attempts: &Attempts, table: &Arc<str>, stop: Error) -> Error {
    match attempts.is_in_doubt() {
        true => attempts.indeterminate(table, None, None, Some(stop)),
        false => stop,
    }
}

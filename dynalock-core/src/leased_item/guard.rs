use std::{future::Future, mem, ops::Deref, sync::Arc, time::Duration};

use crate::{
    clock,
    codec::{Item, Stored, changed, decode_applied, decode_stored},
    error::{Error, Lost, Result},
    explain::Explained,
    lease::{
        clause::{AfterWrite, HolderProof},
        held_grant::{self, HeldGrant},
        owner::Owner,
        policy::LeasePolicy,
        token::LockToken,
    },
    model::{ItemRef, Lockable},
    repository::{Deleted, Repository, Session, explain, infallible},
    telemetry::{CallFailure, observe, observe_closure},
    write::{
        guard::{Guard, sealed},
        intent::ItemChange,
        patch::SharedPatch,
        send::WriteResult,
    },
};

/// The guard of a leased item. [`Repository::lock`] returns this guard. The guard dereferences to
/// the value that the item had at the grant, or after the last write of the guard.
///
/// While the lease lasts, writes of other callers through this library fail with [`Error::Locked`],
/// unless the writes ignore leases. DynamoDB refuses the writes of a holder that has lost its
/// lease. Each write of the guard renews the lease, and heartbeats renew the lease between writes.
/// [`release`](Self::release), [`commit`](Self::commit) and [`delete`](Self::delete) release the
/// lease and wait for DynamoDB's answer. A drop of the guard releases the lease in the background.
/// If the release in the background fails, the lease expires after its ttl.
///
/// Keep the guard in a variable, because a drop of the guard ends the lease.
/// `let _ = items.lock("a").await?` drops the guard at once, and `let _guard = ..` keeps the guard.
/// The lint `clippy::let_underscore_must_use` finds a `let _` that drops a guard.
#[must_use = "a lease that is dropped is released"]
pub struct LeaseGuard<T> {
    repository: Repository<T>,
    guard: HeldGrant,
    last_write: LastWrite,
    stored: Stored<T>,
    /// The whole item, including the attributes without a field in `T`.
    item: Item,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LastWrite {
    Known,
    /// The caller dropped the future of the write, or the outcome of the write is unknown, so the
    /// stored item may be newer than the value in the guard.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrote {
    Yes,
    No,
}

impl<T: Lockable> LeaseGuard<T> {
    pub(super) fn new(repository: Repository<T>, guard: HeldGrant, stored: Stored<T>, item: Item) -> Self {
        Self { repository, guard, last_write: LastWrite::Known, stored, item }
    }

    /// Returns the version of the item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).await?;
    /// println!("version {}", payout.version());
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn version(&self) -> u64 {
        self.stored.version()
    }

    /// Returns the value together with the version of the item, as of the grant or of the last
    /// write of the guard. A transaction with [`Transaction::guard`](crate::Transaction::guard) can
    /// write a clone of the `Stored` without another read of the item. After a transaction has
    /// written the leased item, the `Stored` in the guard is out of date until the next write of
    /// the guard.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable + Clone { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(
    /// #     client: &aws_sdk_dynamodb::Client, payouts: &dynalock::Repository<T>, key: T::Key,
    /// # ) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).await?;
    /// let mut paid = payout.stored().clone();
    /// paid.pay();
    /// let mut tx = dynalock::Transaction::new(client);
    /// tx.guard(&payout);
    /// tx.update(payouts, paid);
    /// tx.commit().await?;
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn stored(&self) -> &Stored<T> {
        &self.stored
    }

    /// Returns the fence: a number that grows with each grant of the item's lease, even after
    /// releases and crashes. If the holder sends requests to another system, pass the fence with
    /// each request. A system that receives the fence can refuse a request whose fence is lower
    /// than the highest fence that the system has received.
    ///
    /// The first lease request for an item takes the first fence from the caller's clock. A new
    /// item can have lower fences than a deleted item with the same key, for two reasons. The clock
    /// of the first caller that leases the new item is behind other clocks, or a delayed lease
    /// request for the deleted item arrives after the create of the new item. With
    /// [`#[lockable(separate)]`](crate::Lockable), the lease row survives the delete of the item,
    /// so the fences of one key always grow.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).await?;
    /// println!("fence {}", payout.fence());
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn fence(&self) -> u64 {
        self.guard.grant.fence
    }

    /// Returns the label of the holder. [`LeaseRequest::owner`](crate::lock::LeaseRequest::owner)
    /// sets the label. For a holder without a label, `owner` returns the random nonce of the grant.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).owner("worker-7").await?;
    /// assert_eq!(payout.owner(), "worker-7");
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn owner(&self) -> &str {
        Owner::parse(&self.guard.grant.owner).label
    }

    /// Returns the nonce of the grant: a random text that distinguishes the grant from all other
    /// grants.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).await?;
    /// println!("grant {}", payout.nonce());
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn nonce(&self) -> &str {
        Owner::parse(&self.guard.grant.owner).nonce
    }

    /// Returns the fence of the expired lease that the lock call took over, or `None` if the lease
    /// was free. A holder whose lease expired may have left its work unfinished.
    ///
    /// A fence from `acquired_after_crash` is only a hint that the previous holder crashed. If
    /// another caller removed the expired lease of the previous holder, `acquired_after_crash`
    /// returns `None`. If the reply to the caller's lease request was lost, `acquired_after_crash`
    /// may return a fence although the previous holder released the lease normally. If your program
    /// must notice every crash, store in the item whether the work is finished.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).await?;
    /// if let Some(fence) = payout.acquired_after_crash() {
    ///     println!("the holder with fence {fence} did not finish");
    /// }
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn acquired_after_crash(&self) -> Option<u64> {
        self.guard.grant.taken_over
    }

    /// Returns the time after which another caller can acquire the lease if no heartbeat and no
    /// write renews the lease. The remaining time of a lost lease is zero.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).await?;
    /// println!("{:?} left", payout.remaining());
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn remaining(&self) -> Duration {
        self.guard.grant.remaining()
    }

    /// Renews the lease by sending one heartbeat.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).heartbeat(false).await?;
    /// payout.extend().await?;
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`]: the lease is lost.
    /// - [`Error::Corrupt`]: a program that does not use dynalock wrote a heartbeat number
    ///   (`_beat`) that no heartbeat can exceed.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `extend` at any time. A heartbeat that a dropped `extend`
    /// has already sent may still renew the lease.
    pub async fn extend(&self) -> Result<()> {
        observe("extend", self.table(), self.guard.grant.beat()).await
    }

    pub(super) fn table(&self) -> Arc<str> {
        Arc::clone(&self.repository.table)
    }

    /// Waits until the lease is lost, and returns the reason. The future of `lost` completes before
    /// another caller can acquire the lease.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).await?;
    /// tokio::select! {
    ///     lost = payout.lost() => println!("stop: {lost}"),
    ///     () = async { /* the work */ } => drop(payout.release().await?),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `lost` at any time. The future of `lost` can outlive the
    /// guard, and does not renew the lease.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        let grant = Arc::clone(&self.guard.grant);
        async move { grant.lost().await }
    }

    /// Runs `work`. If the lease is lost, `run` drops `work` before another caller can acquire the
    /// lease. `run` checks the clock before each poll of `work`, but cannot interrupt a running
    /// poll.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).await?;
    /// let receipt = payout.run(async { 7 }).await?;
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`]: the lease was lost, and `work` was dropped.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `run`, `work` is dropped too, but the lease is not
    /// released.
    pub async fn run<O>(&self, work: impl Future<Output = O> + Send) -> Result<O> {
        held_grant::run(self.guard.grant.lost(), work).await
    }

    /// Changes the value of the leased item, and writes the changed attributes. DynamoDB applies
    /// the write of `update` only if the guard holds the lease. The write of `update` also renews
    /// the lease. If `update` fails, the value in the guard does not contain the changes of the
    /// closure `change`.
    ///
    /// If a caller that ignores leases has written the item, `update` runs the closure `change`
    /// again on the stored value. `update` also runs `change` again if a heartbeat of the guard
    /// reaches DynamoDB before the write.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let mut payout = payouts.lock(key).await?;
    /// payout.update(|payout| drop(payout.pay())).await?;
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`]: the lease is lost.
    /// - The errors of [`Repository::update`] are possible.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `update`, the write may or may not have been applied.
    /// After a drop of the future of `update`, the value in the guard does not contain the changes
    /// of the closure `change`. If a dropped `update` had a write in flight, the next write of the
    /// guard first reads the item.
    pub async fn update(&mut self, change: impl FnMut(&mut T) + Send) -> Result<()> {
        observe("lease_update", self.table(), self.write(AfterWrite::Renew, infallible(change))).await.map(drop)
    }

    /// Changes the value of the leased item like [`update`](Self::update), with a closure that may
    /// return an error. If the closure `change` returns an error, the guard writes nothing, and the
    /// value in the guard does not contain the changes of `change`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # enum NotPaid { Refused, Dynalock(dynalock::Error) }
    /// # impl From<dynalock::Error> for NotPaid { fn from(error: dynalock::Error) -> Self { Self::Dynalock(error) } }
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let mut payout = payouts.lock(key).await?;
    /// let paid = payout.try_update(|payout| if payout.pay() { Ok(()) } else { Err(NotPaid::Refused) }).await;
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - The error that the closure `change` returned.
    /// - The errors of [`update`](Self::update), converted into `E` by `From`.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `try_update`, the write may or may not have been applied,
    /// as for [`update`](Self::update).
    pub async fn try_update<E: From<Error>>(
        &mut self,
        mut change: impl FnMut(&mut T) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        let table = self.table();
        let write = self.write(AfterWrite::Renew, |value| change(value).map_err(CallFailure::Closure));
        observe_closure("lease_try_update", table, write).await.map(drop)
    }

    /// Returns the requests that [`update`](Self::update) would send, with the condition that the
    /// guard holds the lease. `explain_update` runs the closure `change` on a copy of the value,
    /// and sends no request. The value in the guard stays unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).await?;
    /// println!("{}", payout.explain_update(|payout| drop(payout.pay()))?);
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`]: the lease is lost.
    /// - [`Error::KeyChanged`], [`Error::VersionExhausted`], [`Error::ExpressionTooLong`] or
    ///   [`Error::Encode`], as for [`update`](Self::update).
    pub fn explain_update(&self, change: impl FnOnce(&mut T)) -> Result<Explained> {
        let mut session = self.session(AfterWrite::Renew)?;
        let change = |value: &mut T| {
            change(value);
            Ok::<_, Error>(())
        };
        let (value, basis, _) = changed(&self.repository.table, self.item.clone(), change)?;
        explain::write(&mut session, value, ItemChange::Update(basis))
    }

    pub(super) fn explain_patch(&self, content: SharedPatch<T>) -> Result<Explained> {
        explain::patch(&mut self.session(AfterWrite::Renew)?, self.stored.key(), content)
    }

    fn session(&self, ends: AfterWrite) -> Result<Session<T>> {
        let grant = Arc::clone(&self.guard.grant);
        match grant.lost_now() {
            Some(lost) => Err(Error::Lost(lost)),
            None => Ok(Session::under(&self.repository, LeasePolicy::Holder { grant, ends })),
        }
    }

    pub(super) async fn send_patch(&mut self, content: SharedPatch<T>) -> Result<()> {
        let (mut session, sent) = (self.session(AfterWrite::Renew)?, clock::now());
        self.last_write = LastWrite::Unknown;
        let patched = session.patch(self.stored.key(), content).await;
        self.learn(&patched);
        let item = match patched {
            Ok(item) => item,
            Err(Error::NotFound { .. }) => return Err(self.deleted()),
            Err(error) => return Err(error),
        };
        (self.stored, self.item) = (decode_applied(&self.repository.table, item.clone())?, item);
        self.guard.grant.renewed(sent);
        Ok(())
    }

    /// Changes the value of the leased item, and sends one request that writes the changed
    /// attributes and releases the lease.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).await?;
    /// let stored = payout.commit(|payout| drop(payout.pay())).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`update`](Self::update) are possible. After an error of `commit`, a
    /// background task releases the lease.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `commit`, the write may or may not have been applied, and
    /// a background task releases the lease.
    pub async fn commit(self, change: impl FnMut(&mut T) + Send) -> Result<Stored<T>> {
        observe("lease_commit", self.table(), self.write_and_release(infallible(change))).await
    }

    /// Changes the value of the leased item and releases the lease like [`commit`](Self::commit),
    /// with a closure that may return an error. If the closure `change` returns an error, the guard
    /// writes nothing, and a background task releases the lease.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # enum NotPaid { Refused, Dynalock(dynalock::Error) }
    /// # impl From<dynalock::Error> for NotPaid { fn from(error: dynalock::Error) -> Self { Self::Dynalock(error) } }
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).await?;
    /// let paid = payout.try_commit(|payout| if payout.pay() { Ok(()) } else { Err(NotPaid::Refused) }).await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - The error that the closure `change` returned.
    /// - The errors of [`commit`](Self::commit), converted into `E` by `From`.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `try_commit`, the write may or may not have been applied,
    /// and a background task releases the lease, as for [`commit`](Self::commit).
    pub async fn try_commit<E: From<Error>>(
        self,
        mut change: impl FnMut(&mut T) -> Result<(), E> + Send,
    ) -> Result<Stored<T>, E> {
        let table = self.table();
        let write = self.write_and_release(move |value| change(value).map_err(CallFailure::Closure));
        observe_closure("lease_try_commit", table, write).await
    }

    async fn write_and_release<E: From<Error>>(
        mut self,
        change: impl FnMut(&mut T) -> Result<(), E>,
    ) -> Result<Stored<T>, E> {
        let wrote = self.write(AfterWrite::Release, change).await?;
        let Self { mut guard, stored, .. } = self;
        match wrote {
            Wrote::Yes => guard.end_released(),
            // If the closure changed nothing, no write has released the lease, so a separate
            // request releases the lease.
            Wrote::No => guard.release().await?,
        }
        Ok(stored)
    }

    /// Deletes the leased item, and releases the lease. The condition of the delete requires that
    /// the guard holds the lease, and that the item has not changed since the last read or write of
    /// the guard. One request deletes the item together with a lease in the item. With
    /// [`#[lockable(separate)]`](crate::Lockable), a transaction deletes the item and releases the
    /// lease in the separate row, so the fences of the key keep growing after the delete.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let mut payout = payouts.lock(key).await?;
    /// payout.update(|payout| drop(payout.pay())).await?;
    /// payout.delete().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// After an error of `delete`, a background task releases the lease.
    ///
    /// - [`Error::Lost`]: the lease is lost, or another caller has deleted the item.
    /// - [`Error::Conflict`]: a caller that ignores leases, or a transaction of your program, has
    ///   changed the item. `Error::Conflict` contains the stored item.
    /// - [`Error::Indeterminate`]: DynamoDB may or may not have deleted the item.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `delete`, the item may or may not have been deleted, and a
    /// background task releases the lease.
    pub async fn delete(self) -> Result<Deleted> {
        observe("lease_delete", self.table(), self.delete_and_release()).await
    }

    async fn delete_and_release(mut self) -> Result<Deleted> {
        let mut session = self.session(AfterWrite::Delete)?;
        self.refresh(&mut session).await?;
        let Self { mut guard, stored, .. } = self;
        match session.delete(stored).await {
            Ok(deleted) => {
                // Another caller may have deleted the item of an uncertain delete, and a separate
                // lease row may still contain the lease. The drop of `guard` then releases the
                // lease.
                if deleted.certain {
                    guard.end_released();
                }
                Ok(deleted)
            }
            Err(Error::Conflict(conflict)) if conflict.current_item().is_none() => {
                Err(Error::Lost(guard.grant.lose(Lost::Deleted)))
            }
            Err(error) => Err(error),
        }
    }

    /// Releases the lease, waits for DynamoDB's answer, and returns the value of the item. The
    /// returned value is the value that the guard has last read or written. The returned value does
    /// not contain a newer write by a caller that ignores leases.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let payout = payouts.lock(key).await?;
    /// let stored = payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the lease is already lost, `release` succeeds.
    ///
    /// - [`Error::Exhausted`]: DynamoDB did not answer the release before the lease ended, so other
    ///   callers can acquire the lease.
    /// - [`Error::Unavailable`]: the tokio runtime that runs the background tasks of the lease was
    ///   shut down or blocked during the release.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `release` at any time: a background task finishes the
    /// release.
    pub async fn release(self) -> Result<Stored<T>> {
        observe("release", self.table(), self.guard.release()).await?;
        Ok(self.stored)
    }

    /// Converts the guard into a token. Another task or process can [resume](Repository::resume)
    /// the lease from the token. After `detach`, no heartbeat renews the lease until a task or
    /// process resumes the lease.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # trait Payout: dynalock::Lockable { fn pay(&mut self) -> bool; }
    /// # async fn example<T: Payout>(payouts: &dynalock::Repository<T>, key: T::Key) -> dynalock::Result<()> {
    /// let token = payouts.lock(key).await?.detach();
    /// println!("{token}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn detach(self) -> LockToken {
        let Self { mut guard, stored, .. } = self;
        guard.end();
        guard.grant.token(&LockToken::item_name(&stored.key()))
    }

    /// Records that the outcome of the guard's last write is known, unless the write failed with
    /// `Indeterminate`.
    fn learn<O>(&mut self, result: &Result<O>) {
        if !matches!(result, Err(Error::Indeterminate { .. })) {
            self.last_write = LastWrite::Known;
        }
    }

    fn deleted(&self) -> Error {
        Error::Lost(self.guard.grant.lose(Lost::Deleted))
    }

    /// Reads the item if the outcome of the guard's last write is unknown, because the last write
    /// may have changed the item.
    async fn refresh(&mut self, session: &mut Session<T>) -> Result<()> {
        if self.last_write == LastWrite::Unknown {
            let get = session.get(&self.stored.key())?;
            self.item = session.read(&get).await?.ok_or_else(|| self.deleted())?;
            self.stored = decode_stored(&self.repository.table, self.item.clone())?;
            self.last_write = LastWrite::Known;
        }
        Ok(())
    }

    async fn write<E: From<Error>>(
        &mut self,
        ends: AfterWrite,
        mut change: impl FnMut(&mut T) -> Result<(), E>,
    ) -> Result<Wrote, E> {
        let (mut session, table, key) = (self.session(ends)?, self.table(), self.stored.key());
        let get = session.get(&key)?;
        self.refresh(&mut session).await?;
        loop {
            // A write that releases the lease is the last write of the guard, so the guard needs no
            // copy of the item.
            let item = match ends {
                AfterWrite::Renew => self.item.clone(),
                AfterWrite::Release | AfterWrite::Delete => mem::take(&mut self.item),
            };
            let (value, basis, changes) = changed(&table, item, &mut change)?;
            if changes.is_empty() {
                self.stored = Stored::unchanged(value, basis);
                return Ok(Wrote::No);
            }
            let applied = changes.clone();
            // The guard measures the ttl from a time before the write, so that the lease ends for
            // the guard before the lease ends for other callers.
            let (expected, sent) = (Some(basis.state.revision.number()), clock::now());
            self.last_write = LastWrite::Unknown;
            let updated = session.update(value, ItemChange::Update(basis), changes).await;
            self.learn(&updated);
            match updated? {
                WriteResult::Applied(stored) => {
                    if ends == AfterWrite::Renew {
                        applied.apply(T::MODEL, &mut self.item);
                        stored.write_state_into(&mut self.item);
                        self.guard.grant.renewed(sent);
                    }
                    self.stored = stored;
                    return Ok(Wrote::Yes);
                }
                WriteResult::Conflict(met) => {
                    let met = session.after_conflict(&get, &key, expected, met).await?;
                    self.item = met.ok_or_else(|| self.deleted())?;
                    // If the item contains the id of the write, DynamoDB has applied an earlier
                    // attempt.
                    if session.has_written(&self.item) {
                        self.stored = decode_applied(&table, self.item.clone())?;
                        return Ok(Wrote::Yes);
                    }
                }
            }
        }
    }
}

impl<T> Deref for LeaseGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.stored
    }
}

debug_fields!([T] LeaseGuard<T>, self => {
    owner: Owner::parse(&self.guard.grant.owner).label,
    fence: self.guard.grant.fence,
    remaining: self.guard.grant.remaining(),
});

impl<T: Lockable> Guard for LeaseGuard<T> {}

impl<T: Lockable> sealed::Sealed for LeaseGuard<T> {
    #[expect(private_interfaces, reason = "it is called here alone")]
    fn leased(&self) -> (ItemRef, HolderProof) {
        (self.repository.item_ref(self.key(), None), self.guard.grant.guard())
    }
}

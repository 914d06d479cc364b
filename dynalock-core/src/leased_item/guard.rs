use std::{fmt, future::Future, ops::Deref, sync::Arc, time::Duration};

use crate::{
    clock,
    codec::{Item, Stored, decode},
    error::{Error, Lost, Result},
    lease::{
        clause::{AfterWrite, HolderProof},
        held_grant::{self, HeldGrant},
        policy::LeasePolicy,
        token::LockToken,
    },
    model::{ItemRef, Lockable},
    repository::{Repository, Session},
    write::{
        guard::{Guard, sealed},
        intent::Change,
        send::WriteResult,
    },
};

/// An item that is leased: [`Repository::lock`]. It derefs to the value, as it was read with the grant and changed since.
///
/// While it exists, DynamoDB refuses the writes of everybody else through this library ([`Error::Locked`]), and those of a holder that has lost its
/// lease. Each write renews the lease, and a heartbeat in the background does between writes. Dropping it releases in the background, as best
/// it can; [`release`](Self::release) and [`commit`](Self::commit) say whether that has happened.
///
/// The lease is held for as long as this value lives. `let _ = items.lock("a").await?` drops it at once; `let _held = ..` keeps it. The lint
/// `clippy::let_underscore_must_use` finds the first form.
#[must_use = "a lease that is dropped is released"]
pub struct LeaseGuard<T> {
    repository: Repository<T>,
    guard: HeldGrant,
    stored: Stored<T>,
    /// The item behind the value, with what the value does not show: each change starts from it.
    item: Item,
}

/// Whether a change came to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrote {
    Yes,
    No,
}

impl<T: Lockable> LeaseGuard<T> {
    pub(super) fn new(repository: Repository<T>, guard: HeldGrant, item: Item) -> Result<Self> {
        let (value, basis) = decode(&repository.table, item.clone())?;
        Ok(Self::of(repository, guard, Stored::new(value, basis), item))
    }

    /// The lease of an item whose value is known.
    pub(super) fn of(repository: Repository<T>, guard: HeldGrant, stored: Stored<T>, item: Item) -> Self {
        Self { repository, guard, stored, item }
    }

    /// The version of the value.
    pub fn version(&self) -> u64 {
        self.stored.version()
    }

    /// A number that grows with each grant of this item, over releases and crashes. Give it to other systems that the work touches, which can then
    /// refuse what comes from an earlier holder.
    ///
    /// The first fence of an item is the time of the request for its first lease. After a delete and a create it can
    /// therefore be lower than an earlier fence, if the clock of the caller is behind, or if the request was made in
    /// the earlier life of the item and arrived late. The row of
    /// [`#[lockable(separate)]`](crate::Lockable) outlives the item, so its fences always grow.
    pub fn fence(&self) -> u64 {
        self.guard.grant.fence
    }

    /// The holder as others see it: the name that was given, and what makes this grant its own.
    pub fn owner(&self) -> &str {
        &self.guard.grant.owner
    }

    /// Returns the fence of the previous holder if this call took over its lease, and `None` otherwise. The work of
    /// that holder may be half done.
    ///
    /// The answer is a hint. It is `None` if another caller, or a write of another caller, has removed the dead
    /// holder. In a queue it is also `None` if the reply to that removal was lost. After a lost reply, a release can look like a crash. If your program must not miss a crash, store the
    /// progress of the work with the work itself.
    pub fn acquired_after_crash(&self) -> Option<u64> {
        self.guard.grant.taken_over
    }

    /// The time that is left before somebody else may enter, if nothing renews the lease; zero if it is lost.
    pub fn remaining(&self) -> Duration {
        self.guard.grant.remaining()
    }

    /// Renews the lease now.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if it is lost; [`Error::Corrupt`] if another program has written a `_beat` that no heartbeat can be above;
    /// [`Error::Rejected`], [`Error::TableNotFound`].
    pub async fn extend(&self) -> Result<()> {
        self.guard.grant.beat().await
    }

    /// Ends when the lease is lost, before anybody else may enter, with the cause.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        let grant = Arc::clone(&self.guard.grant);
        async move { grant.lost().await }
    }

    /// Runs `work`, and drops it if the lease is lost, before another caller can acquire the lease. The clock is
    /// checked before each poll of `work`. A poll that is running is not interrupted.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if `work` was dropped.
    pub async fn run<O>(&self, work: impl Future<Output = O> + Send) -> Result<O> {
        held_grant::run(self.guard.grant.lost(), work).await
    }

    /// Changes the value and writes what changed, on the condition that the lease is still held; that renews it. The value in memory changes
    /// with the stored one: if the write fails, it is as it was before. The closure runs again, from the stored value, if somebody who ignores
    /// leases was first.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if the lease is lost; those of [`Repository::update`].
    pub async fn update(&mut self, mut change: impl FnMut(&mut T) + Send) -> Result<()> {
        let change = |value: &mut T| {
            change(value);
            Ok(())
        };
        self.write(AfterWrite::Renew, change).await.map(drop)
    }

    /// As [`update`](Self::update), with a closure that may refuse: then nothing is written, and the value is as it was before.
    ///
    /// # Errors
    ///
    /// The closure's own; those of [`update`](Self::update) through `From`.
    pub async fn try_update<E: From<Error>>(
        &mut self,
        change: impl FnMut(&mut T) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        self.write(AfterWrite::Renew, change).await.map(drop)
    }

    /// The last write and the release in one request.
    ///
    /// # Errors
    ///
    /// As of [`update`](Self::update). The lease is released then as when it is dropped.
    pub async fn commit(mut self, mut change: impl FnMut(&mut T) + Send) -> Result<Stored<T>> {
        let change = |value: &mut T| {
            change(value);
            Ok::<_, Error>(())
        };
        let wrote = self.write(AfterWrite::Release, change).await?;
        let Self { mut guard, stored, .. } = self;
        match wrote {
            Wrote::Yes => guard.end_released(),
            // Nothing was released either.
            Wrote::No => guard.release().await?,
        }
        Ok(stored)
    }

    /// Lets the next one in, and gives the value.
    ///
    /// # Errors
    ///
    /// [`Error::Exhausted`] if DynamoDB did not answer while the lease lasted, which has ended by then; [`Error::Rejected`];
    /// [`Error::Unavailable`] if the runtime that it was granted on was shut down meanwhile. That the lease was lost before is no error.
    pub async fn release(self) -> Result<Stored<T>> {
        self.guard.release().await?;
        Ok(self.stored)
    }

    /// Gives the lease to a token, which another task or process [resumes](Repository::resume). Nothing renews it meanwhile.
    pub fn detach(self) -> LockToken {
        let Self { mut guard, stored, .. } = self;
        guard.end();
        guard.grant.token(&LockToken::item_name(&stored.key()))
    }

    /// Changes a copy, so that a write that fails, or is dropped, leaves the value as it was.
    async fn write<E: From<Error>>(
        &mut self,
        ends: AfterWrite,
        mut change: impl FnMut(&mut T) -> Result<(), E>,
    ) -> Result<Wrote, E> {
        let grant = Arc::clone(&self.guard.grant);
        if let Some(lost) = grant.is_lost() {
            return Err(Error::Lost(lost).into());
        }
        let (table, key) = (Arc::clone(&self.repository.table), self.stored.key());
        let mut session = Session::under(&self.repository, LeasePolicy::Holder { grant: Arc::clone(&grant), ends });
        let get = session.get(&key)?;
        let mut item = self.item.clone();
        loop {
            let (mut value, mut basis) = decode::<T>(&table, item.clone())?;
            basis.remember(&value);
            change(&mut value)?;
            let changes = basis.changes(&table, &value)?;
            if changes.is_empty() {
                (self.stored, self.item) = (Stored::unchanged(value, basis), item);
                return Ok(Wrote::No);
            }
            changes.apply(T::MODEL, &mut item);
            let (expected, sent) = (Some(basis.state.revision.number()), clock::now());
            match session.update(value, Change::Update(basis), changes).await? {
                WriteResult::Applied(stored) => {
                    if let Ok(written) = stored.origin() {
                        written.state.revision.write_into(T::MODEL.version, &mut item);
                    }
                    (self.stored, self.item) = (stored, item);
                    if ends == AfterWrite::Renew {
                        grant.renewed(sent);
                    }
                    return Ok(Wrote::Yes);
                }
                WriteResult::Conflict(met) => {
                    let met = session.after_conflict(&get, &key, expected, met).await?;
                    item = met.ok_or_else(|| Error::Lost(grant.lose(Lost::Deleted)))?;
                    // A copy of an earlier attempt may have arrived after all: then the write is done.
                    if session.has_written(&item) {
                        let (value, basis) = decode::<T>(&table, item.clone())?;
                        (self.stored, self.item) = (Stored::new(value, basis), item);
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

impl<T> fmt::Debug for LeaseGuard<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("owner", &self.guard.grant.owner)
            .field("fence", &self.guard.grant.fence)
            .field("remaining", &self.guard.grant.remaining())
            .finish_non_exhaustive()
    }
}

impl<T: Lockable> Guard for LeaseGuard<T> {}

impl<T: Lockable> sealed::Sealed for LeaseGuard<T> {
    #[expect(private_interfaces, reason = "it is called here alone")]
    fn leased(&self) -> (ItemRef, HolderProof) {
        (self.repository.item_ref(self.key(), None), self.guard.grant.guard())
    }
}

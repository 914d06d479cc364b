//! The requests of one call, on the state that they share.

use std::{sync::Arc, time::Duration};

use super::{Repository, Request};
use crate::{
    codec::{Basis, Changes, Item, Stored, decode, encode},
    error::{Conflict, Error},
    key::Key,
    lease::LeasePolicy,
    model::{Model, Versioned},
    operation::{Action, GetItem, Sending, Write},
    retry::{Aim, Attempts, Proof, Written, unexpected_condition},
    version::{Expected, LateCopies, Repeats, WriteId, revision_in, ring_of, version_in},
    write::{
        key::checked_key,
        plan::{self, Plan, WriteStamp, WriteStamps},
    },
};

/// One call: its effort, and the id that all its writes carry. An id that is found in an item means that one of them was
/// applied.
pub(crate) struct Session<T> {
    repository: Repository<T>,
    attempts: Attempts,
    id: WriteId,
    once: bool,
    policy: LeasePolicy,
}

/// What became of a write.
pub(crate) enum Outcome<S> {
    Done(S),
    /// The item that was met instead.
    Lost(Option<Item>),
}

/// What became of a planned write.
enum Sent {
    /// What the next write of the item rests on.
    Written(Basis),
    /// The item that was met instead.
    Lost(Option<Item>),
}

/// Whether a write was applied.
enum Applied {
    Yes(Proof),
    /// The item that was met instead.
    No(Option<Item>),
}

impl<T: Versioned> Session<T> {
    pub(super) fn new<K>(request: Request<T, K>) -> (Self, K) {
        let Request { repository, limits, once, policy, kind } = request;
        let mut attempts = Attempts::new(&repository.connection, limits);
        let id = WriteId::draw(attempts.rng());
        (Self { repository, attempts, id, once, policy }, kind)
    }

    /// A call under a lease.
    pub(crate) fn under(repository: &Repository<T>, policy: LeasePolicy) -> Self {
        let mut attempts = Attempts::new(&repository.connection, repository.limits);
        let id = WriteId::draw(attempts.rng());
        Self { repository: repository.clone(), attempts, id, once: false, policy }
    }

    pub(super) fn table(&self) -> &Arc<str> {
        &self.repository.table
    }

    /// A strongly consistent read of a key.
    pub(crate) fn get(&self, key: &Key) -> Result<GetItem, Error> {
        let key = checked_key(T::MODEL, self.table(), key)?;
        Ok(GetItem { table: Arc::clone(self.table()), key, consistent: true })
    }

    pub(super) async fn read(&mut self, get: &GetItem) -> Result<Option<Item>, Error> {
        self.attempts.read(get).await
    }

    /// The item to go on from after a write that lost.
    pub(crate) async fn again(
        &mut self,
        get: &GetItem,
        key: &Key,
        expected: Option<u64>,
        met: Option<Item>,
    ) -> Result<Option<Item>, Error> {
        let table = Arc::clone(self.table());
        let version = |item: &Item| version_in(item, T::MODEL.version).unwrap_or(0);
        let conflict =
            |item, spent| Error::Conflict(Conflict::new(T::MODEL, table, key.clone(), expected, item, spent));
        self.attempts.after_conflict(met, get, version, conflict).await
    }

    /// The conflict of a write that lost and is not tried again.
    pub(super) fn conflict(&self, key: Key, expected: Option<u64>, met: Option<Item>) -> Conflict {
        Conflict::new(T::MODEL, Arc::clone(self.table()), key, expected, met, self.attempts.spent())
    }

    pub(super) fn not_found(&self, key: &Key) -> Error {
        let key = T::MODEL.shown_key(key);
        Error::NotFound { table: Arc::clone(self.table()), key, spent: self.attempts.spent() }
    }

    pub(super) fn key_changed(&self) -> Error {
        Error::KeyChanged { table: Arc::clone(self.table()) }
    }

    /// What a write of the value rests on. A value that came back with an etag alone gets it from a read, if the item is still
    /// in that state.
    pub(super) async fn known(&mut self, stored: Stored<T>) -> Result<(T, Basis), Error> {
        let (value, etag) = match stored.into_parts() {
            (value, Ok(basis)) => return Ok((value, basis)),
            (value, Err(etag)) => (value, etag),
        };
        let key = value.key();
        if !etag.is_of(&key) {
            return Err(self.key_changed());
        }
        let get = self.get(&key)?;
        let expected = Some(etag.number());
        let Some(item) = self.read(&get).await? else {
            return Err(Error::Conflict(self.conflict(key, expected, None)));
        };
        let (current, mut basis) = decode::<T>(self.table(), item.clone())?;
        if !basis.state.is_at(&etag) {
            return Err(Error::Conflict(self.conflict(key, expected, Some(item))));
        }
        basis.remember(&current);
        Ok((value, basis))
    }

    pub(super) async fn create(&mut self, value: T) -> Result<Outcome<Stored<T>>, Error> {
        let table = Arc::clone(self.table());
        let policy = self.policy.clone();
        let plan = |stamp| plan::create(&table, &value, stamp, &policy.clause(Repeats::InThisCall));
        let sent = self.store(Expected::Absent, plan).await?;
        Ok(outcome(sent, value))
    }

    pub(super) async fn replace(&mut self, value: T, basis: &Basis) -> Result<Outcome<Stored<T>>, Error> {
        let table = Arc::clone(self.table());
        let policy = self.policy.clone();
        let expected = Expected::Unchanged(&basis.state.revision);
        if T::MODEL.lock_in_item().is_none() {
            let plan = |stamp| plan::replace(&table, &value, basis, stamp, &policy.clause(Repeats::InThisCall));
            let sent = self.store(expected, plan).await?;
            return Ok(outcome(sent, value));
        }
        let get = self.get(&value.key())?;
        let Some(stored) = self.read(&get).await? else { return Ok(Outcome::Lost(None)) };
        let plan = |stamp| plan::overwrite(&table, &value, basis, &stored, stamp, &policy.clause(Repeats::InThisCall));
        let mut stamps = self.stamps();
        let sent = match plan(stamps.next()) {
            Err(Error::ExpressionTooLong { .. }) => {
                let content = plan::with_lease(encode(&table, &value)?, T::MODEL, &stored);
                self.put_over(&value, basis, &stored, &content).await?
            }
            first => self.store_from(first?, stamps, expected, plan).await?,
        };
        Ok(outcome(sent, value))
    }

    pub(crate) async fn update(
        &mut self,
        value: T,
        basis: &Basis,
        changes: Changes,
    ) -> Result<Outcome<Stored<T>>, Error> {
        let table = Arc::clone(self.table());
        let policy = self.policy.clone();
        let mut known = Some(changes);
        let mut plan = |stamp| {
            let changes = known.take().map_or_else(|| basis.changes(&table, &value), Ok)?;
            plan::update(&table, &value, basis, changes, stamp, &policy.clause(Repeats::InThisCall))
        };
        let mut stamps = self.stamps();
        match plan(stamps.next()) {
            Err(Error::ExpressionTooLong { bytes, .. }) if basis.state.revision.is_tracked() => {
                Box::pin(self.update_as_put(value, basis, bytes)).await
            }
            first => {
                let sent = self.store_from(first?, stamps, Expected::Unchanged(&basis.state.revision), plan).await?;
                Ok(outcome(sent, value))
            }
        }
    }

    /// An update that changes more attributes than an expression can name: a put of the stored item with the changes, if the stored item has no
    /// attribute that another program may change meanwhile. It is put again if nothing but its lease has changed. `bytes` are those of the
    /// expression.
    async fn update_as_put(&mut self, value: T, basis: &Basis, bytes: usize) -> Result<Outcome<Stored<T>>, Error> {
        let table = Arc::clone(self.table());
        let key = value.key();
        let changes = basis.changes(&table, &value)?;
        let get = self.get(&key)?;
        let mut item = self.read(&get).await?;
        loop {
            let Some(stored) = item else { return Ok(Outcome::Lost(None)) };
            if self.has_written(&stored) {
                let (value, basis) = decode::<T>(&table, stored)?;
                return Ok(Outcome::Done(Stored::new(value, basis)));
            }
            if revision_in(&stored, T::MODEL.version) != basis.state.revision {
                // A lease is the reason before the version is, as for any refused write.
                let refusal = self.policy.refusal_now(T::MODEL, &table, &stored, self.attempts.spent());
                return refusal.map_or(Ok(Outcome::Lost(Some(stored))), Err);
            }
            if plan::keeps_foreign(T::MODEL, basis, &stored, &changes) {
                return Err(Error::ExpressionTooLong { table, bytes, remedy: FOREIGN_REMEDY });
            }
            let content = changes.after(T::MODEL, &stored);
            let met = match self.put_over(&value, basis, &stored, &content).await? {
                Sent::Written(next) => return Ok(Outcome::Done(Stored::unchanged(value, next))),
                Sent::Lost(met) => met,
            };
            let is_lease_alone = |met: &Item| revision_in(met, T::MODEL.version) == basis.state.revision;
            if !met.as_ref().is_some_and(is_lease_alone) {
                return Ok(Outcome::Lost(met));
            }
            item = self.again(&get, &key, Some(basis.state.revision.number()), met).await?;
        }
    }

    async fn put_over(&mut self, value: &T, basis: &Basis, stored: &Item, content: &Item) -> Result<Sent, Error> {
        let table = Arc::clone(self.table());
        let policy = self.policy.clone();
        let plan = |stamp| {
            let clause = policy.clause(Repeats::InThisCall);
            plan::put_over::<T>(&table, &value.key(), basis, stored, content.clone(), stamp, &clause)
        };
        self.store(Expected::Unchanged(&basis.state.revision), plan).await
    }

    /// Sends a write of a value, planned anew for each attempt.
    async fn store(
        &mut self,
        expected: Expected<'_>,
        mut plan: impl FnMut(WriteStamp) -> Result<Plan, Error>,
    ) -> Result<Sent, Error> {
        let mut stamps = self.stamps();
        let first = plan(stamps.next())?;
        self.store_from(first, stamps, expected, plan).await
    }

    /// Like [`store`](Self::store), with the plan of the first attempt.
    async fn store_from(
        &mut self,
        Plan { write, mut next }: Plan,
        mut stamps: WriteStamps,
        expected: Expected<'_>,
        mut plan: impl FnMut(WriteStamp) -> Result<Plan, Error>,
    ) -> Result<Sent, Error> {
        let again = || {
            let plan = plan(stamps.next())?;
            next = plan.next;
            Ok(plan.write)
        };
        Ok(match self.write(write, again, expected).await? {
            Applied::Yes(proof) => Sent::Written(shown_by(proof, next)),
            Applied::No(item) => Sent::Lost(item),
        })
    }

    fn stamps(&mut self) -> WriteStamps {
        WriteStamps { id: self.id, rng: self.attempts.rng().fork(), repeats: Repeats::InThisCall }
    }

    /// Whether an item shows that a write of this call was applied.
    pub(crate) fn has_written(&self, item: &Item) -> bool {
        ring_of(item).is_some_and(|ring| ring.contains(self.id))
    }

    /// Whether the delete is certain, if it happened.
    pub(super) async fn delete(&mut self, value: &T, basis: &Basis) -> Result<Outcome<bool>, Error> {
        let table = Arc::clone(self.table());
        let policy = self.policy.clone();
        let plan = || plan::delete(&table, value, basis, &policy.clause(Repeats::InThisCall));
        Ok(match self.write(plan()?, plan, Expected::Deleted(&basis.state.revision)).await? {
            Applied::Yes(proof) => Outcome::Done(!matches!(proof, Proof::Absence)),
            Applied::No(item) => Outcome::Lost(item),
        })
    }

    pub(super) async fn delete_unchecked(&mut self, key: &Key) -> Result<(), Error> {
        let table = Arc::clone(self.table());
        let plan = || plan::delete_unchecked(T::MODEL, &table, key);
        match self.write(plan()?, plan, Expected::Anything).await? {
            Applied::Yes(_) => Ok(()),
            Applied::No(_) => Err(Error::Rejected(unexpected_condition().after(self.attempts.spent()))),
        }
    }

    async fn write(
        &mut self,
        mut write: Write,
        mut again: impl FnMut() -> Result<Write, Error>,
        expected: Expected<'_>,
    ) -> Result<Applied, Error> {
        let in_item =
            matches!(expected, Expected::Unchanged(_) | Expected::Deleted(_)) && T::MODEL.lock_in_item().is_some();
        let table = Arc::clone(self.table());
        let policy = self.policy.clone();
        loop {
            let (met, beside) = match self.send(write, &mut again, expected).await? {
                Written::Applied(proof) => return Ok(Applied::Yes(proof)),
                Written::Conflict(met) if !in_item => return Ok(Applied::No(met)),
                Written::Conflict(met) => (met, None),
                // If the lease is no reason to stop, the time is over.
                Written::Beside(row) => (row, Some(self.attempts.too_late())),
            };
            let refusal = policy.refusal(T::MODEL, &table, met.as_ref(), self.attempts.spent());
            let Some(refusal) = refusal.or(beside) else { return Ok(Applied::No(met)) };
            match met {
                Some(met) if policy.make_way(&mut self.attempts, T::MODEL, &table, &met).await? => write = again()?,
                Some(_) | None => return Err(refusal),
            }
        }
    }

    async fn send(
        &mut self,
        write: Write,
        mut again: impl FnMut() -> Result<Write, Error>,
        expected: Expected<'_>,
    ) -> Result<Written, Error> {
        if self.once {
            return self.send_once(write, again, expected).await;
        }
        let policy = self.policy.clone();
        let clears = |row: Option<&Item>| policy.clears(T::MODEL, row);
        let aim = Aim { clears: &clears, ..aim(T::MODEL, &policy, self.id, expected, &write) };
        self.attempts.write(write, &mut again, &Sending::Plain, aim).await
    }

    /// Sends a write under one token, and under another one if it has to become another.
    async fn send_once(
        &mut self,
        mut write: Write,
        mut again: impl FnMut() -> Result<Write, Error>,
        expected: Expected<'_>,
    ) -> Result<Written, Error> {
        let policy = self.policy.clone();
        loop {
            let token = format!("{:032x}", self.attempts.rng().u128(..));
            let same = write.clone();
            let aim = aim(T::MODEL, &policy, self.id, expected, &write);
            let written = self.attempts.write(write, || Ok(same.clone()), &Sending::Once(token), aim).await?;
            write = match written {
                Written::Beside(row)
                    if policy.clears(T::MODEL, row.as_ref()) && self.attempts.may_go_on(Duration::ZERO) =>
                {
                    again()?
                }
                written => return Ok(written),
            };
        }
    }
}

const FOREIGN_REMEDY: &str = "it changes too many attributes for an update, and the stored item has attributes that its type does not know, \
                              which a put could lose: change fewer attributes at once, keep them in one map attribute, or call `replace`, which \
                              deletes the attributes that the type does not know";

fn outcome<T: Versioned>(sent: Sent, value: T) -> Outcome<Stored<T>> {
    match sent {
        Sent::Written(next) => Outcome::Done(Stored::unchanged(value, next)),
        Sent::Lost(met) => Outcome::Lost(met),
    }
}

fn aim<'a>(model: &Model, policy: &'a LeasePolicy, id: WriteId, expected: Expected<'a>, write: &Write) -> Aim<'a> {
    // A put compares the whole lease, its queue as well, which may come back.
    let late = if matches!(write.action, Action::Put(_)) { LateCopies::MayPass } else { policy.late() };
    let releases = policy.releases(model);
    Aim { expected, id, version_attribute: model.version, late, releases, clears: Aim::NEVER }
}

/// What a write left: that of the last attempt, or of the attempt whose id was met.
fn shown_by(proof: Proof, next: Basis) -> Basis {
    match proof {
        Proof::Reply | Proof::Release | Proof::Absence => next,
        Proof::Id(incarnation) => next.in_life(incarnation),
    }
}

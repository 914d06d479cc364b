//! The requests of one call, on the state that they share.

use std::sync::Arc;

use super::{Repository, Request};
use crate::{
    codec::{Basis, Changes, Item, Stored, decode, encode, size},
    error::{Conflict, Error},
    key::Key,
    lease::{LeasePolicy, policy::CompanionWrite},
    model::Versioned,
    operation::GetItem,
    retry::{AfterConflict, Attempts, unexpected_condition},
    version::{Repeats, WriteId, ring_of, version_in},
    write::{
        intent::{Change, Intent, IntentOf, PutOver, UncheckedDelete, basis_at, with_lease},
        key::checked_key,
        plan::Plan,
        send::{Applied, Delivery, Proof, WriteResult, Writer},
        stamp::WriteStamps,
    },
};

/// One call: its attempts, and the id that all its writes carry. If an item shows the id, one of them was applied.
pub(crate) struct Session<T> {
    repository: Repository<T>,
    attempts: Attempts,
    id: WriteId,
    delivery: Delivery,
    policy: LeasePolicy,
    /// What the writes of this call do with a separate lease row.
    companion: CompanionWrite,
}

impl<T: Versioned> Session<T> {
    pub(super) fn new<K>(request: Request<T, K>) -> (Self, K) {
        let Request { repository, limits, delivery, policy, kind } = request;
        let attempts = Attempts::new(&repository.connection, limits);
        (Self::of(repository, attempts, delivery, policy), kind)
    }

    /// A call under a lease.
    pub(crate) fn under(repository: &Repository<T>, policy: LeasePolicy) -> Self {
        let attempts = Attempts::new(&repository.connection, repository.limits);
        Self::of(repository.clone(), attempts, Delivery::Plain, policy)
    }

    fn of(repository: Repository<T>, mut attempts: Attempts, delivery: Delivery, policy: LeasePolicy) -> Self {
        let id = WriteId::draw(attempts.rng());
        Self { repository, attempts, id, delivery, policy, companion: CompanionWrite::Check }
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

    /// The item that the next attempt starts from after a conflict: the item that the conflict returned, or a fresh one after a sleep.
    pub(crate) async fn after_conflict(
        &mut self,
        get: &GetItem,
        key: &Key,
        expected: Option<u64>,
        met: Option<Item>,
    ) -> Result<Option<Item>, Error> {
        let version =
            |item: &Option<Item>| item.as_ref().and_then(|item| version_in(item, T::MODEL.version)).unwrap_or(0);
        match self.attempts.pause_after_conflict(met.as_ref().map_or(0, size), version(&met)).await {
            AfterConflict::AtOnce => Ok(met),
            AfterConflict::Slept => {
                let item = self.read(get).await?;
                self.attempts.read_after_pause(version(&item));
                Ok(item)
            }
            AfterConflict::NoTimeLeft => {
                let conflict = Error::Conflict(self.conflict(key.clone(), expected, met));
                Err(self.attempts.exhausted(conflict))
            }
        }
    }

    /// The conflict of a write that is not tried again.
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

    /// The value, and the basis of its write. For a value that came back with an etag, the basis comes from a read, and the item must
    /// still be in the state of the etag.
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
        match basis_at::<T>(self.table(), item.clone(), &etag)? {
            Some(basis) => Ok((value, basis)),
            None => Err(Error::Conflict(self.conflict(key, expected, Some(item)))),
        }
    }

    pub(super) async fn create(&mut self, value: T) -> Result<WriteResult<Stored<T>>, Error> {
        let intent = self.intent(value, Change::Create);
        let result = self.write(&intent).await?;
        Ok(result.map(|applied| intent.into_stored(applied.next)))
    }

    pub(super) async fn replace(&mut self, value: T, basis: Basis) -> Result<WriteResult<Stored<T>>, Error> {
        if T::MODEL.lock_in_item().is_none() {
            let intent = self.intent(value, Change::Replace(basis));
            let result = self.write(&intent).await?;
            return Ok(result.map(|applied| intent.into_stored(applied.next)));
        }
        basis.check_key(self.table(), &value)?;
        let get = self.get(&value.key())?;
        let Some(stored) = self.read(&get).await? else { return Ok(WriteResult::Conflict(None)) };
        let intent = self.intent(value, Change::Overwrite(basis, stored));
        let first = self.plan_changes(&intent, intent.changes()?);
        let result = match (first, &intent.change) {
            (Err(Error::ExpressionTooLong { .. }), Change::Overwrite(_, stored)) => {
                let content = with_lease(encode(self.table(), &intent.value)?, T::MODEL, stored);
                self.write(&PutOver { intent: &intent, stored, content }).await?
            }
            (first, _) => self.writer().send(&intent, first?).await?,
        };
        Ok(result.map(|applied| intent.into_stored(applied.next)))
    }

    /// An update whose changes are known.
    pub(crate) async fn update(
        &mut self,
        value: T,
        change: Change,
        changes: Changes,
    ) -> Result<WriteResult<Stored<T>>, Error> {
        let intent = self.intent(value, change);
        match self.plan_changes(&intent, changes) {
            // Only the state of a tracked item is identified by its version, so only that item can be put.
            Err(Error::ExpressionTooLong { bytes, .. }) if intent.is_tracked() => {
                Box::pin(self.update_as_put(intent, bytes)).await
            }
            first => {
                let result = self.writer().send(&intent, first?).await?;
                Ok(result.map(|applied| intent.into_stored(applied.next)))
            }
        }
    }

    /// An update that changes more attributes than an expression can name. It puts the stored item with the changes, if the stored item
    /// has no attribute that another program may change meanwhile. If only the lease has changed since the read, it reads and puts
    /// again. `bytes` are the bytes of the expression.
    async fn update_as_put(&mut self, intent: IntentOf<T>, bytes: usize) -> Result<WriteResult<Stored<T>>, Error> {
        let (table, key) = (Arc::clone(self.table()), intent.value.key());
        let get = self.get(&key)?;
        let mut item = self.read(&get).await?;
        loop {
            let Some(stored) = item else { return Ok(WriteResult::Conflict(None)) };
            if self.has_written(&stored) {
                let (value, basis) = decode::<T>(&table, stored)?;
                return Ok(WriteResult::Applied(Stored::new(value, basis)));
            }
            if !intent.rests_on(&stored) {
                // A lease is the reason before the version is, as for any refused write.
                let judged_at = self.policy.judged_at(T::MODEL, self.companion);
                let refusal = intent.refusal(Some(&stored), judged_at, self.attempts.spent());
                return refusal.map_or(Ok(WriteResult::Conflict(Some(stored))), Err);
            }
            let changes = intent.changes()?;
            if intent.keeps_foreign(&stored, &changes) {
                return Err(Error::ExpressionTooLong { table, bytes, remedy: FOREIGN_REMEDY });
            }
            let content = changes.after(T::MODEL, &stored);
            let met = match self.write(&PutOver { intent: &intent, stored: &stored, content }).await? {
                WriteResult::Applied(applied) => {
                    return Ok(WriteResult::Applied(intent.into_stored(applied.next)));
                }
                WriteResult::Conflict(met) => met,
            };
            if !met.as_ref().is_some_and(|met| intent.rests_on(met)) {
                return Ok(WriteResult::Conflict(met));
            }
            item = self.after_conflict(&get, &key, intent.target().expected.version(), met).await?;
        }
    }

    /// Whether an item shows that a write of this call was applied.
    pub(crate) fn has_written(&self, item: &Item) -> bool {
        ring_of(item).is_some_and(|ring| ring.contains(self.id))
    }

    /// The result says whether the delete is certain.
    pub(super) async fn delete(&mut self, value: T, basis: Basis) -> Result<WriteResult<bool>, Error> {
        let intent = self.intent(value, Change::Delete(basis));
        let result = self.write(&intent).await?;
        Ok(result.map(|applied| !matches!(applied.proof, Proof::Absence)))
    }

    pub(super) async fn delete_unchecked(&mut self, key: Key) -> Result<(), Error> {
        let intent = UncheckedDelete(self.repository.item_ref(key, None));
        match self.write(&intent).await? {
            WriteResult::Applied(_) => Ok(()),
            WriteResult::Conflict(_) => Err(Error::Rejected(unexpected_condition().after(self.attempts.spent()))),
        }
    }

    fn intent(&self, value: T, change: Change) -> IntentOf<T> {
        IntentOf { table: Arc::clone(self.table()), value, change, policy: self.policy.clone() }
    }

    /// The first plan of an update. The changes move into it, so that no value is encoded twice.
    fn plan_changes(&mut self, intent: &IntentOf<T>, changes: Changes) -> Result<Plan, Error> {
        let clause = intent.clause(Repeats::InThisCall, self.companion);
        intent.plan_changes(changes, self.stamps().next(), &clause)
    }

    async fn write(&mut self, intent: &dyn Intent) -> Result<WriteResult<Applied>, Error> {
        let mut writer = self.writer();
        let first = writer.plan(intent)?;
        writer.send(intent, first).await
    }

    fn writer(&mut self) -> Writer<'_> {
        let stamps = self.stamps();
        let Self { attempts, delivery, companion, .. } = self;
        Writer { attempts, stamps, delivery: *delivery, companion, in_doubt: false }
    }

    fn stamps(&mut self) -> WriteStamps {
        WriteStamps { id: self.id, rng: self.attempts.rng().fork(), repeats: Repeats::InThisCall }
    }
}

const FOREIGN_REMEDY: &str = "it changes too many attributes for an update, and the stored item has attributes that its type does not know, \
                              which a put could lose: change fewer attributes at once, keep them in one map attribute, or call `replace`, which \
                              deletes the attributes that the type does not know";

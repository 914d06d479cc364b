//! The requests of one call, and the state that they share.

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
        intent::{Change, Intent, IntentOf, OwnedIntent, PutOver, UncheckedDelete, basis_at, with_lease},
        key::checked_key,
        plan::Plan,
        send::{Applied, Delivery, Proof, WriteResult, Writer},
        stamp::WriteStamps,
    },
};

/// One call, with its attempts and its write id. All writes of the call carry the id, so an item
/// that contains the id shows that one of them was applied.
pub(crate) struct Session<T> {
    repository: Repository<T>,
    attempts: Attempts,
    id: WriteId,
    delivery: Delivery,
    policy: LeasePolicy,
    /// How the writes of this call use a separate lease row.
    companion: CompanionWrite,
}

impl<T: Versioned> Session<T> {
    pub(super) fn new<K>(request: Request<T, K>) -> (Self, K) {
        let Request { repository, limits, delivery, policy, kind } = request;
        let attempts = Attempts::new(&repository.connection, limits);
        (Self::of(repository, attempts, delivery, policy), kind)
    }

    /// Starts a call with this lease policy.
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

    /// Returns a strongly consistent read of a key.
    pub(crate) fn get(&self, key: &Key) -> Result<GetItem, Error> {
        let key = checked_key(T::MODEL, self.table(), key)?;
        Ok(GetItem { table: Arc::clone(self.table()), key, consistent: true })
    }

    pub(super) async fn read(&mut self, get: &GetItem) -> Result<Option<Item>, Error> {
        self.attempts.read(get).await
    }

    /// Returns the item for the next attempt after a conflict: the item that the conflict returned,
    /// or a newly read item after a sleep.
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

    /// Returns the conflict of a write that is not attempted again.
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

    /// Returns the value and the basis of its write. If the value has an etag, the item is read
    /// first, and must still be in the state of the etag.
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

    /// Creates an item. `expired` is an expired item that was read under the key.
    ///
    /// A create that meets an expired item becomes a write over the revision of this item. The time
    /// of day thus decides what is tried, and no condition depends on it.
    pub(super) async fn create(
        &mut self,
        value: T,
        mut expired: Option<Item>,
    ) -> Result<WriteResult<Stored<T>>, Error> {
        let mut intent = self.intent(value, Change::Create);
        loop {
            let expected = expired.as_ref().map(|item| version_in(item, T::MODEL.version).unwrap_or(0));
            intent.create_over(expired)?;
            let met = match self.write_whole(&intent).await? {
                WriteResult::Applied(applied) => return Ok(WriteResult::Applied(intent.into_stored(applied.next))),
                WriteResult::Conflict(met) => met,
            };
            expired = match (met, expected) {
                (Some(item), None) if self.is_expired(&item) => Some(item),
                // Another caller was faster, or DynamoDB has deleted the expired item.
                (met, Some(_)) if met.as_ref().is_none_or(|item| self.is_expired(item)) => {
                    let get = self.get(&intent.key())?;
                    self.after_conflict(&get, &intent.key(), expected, met).await?
                }
                (met, _) => return Ok(WriteResult::Conflict(met)),
            };
            if let Some(item) = expired.take_if(|item| self.has_written(item)) {
                let (value, basis) = decode::<T>(self.table(), item)?;
                return Ok(WriteResult::Applied(Stored::new(value, basis)));
            }
            if let Some(item) = expired.take_if(|item| !self.is_expired(item)) {
                return Ok(WriteResult::Conflict(Some(item)));
            }
        }
    }

    /// Returns whether the time to live of an item is over.
    pub(super) fn is_expired(&self, item: &Item) -> bool {
        self.repository.item_expiry().is_over(T::MODEL, item)
    }

    pub(super) async fn replace(&mut self, value: T, basis: Basis) -> Result<WriteResult<Stored<T>>, Error> {
        let change = match T::MODEL.lock_in_item() {
            None => Change::Replace(basis),
            Some(_) => {
                basis.check_key(self.table(), &value)?;
                let get = self.get(&value.key())?;
                let Some(stored) = self.read(&get).await? else { return Ok(WriteResult::Conflict(None)) };
                Change::Overwrite(basis, stored)
            }
        };
        let intent = self.intent(value, change);
        let result = self.write_whole(&intent).await?;
        Ok(result.map(|applied| intent.into_stored(applied.next)))
    }

    /// Sends a write of the whole value. An item with its lease in the item is written by an update,
    /// or by a put if the expression would be too long.
    async fn write_whole(&mut self, intent: &IntentOf<T>) -> Result<WriteResult<Applied>, Error> {
        let stored = match &intent.change {
            Change::Overwrite(_, stored) | Change::Recreate(_, stored) if T::MODEL.lock_in_item().is_some() => stored,
            _ => return self.write(intent).await,
        };
        match self.plan_changes(intent, intent.changes()?) {
            Err(Error::ExpressionTooLong { .. }) => {
                let content = with_lease(encode(self.table(), &intent.value)?, T::MODEL, stored);
                self.write(&PutOver { intent, stored, content }).await
            }
            first => self.writer().send(intent, first?).await,
        }
    }

    /// Sends an update with these changes.
    pub(crate) async fn update(
        &mut self,
        value: T,
        change: Change,
        changes: Changes,
    ) -> Result<WriteResult<Stored<T>>, Error> {
        let intent = self.intent(value, change);
        match self.plan_changes(&intent, changes) {
            // A put replaces the whole item, so its condition must identify the state of the item.
            // The version identifies the state of a tracked item only.
            Err(Error::ExpressionTooLong { bytes, .. }) if intent.is_tracked() => {
                Box::pin(self.update_as_put(intent, bytes)).await
            }
            first => {
                let result = self.writer().send(&intent, first?).await?;
                Ok(result.map(|applied| intent.into_stored(applied.next)))
            }
        }
    }

    /// Sends an update whose expression would be longer than DynamoDB allows, as a put of the whole
    /// item with the changes. The put is made only if another program cannot change the stored item
    /// unnoticed. If only the lease has changed since the read, the call reads and puts again.
    /// `bytes` is the length of the expression.
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
                // As for any refused write, a lease is reported before a changed version.
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

    /// Returns whether an item shows that a write of this call was applied.
    pub(crate) fn has_written(&self, item: &Item) -> bool {
        ring_of(item).is_some_and(|ring| ring.contains(self.id))
    }

    /// Deletes the item. Returns whether it is certain that this call deleted it.
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
        let (table, policy) = (Arc::clone(self.table()), self.policy.clone());
        let (at, expiry) = (self.repository.options.now(), self.repository.item_expiry());
        IntentOf { table, value, change, policy, at, expiry }
    }

    /// Returns the first plan of an update. The plan takes the changes, so that no value is encoded
    /// twice.
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

//! The requests of one call, and the state that they share.

use std::{sync::Arc, time::Duration};

use super::{Repository, Request};
use crate::{
    codec::{Basis, Changes, Item, State, Stored, decode_stored, encode, size, state_of},
    error::{Conflict, Error, Spent},
    explain::{ExplainedAction, ExplainedRequest, RequestToken, Row},
    expression::Condition,
    key::Key,
    lease::{LeasePolicy, policy::CompanionWrite},
    model::Versioned,
    operation::GetItem,
    retry::{AfterConflict, Attempts, unexpected_condition},
    version::{WriteId, ring_of, version_in},
    write::{
        intent::{Adapted, Change, Intent, IntentOf, OwnedIntent, PutOver, UncheckedDelete, basis_at, with_lease},
        key::checked_key,
        outcome::AttemptOutcome,
        patch::{PatchIntent, SharedPatch},
        plan::Plan,
        send::{Applied, Delivery, Proof, WriteResult, Writer},
        stamp::WriteStamps,
    },
};

/// One call, with its attempts and its write id. All writes of the call have the same write id. If
/// an item contains this write id, one of the writes of the call was applied.
pub(crate) struct Session<T> {
    repository: Repository<T>,
    attempts: Attempts,
    id: WriteId,
    delivery: Delivery,
    policy: LeasePolicy,
    /// The condition that the caller added to a single write.
    condition: Option<Arc<Condition<T>>>,
    /// How the writes of this call use the separate lease row.
    companion: CompanionWrite,
}

/// The state of the item that a single write requires.
pub(super) struct ExpectedState {
    version: u64,
    /// The whole state, if the caller added a condition.
    state: Option<State>,
}

impl<T: Versioned> Session<T> {
    pub(super) fn new<K>(request: Request<T, K>) -> (Self, K) {
        let Request { repository, limits, delivery, policy, condition, kind } = request;
        let attempts = Attempts::new(&repository.connection, limits);
        (Self { condition, ..Self::of(repository, attempts, delivery, policy) }, kind)
    }

    /// Makes the session of a request that stays unsent.
    pub(super) fn of_unsent<K>(request: &Request<T, K>) -> Self {
        let Request { repository, limits, delivery, policy, condition, .. } = request;
        let attempts = Attempts::new(&repository.connection, *limits);
        let session = Self::of(repository.clone(), attempts, *delivery, policy.clone());
        Self { condition: condition.clone(), ..session }
    }

    /// Starts a call with this lease policy.
    pub(crate) fn under(repository: &Repository<T>, policy: LeasePolicy) -> Self {
        let attempts = Attempts::new(&repository.connection, repository.limits);
        Self::of(repository.clone(), attempts, Delivery::Plain, policy)
    }

    fn of(repository: Repository<T>, mut attempts: Attempts, delivery: Delivery, policy: LeasePolicy) -> Self {
        let id = WriteId::draw(attempts.rng());
        Self { repository, attempts, id, delivery, policy, condition: None, companion: CompanionWrite::Check }
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

    /// Returns the item for the next attempt after a conflict. For an immediate attempt, this is
    /// the item that the conflict returned. After a sleep, the item is read again.
    pub(crate) async fn after_conflict(
        &mut self,
        get: &GetItem,
        key: &Key,
        expected: Option<u64>,
        met: Option<Item>,
    ) -> Result<Option<Item>, Error> {
        match self.attempts.pause_after_conflict(met.as_ref().map_or(0, size)).await {
            // DynamoDB returned the current item with the refusal, so no read is needed.
            AfterConflict::AtOnce => Ok(met),
            AfterConflict::Slept => self.read(get).await,
            AfterConflict::NoTimeLeft => {
                let conflict = Error::Conflict(self.conflict(key.clone(), expected, met));
                Err(self.attempts.exhausted(conflict))
            }
        }
    }

    /// Returns the conflict of a write that is not attempted again.
    pub(super) fn conflict(&self, key: Key, expected: Option<u64>, met: Option<Item>) -> Conflict {
        Conflict::new(self.repository.item_ref(key, expected), met, self.attempts.spent())
    }

    /// Returns the state that a single write requires, for the error of a refusal.
    pub(super) fn expected(&self, basis: &Basis) -> ExpectedState {
        let version = basis.state.revision.number();
        ExpectedState { version, state: self.condition.is_some().then(|| basis.state.clone()) }
    }

    /// Returns the error of a single write whose condition the item `met` made false. If this item
    /// is in the required state, the condition of the caller is the reason.
    pub(super) fn refused(&self, key: Key, expected: &ExpectedState, met: Option<Item>) -> Error {
        let is_expected = |item: &Item| {
            let state = state_of(T::MODEL, self.table(), item).ok();
            state.is_some() && state == expected.state
        };
        // The condition of the caller is the cause only if all other parts of the condition were
        // true.
        let by_condition = met.as_ref().is_some_and(|item| {
            let is_false = self.condition.as_ref().is_some_and(|condition| !condition.is_true(Some(item)));
            is_false && is_expected(item)
        });
        let conflict = self.conflict(key, Some(expected.version), met);
        if by_condition { Error::ConditionFailed(conflict) } else { Error::Conflict(conflict) }
    }

    pub(super) fn not_found(&self, key: &Key) -> Error {
        let key = T::MODEL.shown_key(key);
        Error::NotFound { table: Arc::clone(self.table()), key, spent: self.attempts.spent() }
    }

    /// Returns the error of a call whose outcome can never be known.
    pub(super) fn indeterminate(&self) -> Error {
        self.attempts.indeterminate(self.table(), None, None, None)
    }

    /// Returns the number of requests that were sent, and the time since the start of the call.
    pub(super) fn spent(&self) -> Spent {
        self.attempts.spent()
    }

    /// Returns the number of pauses after requests without a decision.
    pub(super) fn pauses(&self) -> u32 {
        self.attempts.pauses()
    }

    /// Moves the deadline to this time from now.
    pub(super) fn allow(&mut self, time: Duration) {
        self.attempts.allow(time);
    }

    pub(super) fn key_changed(&self) -> Error {
        Error::KeyChanged { table: Arc::clone(self.table()) }
    }

    /// Returns the value and the basis of its write. For a value with an etag, this method reads
    /// the item first, and requires that the item is still in the state of the etag.
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
        // DynamoDB cannot compare an item with a digest, so the item is read and compared here.
        let expected = Some(etag.number());
        // A value with an etag is rare, and the box keeps the future of other writes small.
        let Some(item) = Box::pin(self.read(&get)).await? else {
            return Err(Error::Conflict(self.conflict(key, expected, None)));
        };
        match basis_at::<T>(self.table(), item.clone(), &etag)? {
            Some(basis) => Ok((value, basis)),
            None => Err(Error::Conflict(self.conflict(key, expected, Some(item)))),
        }
    }

    /// Creates an item. `expired` is the expired item under the key, if the caller has already read
    /// it.
    ///
    /// If a create finds an expired item, the create becomes a write that requires the revision of
    /// the expired item. The current time only decides whether this write is sent, and is not part
    /// of its condition.
    pub(super) async fn create(
        &mut self,
        value: T,
        mut expired: Option<Item>,
    ) -> Result<WriteResult<Stored<T>>, Error> {
        let mut intent = self.intent(value, Change::Create);
        loop {
            let expected = expired.as_ref().map(|item| version_in(item, T::MODEL.version).unwrap_or(0));
            // The `Adapted` result is not needed, because this loop decides from the item whether
            // to send another request.
            let _ = intent.adapt(expired.as_ref())?;
            let met = match self.write_whole(&intent).await? {
                WriteResult::Applied(applied) => return Ok(WriteResult::Applied(intent.into_stored(applied.next))),
                WriteResult::Conflict(met) => met,
            };
            expired = match (met, expected) {
                (Some(item), None) if self.is_expired(&item) => Some(item),
                // Another caller has written the expired item first, or DynamoDB has deleted it.
                (met, Some(_)) if met.as_ref().is_none_or(|item| self.is_expired(item)) => {
                    let get = self.get(&intent.key())?;
                    Box::pin(self.after_conflict(&get, &intent.key(), expected, met)).await?
                }
                (met, _) => return Ok(WriteResult::Conflict(met)),
            };
            // A late copy of an earlier attempt may have created this item.
            if let Some(item) = expired.take_if(|item| self.has_written(item)) {
                return Ok(WriteResult::Applied(decode_stored(self.table(), item)?));
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
                // If the lease is in the item, the replace is sent as an UpdateItem, because a
                // PutItem would write an old fence. The stored item shows which attributes the
                // UpdateItem must remove.
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

    /// Sends a write of the whole value. If the lease is in the item, the request is an UpdateItem,
    /// or a PutItem if the update expression would be too long.
    async fn write_whole(&mut self, intent: &IntentOf<T>) -> Result<WriteResult<Applied>, Error> {
        let stored = match &intent.change {
            Change::Overwrite(_, stored) | Change::Recreate(_, stored) if T::MODEL.lock_in_item().is_some() => stored,
            _ => return self.write(intent).await,
        };
        match self.plan_changes(intent, intent.changes()?) {
            // A PutItem needs no update expression. It copies the lease attributes from the item
            // that was read.
            Err(Error::ExpressionTooLong { .. }) => {
                let content = with_lease(encode(self.table(), &intent.value)?, T::MODEL, stored);
                self.write(&PutOver { intent, stored, content }).await
            }
            first => self.writer(intent).send(first?).await,
        }
    }

    /// Sends an update with these changes, as an UpdateItem or, if its expression would be too
    /// long, as a PutItem.
    pub(crate) async fn update(
        &mut self,
        value: T,
        change: Change,
        changes: Changes,
    ) -> Result<WriteResult<Stored<T>>, Error> {
        let intent = self.intent(value, change);
        match self.plan_changes(&intent, changes) {
            // A PutItem replaces the whole item, so its condition must identify the state of the
            // item. Only for a tracked item, a short condition does so.
            Err(Error::ExpressionTooLong { bytes, .. }) if intent.is_tracked() => {
                Box::pin(self.update_as_put(intent, bytes)).await
            }
            first => {
                let result = self.writer(&intent).send(first?).await?;
                Ok(result.map(|applied| intent.into_stored(applied.next)))
            }
        }
    }

    /// Sends an update as a PutItem of the whole item with the changes, because the update
    /// expression would be longer than DynamoDB allows. If the stored item has attributes that the
    /// type does not know, another program could change these unnoticed, and the result is an
    /// error. If only the lease has changed since the item was read, this method reads the item and
    /// sends the PutItem again. `bytes` is the length of the expression.
    async fn update_as_put(&mut self, intent: IntentOf<T>, bytes: usize) -> Result<WriteResult<Stored<T>>, Error> {
        let (table, key) = (Arc::clone(self.table()), intent.value.key());
        let get = self.get(&key)?;
        let mut item = self.read(&get).await?;
        loop {
            let Some(stored) = item else { return Ok(WriteResult::Conflict(None)) };
            // The item may contain the write id of an earlier attempt whose reply was lost.
            if self.has_written(&stored) {
                return Ok(WriteResult::Applied(decode_stored(&table, stored)?));
            }
            if !intent.rests_on(&stored) {
                // For each refused write, a lease is reported before a changed version, so the
                // lease is checked first.
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
            // If the revision is the same, either the lease has changed or the condition of the
            // caller is false. After a change of the lease, the next PutItem copies the new lease.
            // A false condition of the caller stays false, so the loop ends.
            if !met.as_ref().is_some_and(|met| intent.rests_on(met)) || intent.is_refused_for_good(met.as_ref()) {
                return Ok(WriteResult::Conflict(met));
            }
            item = self.after_conflict(&get, &key, intent.target().expected.version(), met).await?;
        }
    }

    /// Handles an update whose value has no changes: sends the condition of the caller as a check
    /// of the item, or nothing if the caller added no condition.
    pub(super) async fn check(&mut self, value: T, basis: Basis) -> Result<WriteResult<Stored<T>>, Error> {
        if self.condition.is_none() {
            return Ok(WriteResult::Applied(Stored::unchanged(value, basis)));
        }
        let intent = self.intent(value, Change::Update(basis.clone()));
        let result = self.write(&intent).await?;
        Ok(result.map(|_| Stored::unchanged(intent.value, basis)))
    }

    /// Returns whether an item shows that a write of this call was applied.
    pub(crate) fn has_written(&self, item: &Item) -> bool {
        ring_of(item).is_some_and(|ring| ring.contains(self.id))
    }

    /// Deletes the item, and returns whether it is certain that this call deleted it.
    pub(super) async fn delete(&mut self, value: T, basis: Basis) -> Result<WriteResult<bool>, Error> {
        let intent = self.intent(value, Change::Delete(basis));
        let result = self.write(&intent).await?;
        // If only the absence of the item proves the delete, another caller may have deleted the
        // item.
        Ok(result.map(|applied| !matches!(applied.proof, Proof::Absence)))
    }

    pub(super) async fn delete_unchecked(&mut self, key: Key) -> Result<(), Error> {
        let (item_ref, condition) = (self.repository.item_ref(key.clone(), None), self.condition.clone());
        match self.write(&UncheckedDelete { item_ref, condition }).await? {
            WriteResult::Applied(_) => Ok(()),
            // A write without a condition cannot be refused by a condition.
            WriteResult::Conflict(_) if self.condition.is_none() => {
                Err(Error::Rejected(unexpected_condition().after(self.attempts.spent())))
            }
            WriteResult::Conflict(met) => Err(Error::ConditionFailed(self.conflict(key, None, met))),
        }
    }

    pub(super) fn intent(&self, value: T, change: Change) -> IntentOf<T> {
        let (table, policy) = (Arc::clone(self.table()), self.policy.clone());
        let (at, expiry) = (self.repository.options.now(), self.repository.item_expiry());
        IntentOf { table, value, change, policy, condition: self.condition.clone(), at, expiry }
    }

    /// Returns the first plan of an update. The encoded values move from `changes` into the plan.
    fn plan_changes(&mut self, intent: &IntentOf<T>, changes: Changes) -> Result<Plan, Error> {
        let clause = intent.clause(self.id.repeats, self.companion);
        intent.plan_changes(changes, self.stamps().next(), &clause)
    }

    pub(super) fn patch_intent(&self, key: Key, content: SharedPatch<T>) -> PatchIntent<T> {
        self.repository.patch_under(key, content, self.policy.clone())
    }

    /// Sends a patch, and returns the item after the patch.
    pub(crate) async fn patch(&mut self, key: Key, content: SharedPatch<T>) -> Result<Item, Error> {
        let mut intent = self.patch_intent(key, content);
        loop {
            let met = match self.write(&intent).await? {
                WriteResult::Applied(Applied { item: Some(item), .. }) => return Ok(item),
                // The reply to a transaction contains no item.
                WriteResult::Applied(_) => return self.read_back(&intent.key).await,
                WriteResult::Conflict(met) => met,
            };
            let Some(item) = intent.alive(met) else { return Err(self.not_found(&intent.key)) };
            // The item has a null, or write ids without a version. The next plan therefore has
            // another expression.
            if intent.adapt(Some(&item))? == Adapted::Yes {
                continue;
            }
            if let Some(error) = intent.refused_by(&item, self.attempts.spent()) {
                return Err(error);
            }
            // Some compatible servers do not return the item with the refusal. The item was then
            // read after the refusal, and may have changed in between.
            let get = self.get(&intent.key)?;
            self.after_conflict(&get, &intent.key, None, Some(item)).await?;
        }
    }

    /// Reads the item after a patch that was sent as a transaction. The reply to a transaction
    /// contains no item.
    async fn read_back(&mut self, key: &Key) -> Result<Item, Error> {
        let get = self.get(key)?;
        let last = match self.read(&get).await {
            Ok(Some(item)) => return Ok(item),
            Ok(None) => self.not_found(key),
            Err(error) => error,
        };
        Err(self.attempts.indeterminate(self.table(), None, None, Some(last)))
    }

    /// Explains the request of a write, without sending it.
    pub(super) fn explain(&mut self, intent: &dyn Intent) -> Result<ExplainedRequest, Error> {
        let Plan { write, companion, .. } = self.writer(intent).plan()?;
        if companion.is_none() && self.delivery == Delivery::Plain {
            return Ok(ExplainedRequest::of_write(write));
        }
        let own = ExplainedAction::in_transaction(write, Row::Item);
        let row = companion.map(|row| ExplainedAction::in_transaction(*row, Row::Lease));
        Ok(ExplainedRequest::transaction([own].into_iter().chain(row).collect(), RequestToken::Drawn))
    }

    async fn write(&mut self, intent: &dyn Intent) -> Result<WriteResult<Applied>, Error> {
        let mut writer = self.writer(intent);
        let first = writer.plan()?;
        writer.send(first).await
    }

    fn writer<'a>(&'a mut self, intent: &'a dyn Intent) -> Writer<'a> {
        let stamps = self.stamps();
        let Self { attempts, delivery, companion, .. } = self;
        Writer { intent, attempts, stamps, delivery: *delivery, companion, outcome: AttemptOutcome::Known }
    }

    fn stamps(&mut self) -> WriteStamps {
        // The writer borrows the attempts, so the stamps need their own generator.
        WriteStamps { id: self.id, rng: self.attempts.rng().fork() }
    }
}

const FOREIGN_REMEDY: &str = "it changes too many attributes for an update, and the stored item has attributes that its type does not know, \
                              which a put could lose: change fewer attributes at once, keep them in one map attribute, or call `replace`, which \
                              deletes the attributes that the type does not know";

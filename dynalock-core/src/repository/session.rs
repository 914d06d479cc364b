//! A session: one call of a repository, with the data that the requests of the call share.

use std::{mem, sync::Arc, time::Duration};

use super::{Deleted, Repository, Request};
use crate::{
    codec::{Basis, Changes, Item, State, Stored, decode_applied, encode, size, state_of},
    error::{Conflict, Error},
    explain::{ExplainedAction, ExplainedRequest, ExplainedRow, RequestToken},
    expression::Condition,
    key::Key,
    lease::{LeasePolicy, policy::CompanionWrite},
    model::Versioned,
    operation::GetItem,
    retry::{AfterConflict, Attempts, unexpected_condition},
    version::{WriteId, shows_any, version_in},
    write::{
        intent::{Adapted, Intent, IntentOf, ItemChange, OwnedIntent, PutOver, UncheckedDelete, basis_at, with_lease},
        key::checked_key,
        outcome::AttemptOutcome,
        patch::{PatchIntent, SharedPatch},
        plan::Plan,
        send::{Applied, Delivery, Proof, WriteResult, Writer},
        stamp::WriteStamps,
    },
};

pub(crate) struct Session<T> {
    repository: Repository<T>,
    pub(super) attempts: Attempts,
    id: WriteId,
    /// The ids of the refused writes of the call. DynamoDB may still apply a delayed duplicate of a
    /// refused write.
    refused: Vec<WriteId>,
    delivery: Delivery,
    policy: LeasePolicy,
    condition: Option<Arc<Condition<T>>>,
    companion: CompanionWrite,
}

pub(super) enum NextRun {
    /// The item for the next run of the closure, or `None` if the key has no item.
    On(Option<Item>),
    /// The item contains the id of a refused write of the call, so DynamoDB has applied a delayed
    /// duplicate of the refused write.
    AppliedLate(Item),
}

pub(super) struct ExpectedState {
    version: u64,
    /// The expected state of the item, or `None` if the caller added no condition to the write.
    state: Option<State>,
}

impl<T: Versioned> Session<T> {
    pub(super) fn new<K>(request: Request<T, K>) -> (Self, K) {
        let Request { repository, limits, delivery, policy, condition, kind } = request;
        let mut attempts = Attempts::new(&repository.connection, limits);
        let id = WriteId::draw(attempts.rng());
        let (refused, companion) = (Vec::new(), CompanionWrite::Check);
        (Self { repository, attempts, id, refused, delivery, policy, condition, companion }, kind)
    }

    /// Makes a session that sends no request, for the `explain` methods.
    pub(super) fn of_unsent<K>(request: &Request<T, K>) -> Self {
        Self::new(request.like(())).0
    }

    pub(crate) fn under(repository: &Repository<T>, policy: LeasePolicy) -> Self {
        Self::new(Request { policy, ..repository.request(()) }).0
    }

    pub(super) fn table(&self) -> &Arc<str> {
        &self.repository.table
    }

    pub(crate) fn get(&self, key: &Key) -> Result<GetItem, Error> {
        let key = checked_key(T::MODEL, self.table(), key)?;
        Ok(GetItem { table: Arc::clone(self.table()), key, consistent: true })
    }

    /// Returns the item from which the next attempt starts. This is the item in DynamoDB's refusal
    /// (`met`), or, if the call has slept since the refusal, a newly read item.
    pub(crate) async fn after_conflict(
        &mut self,
        get: &GetItem,
        key: &Key,
        expected: Option<u64>,
        met: Option<Item>,
    ) -> Result<Option<Item>, Error> {
        match self.attempts.pause_after_conflict(met.as_ref().map_or(0, size)).await {
            AfterConflict::AtOnce => Ok(met),
            AfterConflict::Slept => self.attempts.read(get).await,
            AfterConflict::NoTimeLeft => {
                let conflict = Error::Conflict(self.conflict(key.clone(), expected, met));
                Err(self.attempts.exhausted(conflict))
            }
        }
    }

    /// Returns the error of the call if no further attempt is allowed after the conflict with the
    /// item `met`.
    fn check_attempts(&self, key: &Key, expected: Option<u64>, met: Option<&Item>) -> Result<(), Error> {
        if self.attempts.may_go_on(Duration::ZERO) {
            return Ok(());
        }
        let conflict = Error::Conflict(self.conflict(key.clone(), expected, met.cloned()));
        Err(self.attempts.exhausted(conflict))
    }

    pub(super) async fn next_run(
        &mut self,
        get: &GetItem,
        key: &Key,
        expected: Option<u64>,
        met: Option<Item>,
    ) -> Result<NextRun, Error> {
        let id = WriteId::draw(self.attempts.rng());
        self.refused.push(mem::replace(&mut self.id, id));
        let mut item = met;
        if !self.shows_refused_run(item.as_ref()) {
            item = self.after_conflict(get, key, expected, item).await?;
        }
        Ok(match item {
            Some(item) if self.shows_refused_run(Some(&item)) => NextRun::AppliedLate(item),
            item => NextRun::On(item),
        })
    }

    pub(super) fn shows_refused_run(&self, item: Option<&Item>) -> bool {
        shows_any(item, &self.refused)
    }

    pub(super) fn conflict(&self, key: Key, expected: Option<u64>, met: Option<Item>) -> Conflict {
        Conflict::new(self.repository.item_ref(key, expected), met, self.attempts.spent())
    }

    pub(super) fn expected(&self, basis: &Basis) -> ExpectedState {
        let version = basis.state.revision.number();
        ExpectedState { version, state: self.condition.is_some().then(|| basis.state.clone()) }
    }

    /// Returns `ConditionFailed` if the stored item `met` has the expected state but does not meet
    /// the caller's condition, and `Conflict` in all other cases.
    pub(super) fn refused(&self, key: Key, expected: &ExpectedState, met: Option<Item>) -> Error {
        let by_condition = self.condition.as_ref().zip(met.as_ref()).is_some_and(|(condition, item)| {
            let state = state_of(T::MODEL, self.table(), item).ok();
            !condition.is_true(Some(item)) && state.is_some() && state == expected.state
        });
        let conflict = self.conflict(key, Some(expected.version), met);
        if by_condition { Error::ConditionFailed(conflict) } else { Error::Conflict(conflict) }
    }

    pub(super) fn not_found(&self, key: &Key) -> Error {
        let key = T::MODEL.shown_key(key);
        Error::NotFound { table: Arc::clone(self.table()), key, spent: self.attempts.spent() }
    }

    pub(super) fn indeterminate(&self) -> Error {
        self.attempts.indeterminate(self.table(), None, None, None)
    }

    pub(super) fn key_changed(&self) -> Error {
        Error::KeyChanged { table: Arc::clone(self.table()) }
    }

    /// For a value with an etag, `known` reads the item, and returns a conflict if the item has
    /// changed since the etag was made.
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
        // DynamoDB cannot compare an item with the digest in an etag, so the call reads the item.
        let expected = Some(etag.number());
        // The read is in a box, because a large future for a rare case would enlarge the future of
        // each write.
        let Some(item) = Box::pin(self.attempts.read(&get)).await? else {
            return Err(Error::Conflict(self.conflict(key, expected, None)));
        };
        match basis_at::<T>(self.table(), item.clone(), &etag)? {
            Some(basis) => Ok((value, basis)),
            None => Err(Error::Conflict(self.conflict(key, expected, Some(item)))),
        }
    }

    /// `expired` is the expired item that the call has already read under the key, or `None`. The
    /// condition of a create over an expired item requires that the stored item has not changed
    /// since the read of `expired`, and does not check the expiry time again.
    pub(super) async fn create(
        &mut self,
        value: T,
        mut expired: Option<Item>,
    ) -> Result<WriteResult<Stored<T>>, Error> {
        let mut intent = self.intent(value, ItemChange::Create);
        loop {
            let expected = expired.as_ref().map(|item| version_in(item, T::MODEL.version).unwrap_or(0));
            // The loop sends a request in any case, so the `Adapted` result does not matter.
            let _ = intent.adapt(expired.as_ref())?;
            let met = match self.write_whole(&intent).await? {
                WriteResult::Applied(applied) => return Ok(WriteResult::Applied(intent.into_stored(applied.next))),
                WriteResult::Conflict(met) => met,
            };
            expired = match (met, expected) {
                (Some(item), None) if self.is_expired(&item) => {
                    self.check_attempts(&intent.key(), None, Some(&item))?;
                    Some(item)
                }
                // Another caller or DynamoDB has changed or deleted the expired item since the
                // read.
                (met, Some(_)) if met.as_ref().is_none_or(|item| self.is_expired(item)) => {
                    let get = self.get(&intent.key())?;
                    Box::pin(self.after_conflict(&get, &intent.key(), expected, met)).await?
                }
                (met, _) => return Ok(WriteResult::Conflict(met)),
            };
            // DynamoDB has applied an earlier attempt of the create late.
            if let Some(item) = expired.take_if(|item| self.has_written(item)) {
                return Ok(WriteResult::Applied(decode_applied(self.table(), item)?));
            }
            if let Some(item) = expired.take_if(|item| !self.is_expired(item)) {
                return Ok(WriteResult::Conflict(Some(item)));
            }
        }
    }

    pub(super) fn is_expired(&self, item: &Item) -> bool {
        self.repository.item_expiry().is_over(T::MODEL, item)
    }

    pub(super) async fn replace(&mut self, value: T, basis: Basis) -> Result<WriteResult<Stored<T>>, Error> {
        let change = match T::MODEL.lock_in_item() {
            None => ItemChange::Replace(basis),
            Some(_) => {
                // A PutItem would overwrite the fence in the item with an old fence, so the call
                // sends an UpdateItem. The call reads the item first, to learn which attributes the
                // UpdateItem must remove.
                basis.check_key(self.table(), &value)?;
                let get = self.get(&value.key())?;
                let Some(stored) = self.attempts.read(&get).await? else { return Ok(WriteResult::Conflict(None)) };
                ItemChange::Overwrite(basis, stored)
            }
        };
        let intent = self.intent(value, change);
        let result = self.write_whole(&intent).await?;
        Ok(result.map(|applied| intent.into_stored(applied.next)))
    }

    /// Sends the overwrite of an item that contains a lease as an UpdateItem, or as a PutItem if
    /// the update expression would be too long.
    async fn write_whole(&mut self, intent: &IntentOf<T>) -> Result<WriteResult<Applied>, Error> {
        let stored = match &intent.change {
            ItemChange::Overwrite(_, stored) | ItemChange::Recreate(_, stored) if T::MODEL.lock_in_item().is_some() => {
                stored
            }
            _ => return self.write(intent).await,
        };
        match self.plan_changes(intent, intent.changes()?) {
            // The put keeps the lease attributes of the item that the call has read.
            Err(Error::ExpressionTooLong { .. }) => {
                let content = with_lease(encode(self.table(), &intent.value)?, T::MODEL, stored);
                self.write(&PutOver { intent, stored, content }).await
            }
            first => self.writer(intent).send(first?).await,
        }
    }

    pub(crate) async fn update(
        &mut self,
        value: T,
        change: ItemChange,
        changes: Changes,
    ) -> Result<WriteResult<Stored<T>>, Error> {
        let intent = self.intent(value, change);
        match self.plan_changes(&intent, changes) {
            // A short condition identifies the exact state of an item only if the item is tracked
            // (has a version and write ids).
            Err(too_long @ Error::ExpressionTooLong { .. }) if intent.is_tracked() => {
                Box::pin(self.update_as_put(intent, too_long)).await
            }
            first => {
                let result = self.writer(&intent).send(first?).await?;
                Ok(result.map(|applied| intent.into_stored(applied.next)))
            }
        }
    }

    /// Sends an update as a PutItem of the whole item. `too_long` is the error of the update
    /// expression.
    async fn update_as_put(&mut self, intent: IntentOf<T>, too_long: Error) -> Result<WriteResult<Stored<T>>, Error> {
        let (table, key) = (Arc::clone(self.table()), intent.value.key());
        let get = self.get(&key)?;
        let mut item = self.attempts.read(&get).await?;
        loop {
            let Some(stored) = item else { return Ok(WriteResult::Conflict(None)) };
            // The item may contain the write id of an earlier attempt whose reply was lost.
            if self.has_written(&stored) {
                return Ok(WriteResult::Applied(decode_applied(&table, stored)?));
            }
            if !intent.rests_on(&stored) {
                // If another caller holds a lease on the changed item, every kind of write returns
                // `Locked` instead of a conflict.
                let judged_at = self.policy.judged_at(T::MODEL, self.companion);
                self.policy.learn(Some(&stored));
                let error = intent.lease_error(Some(&stored), judged_at, self.attempts.spent());
                return error.map_or(Ok(WriteResult::Conflict(Some(stored))), Err);
            }
            let changes = intent.changes()?;
            if intent.keeps_foreign(&stored, &changes) {
                return Err(match too_long {
                    Error::ExpressionTooLong { table, bytes, operators, .. } => {
                        Error::ExpressionTooLong { table, bytes, operators, remedy: FOREIGN_REMEDY }
                    }
                    other => other,
                });
            }
            let content = changes.after(T::MODEL, &stored);
            let met = match self.write(&PutOver { intent: &intent, stored: &stored, content }).await? {
                WriteResult::Applied(applied) => {
                    return Ok(WriteResult::Applied(intent.into_stored(applied.next)));
                }
                WriteResult::Conflict(met) => met,
            };
            // If only the lease of the item has changed, the loop repeats the put with the new
            // lease. If the condition of the caller is false, the loop ends.
            if !met.as_ref().is_some_and(|met| intent.rests_on(met)) || intent.is_refused_for_good(met.as_ref()) {
                return Ok(WriteResult::Conflict(met));
            }
            item = self.after_conflict(&get, &key, intent.target().expected.version(), met).await?;
        }
    }

    /// An update without changes needs a request only if the caller added a condition.
    pub(super) async fn check(&mut self, value: T, basis: Basis) -> Result<WriteResult<Stored<T>>, Error> {
        if self.condition.is_none() {
            return Ok(WriteResult::Applied(Stored::unchanged(value, basis)));
        }
        let intent = self.intent(value, ItemChange::Update(basis.clone()));
        let result = self.write(&intent).await?;
        Ok(result.map(|_| Stored::unchanged(intent.value, basis)))
    }

    pub(crate) fn has_written(&self, item: &Item) -> bool {
        shows_any(Some(item), &[self.id])
    }

    /// Deletes the item. Returns an error if the item has changed since the read of `stored`.
    pub(crate) async fn delete(&mut self, stored: Stored<T>) -> Result<Deleted, Error> {
        let (value, basis) = self.known(stored).await?;
        let (key, expected) = (value.key(), self.expected(&basis));
        let intent = self.intent(value, ItemChange::Delete(basis));
        match self.write(&intent).await? {
            // After a lost reply, a read may show only that the item no longer exists. Another
            // caller may have deleted the item.
            WriteResult::Applied(applied) => Ok(Deleted { certain: !matches!(applied.proof, Proof::Absence) }),
            WriteResult::Conflict(met) => Err(self.refused(key, &expected, met)),
        }
    }

    pub(super) async fn delete_unchecked(&mut self, key: Key) -> Result<(), Error> {
        let (item_ref, condition) = (self.repository.item_ref(key.clone(), None), self.condition.clone());
        match self.write(&UncheckedDelete { item_ref, condition }).await? {
            WriteResult::Applied(_) => Ok(()),
            // The request contained no condition, so a reply that reports a false condition is
            // invalid.
            WriteResult::Conflict(_) if self.condition.is_none() => {
                Err(Error::Rejected(unexpected_condition().after(self.attempts.spent())))
            }
            WriteResult::Conflict(met) => Err(Error::ConditionFailed(self.conflict(key, None, met))),
        }
    }

    pub(super) fn intent(&self, value: T, change: ItemChange) -> IntentOf<T> {
        let intent = self.repository.intent(value, change, self.policy.clone());
        IntentOf { condition: self.condition.clone(), ..intent }
    }

    fn plan_changes(&mut self, intent: &IntentOf<T>, changes: Changes) -> Result<Plan, Error> {
        let clause = intent.clause(self.id.repeats, self.companion);
        intent.plan_changes(changes, self.stamps().next(), &clause)
    }

    pub(super) fn patch_intent(&self, key: Key, content: SharedPatch<T>) -> PatchIntent<T> {
        self.repository.patch_intent(key, content, self.policy.clone())
    }

    pub(crate) async fn read(&mut self, get: &GetItem) -> Result<Option<Item>, Error> {
        self.attempts.read(get).await
    }

    pub(crate) async fn patch(&mut self, key: Key, content: SharedPatch<T>) -> Result<Item, Error> {
        let mut intent = self.patch_intent(key, content);
        let mut refused_on = None;
        loop {
            let met = match self.write(&intent).await? {
                WriteResult::Applied(Applied { item: Some(item), .. }) => return Ok(item),
                // The reply to a transaction contains no item, so the call reads the item.
                WriteResult::Applied(_) => return self.read_back(&intent.key).await,
                WriteResult::Conflict(met) => met,
            };
            let Some(item) = intent.alive(met) else { return Err(self.not_found(&intent.key)) };
            // For an item with a null attribute, or with write ids but no version, the next attempt
            // sends a different update expression.
            if intent.adapt(Some(&item))? == Adapted::Yes {
                self.check_attempts(&intent.key, None, Some(&item))?;
                continue;
            }
            if let Some(error) = intent.refused_by(&item, self.attempts.spent()) {
                return Err(error);
            }
            // DynamoDB has refused the patch twice on the same item, so the caller's condition
            // counts as false.
            if refused_on.as_ref() == Some(&item) && intent.has_condition() {
                return Err(Error::ConditionFailed(self.conflict(intent.key, None, Some(item))));
            }
            refused_on = Some(item.clone());
            // Some DynamoDB-compatible servers return no item with a refusal. The item that the
            // call then reads may be newer than the refusal, so the call sends the patch again.
            let get = self.get(&intent.key)?;
            self.after_conflict(&get, &intent.key, None, Some(item)).await?;
        }
    }

    async fn read_back(&mut self, key: &Key) -> Result<Item, Error> {
        let get = self.get(key)?;
        let last = match self.attempts.read(&get).await {
            Ok(Some(item)) => return Ok(item),
            Ok(None) => self.not_found(key),
            Err(error) => error,
        };
        Err(self.attempts.indeterminate(self.table(), None, None, Some(last)))
    }

    pub(super) fn explain(&mut self, intent: &dyn Intent) -> Result<ExplainedRequest, Error> {
        let Plan { write, companion, .. } = self.writer(intent).plan()?;
        if companion.is_none() && self.delivery == Delivery::Plain {
            return Ok(ExplainedRequest::of_write(write));
        }
        let own = ExplainedAction::in_transaction(write, ExplainedRow::Item);
        let row = companion.map(|row| ExplainedAction::in_transaction(*row, ExplainedRow::Lease));
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
        // The writer borrows `attempts` mutably, so the `WriteStamps` need a separate random number
        // generator.
        WriteStamps { id: self.id, rng: self.attempts.rng().fork() }
    }
}

const FOREIGN_REMEDY: &str = "it changes too many attributes for an update, and the stored item has attributes that its type does not know, \
                              which a put could lose: change fewer attributes at once, keep them in one map attribute, or call `replace`, which \
                              deletes the attributes that the type does not know";

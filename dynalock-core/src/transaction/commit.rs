//! The commit of a transaction: sends the TransactWriteItems request, and interprets the answer of
//! DynamoDB.

use std::{mem, sync::Arc, time::Duration};

use super::token::{already_committed, is_committed};
use crate::{
    codec::Basis,
    error::{ActionReason, CancellationClass, Cancelled, Error, TransactionId},
    lease::policy::{CompanionWrite, evict_expired_head},
    model::ItemRef,
    operation::{ActionReasons, Failure, Transact, table_names},
    random,
    retry::{Attempts, mismatch},
    telemetry::lost_reply,
    version::{Doubt, Expected, Repeats, Verdict, WriteId, revision_in, ring_of, shows_any, verdict},
    write::{
        assembly::{Assembly, assemble},
        intent::{Adapted, Intent, Target},
        operation::Operation,
        outcome::AttemptOutcome,
        plan::WritePosition,
        send::WriteResult,
        stamp::WriteStamps,
    },
};

/// The next step of a commit that DynamoDB has refused because of another running transaction. If
/// the outcome of an attempt is unknown, the commit always repeats its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterContention {
    SendAgain,
    /// The unit of work sleeps, and then runs its closure again with new reads. A repeated request
    /// would fail if another transaction has changed an item that the request checks.
    ReadAgain,
}

pub(super) struct Commit<'a> {
    pub(super) attempts: &'a mut Attempts,
    pub(super) transaction: TransactionId,
    pub(super) operations: &'a mut [Operation],
    pub(super) assembly: Assembly,
    pub(super) stamps: WriteStamps,
    pub(super) token: String,
    /// The write ids of all runs of the closure of a unit of work, or an empty slice for a
    /// `Transaction`.
    pub(super) runs: &'a [WriteId],
    pub(super) after_contention: AfterContention,
    pub(super) outcome: AttemptOutcome,
}

impl Commit<'_> {
    /// Sends the transaction, and returns the state of each item after the transaction. If the
    /// commit could adapt the operations to a refusal, for example because of an expired lease,
    /// `run` sends the adapted request with a new token.
    pub(super) async fn run(mut self) -> Result<Vec<Option<Basis>>, Error> {
        loop {
            let writes = mem::take(&mut self.assembly.writes);
            let request = Transact::new(writes, Some(self.token.clone()))
                .map_err(|why| Error::Rejected(why.after(self.attempts.spent())))?;
            match self.send(&request).await? {
                WriteResult::Applied(()) => return Ok(self.assembly.next),
                WriteResult::Conflict(reasons) => self.after_refusal(&reasons)?,
            }
            // DynamoDB refuses a remembered token with different content, so the changed request
            // needs another token.
            self.token = random::token(self.attempts.rng());
            self.assembly = assemble(self.operations, &mut self.stamps)?;
        }
    }

    /// Sends the request, with retries, until the library knows whether DynamoDB has applied the
    /// transaction. If an expired entry of a lease queue made the request fail, `send` removes the
    /// entry and repeats the request.
    async fn send(&mut self, request: &Transact) -> Result<WriteResult<(), Vec<ActionReason>>, Error> {
        loop {
            let result = self.send_until_known(request).await;
            if self.outcome == AttemptOutcome::Unknown {
                lost_reply(WriteResult::found_out(&result));
            }
            match result {
                // DynamoDB remembers only the tokens of committed transactions, so the next request
                // can have the same token.
                Ok(WriteResult::Conflict(reasons)) if self.evict_expired_heads(&reasons).await? => {}
                Err(missing @ Error::TableNotFound { .. }) => {
                    let item_refs: Vec<_> = self.operations.iter().map(|operation| &operation.item_ref).collect();
                    return Err(which_is_missing(self.attempts, &item_refs, missing).await);
                }
                // DynamoDB refuses a remembered token if the bytes of the request have changed, for
                // example because a `HashMap` has another order. The write id in an item proves
                // that the earlier commit with the token was a commit of the same transaction.
                Err(Error::TokenReused { .. })
                    if self.has_given_token() && is_committed(self.attempts, self.operations, self.stamps.id).await =>
                {
                    return Err(already_committed(self.attempts));
                }
                result => return result,
            }
        }
    }

    /// All attempts have the same token, so that DynamoDB applies the request at most once in ten
    /// minutes.
    async fn send_until_known(&mut self, request: &Transact) -> Result<WriteResult<(), Vec<ActionReason>>, Error> {
        let client = self.attempts.connection().client.clone();
        self.outcome = AttemptOutcome::Known;
        self.attempts.check_time()?;
        loop {
            let paused = match self.attempts.attempt_of(request.len(), Box::pin(request.send(&client))).await {
                Ok(()) => return Ok(WriteResult::Applied(())),
                // If no condition was false, a cancellation does not show whether DynamoDB applied
                // an earlier attempt.
                Err(Failure::Cancelled(reasons)) if reasons.pass() => {
                    let (costs, contention) = (reasons.lack_capacity(), reasons.are_contention());
                    let reasons = reasons.into_vec();
                    let paused = self.attempts.pause_after(self.cancelled(&reasons), costs).await;
                    let reads_again = contention && self.after_contention == AfterContention::ReadAgain;
                    if paused.is_ok() && reads_again && self.outcome == AttemptOutcome::Known {
                        return Ok(WriteResult::Conflict(reasons));
                    }
                    paused
                }
                Err(Failure::Cancelled(reasons)) => return self.judge(request, reasons),
                Err(failure) => {
                    self.outcome = self.outcome.after(&failure);
                    self.attempts.pause(&self.tables(), failure).await
                }
            };
            paused.map_err(|stop| self.outcome.end(self.attempts, &self.tables(), None, stop))?;
            // After DynamoDB has forgotten the token, another attempt could apply a patch a second
            // time.
            let mut intents = self.operations.iter().filter_map(Operation::intent);
            if self.outcome.may_apply_twice(self.attempts) && intents.any(Intent::is_relative) {
                return Err(self.attempts.indeterminate(&self.tables(), None, None, None));
            }
        }
    }

    /// Decides whether DynamoDB applied an earlier attempt of a transaction whose last attempt was
    /// cancelled. If one of the written items contains the write id of the transaction, DynamoDB
    /// has applied the whole transaction. If the condition of one write can never be true again,
    /// DynamoDB can never apply the transaction.
    fn judge(
        &mut self,
        request: &Transact,
        reasons: ActionReasons,
    ) -> Result<WriteResult<(), Vec<ActionReason>>, Error> {
        let (key_schema, mut reasons) = (reasons.key_schema(), reasons.into_vec());
        if self.outcome == AttemptOutcome::Known {
            return match key_schema {
                Some(index) => {
                    let refusal = reasons.swap_remove(index).refusal;
                    Err(mismatch(request.table(index), &refusal.after(self.attempts.spent())))
                }
                // The commit may send several requests with the same write id, and DynamoDB may
                // have applied a delayed duplicate of an earlier request.
                None if !self.has_given_token() && self.shows_own_id(&reasons) => Ok(self.found_applied(&reasons)),
                // DynamoDB has applied a delayed duplicate of the request of an earlier run of the
                // closure, and the library no longer has the result of the earlier run.
                None if reasons.iter().any(|reason| shows_any(reason.item.as_ref(), self.runs)) => {
                    Err(self.attempts.indeterminate(&self.tables(), None, None, None))
                }
                None => Ok(WriteResult::Conflict(reasons)),
            };
        }
        let verdicts: Vec<_> = reasons.iter().enumerate().map(|(write, reason)| self.verdict(write, reason)).collect();
        let token_is_known = self.attempts.tokens_are_known();
        match verdicts.contains(&Verdict::Applied) {
            // If DynamoDB had applied an attempt of the call, DynamoDB would have recognised the
            // token and reported a success. The write id in the item therefore comes from an
            // earlier call with the same token.
            true if token_is_known && self.has_given_token() => Ok(WriteResult::Conflict(reasons)),
            true => Ok(self.found_applied(&reasons)),
            false if token_is_known && verdicts.contains(&Verdict::Conflict) => Ok(WriteResult::Conflict(reasons)),
            false => Err(self.attempts.indeterminate(&self.tables(), None, None, None)),
        }
    }

    /// Records the incarnations (random ids) of the created items. Each request of a commit contains
    /// new incarnations, so the created items have the incarnations of the request that DynamoDB
    /// has applied.
    fn found_applied(&mut self, reasons: &[ActionReason]) -> WriteResult<(), Vec<ActionReason>> {
        for (next, position) in self.assembly.next.iter_mut().zip(&self.assembly.positions) {
            let item = reasons[position.write].item.as_ref();
            let item = item.filter(|item| shows_any(Some(*item), &[self.stamps.id]));
            if let Some(ring) = item.and_then(ring_of) {
                *next = next.take().map(|next| next.in_life(ring.incarnation()));
            }
        }
        WriteResult::Applied(())
    }

    fn verdict(&self, write: usize, reason: &ActionReason) -> Verdict {
        if shows_any(reason.item.as_ref(), &[self.stamps.id]) {
            return Verdict::Applied;
        }
        let positions = self.operations.iter().zip(&self.assembly.positions);
        let of_write =
            || positions.clone().filter(|(_, position)| position.write == write).map(|(operation, _)| operation);
        let found = match (&reason.item, of_write().next()) {
            (Some(item), Some(operation)) => Some(revision_in(item, operation.item_ref.model.version)),
            // A lease row has no version and no write ids.
            (Some(_), None) | (None, _) => None,
        };
        let rests_on = of_write().find_map(Operation::rests_on);
        let is_refused = reason.class() == Some(CancellationClass::Conflict);
        // The condition of a write that requires no particular state of the item can become true
        // later, like the condition of a create.
        let expected = match rests_on.filter(|_| is_refused) {
            Some(state) => Expected::Unchanged(&state.revision),
            None => Expected::Absent,
        };
        verdict(expected, self.stamps.id, Doubt::UnderToken, found.as_ref())
    }

    /// Removes the first entry of a lease queue if the entry has expired and made the transaction
    /// fail. Returns `true` if an entry of a lease queue was removed.
    async fn evict_expired_heads(&mut self, reasons: &[ActionReason]) -> Result<bool, Error> {
        let mut is_evicted = false;
        for (operation, position) in self.operations.iter().zip(&self.assembly.positions) {
            let met = position.lease.and_then(|lease| reasons[lease].item.as_ref());
            if let (Some(intent), Some(met)) = (operation.intent(), met) {
                is_evicted |=
                    evict_expired_head(self.attempts, intent.target().policy, &operation.item_ref, met).await?;
            }
        }
        Ok(is_evicted)
    }

    /// Returns `true` if the caller has set the token, and may have used the token in an earlier
    /// call.
    fn has_given_token(&self) -> bool {
        self.stamps.id.repeats == Repeats::Ever
    }

    fn shows_own_id(&self, reasons: &[ActionReason]) -> bool {
        reasons.iter().any(|reason| shows_any(reason.item.as_ref(), &[self.stamps.id]))
    }

    fn tables(&self) -> Arc<str> {
        table_names(self.operations.iter().map(|operation| &operation.item_ref.table))
    }

    /// Adapts the operations to DynamoDB's refusal, so that the commit can send another request.
    /// Returns the error for the caller in three cases: no operation could be adapted, the caller
    /// has set a token, or the deadline leaves no time for another request.
    fn after_refusal(&mut self, reasons: &[ActionReason]) -> Result<(), Error> {
        // An earlier call may have committed the same transaction more than ten minutes ago.
        // DynamoDB forgets the token after ten minutes, but an item may still contain the write id.
        if self.has_given_token() && self.shows_own_id(reasons) {
            return Err(already_committed(self.attempts));
        }
        // If the caller has set a token, the commit must not send a request with different content.
        let may_pass = !self.has_given_token() && self.adapt(reasons)? == Adapted::Yes;
        if may_pass && self.attempts.may_go_on(Duration::ZERO) { Ok(()) } else { Err(self.cancelled(reasons)) }
    }

    fn adapt(&mut self, reasons: &[ActionReason]) -> Result<Adapted, Error> {
        let mut adapted = Adapted::No;
        for index in 0..self.operations.len() {
            if let Some((intent, reason)) = self.operations[index].intent().zip(self.by_lease(index, reasons)) {
                let (Target { model, policy, .. }, row) = (intent.target(), reason.item.as_ref());
                if policy.may_pass(model, row) {
                    self.operations[index].companion = CompanionWrite::RemoveExpired;
                    adapted = Adapted::Yes;
                }
            }
            let reason = &reasons[self.assembly.positions[index].write];
            let is_refused = reason.class() == Some(CancellationClass::Conflict);
            if is_refused && self.operations[index].adapt(reason.item.as_ref())? == Adapted::Yes {
                adapted = Adapted::Yes;
            }
        }
        Ok(adapted)
    }

    /// Returns DynamoDB's reason for the lease row of an operation, if the condition on the lease
    /// row was false. If the transaction contains a guard of the lease, `by_lease` returns the
    /// reason only for the operation of the guard.
    fn by_lease<'r>(&self, index: usize, reasons: &'r [ActionReason]) -> Option<&'r ActionReason> {
        let refused = self.assembly.positions[index];
        let reason = refused.refused_lease(reasons)?;
        let mut all = self.operations.iter().zip(&self.assembly.positions);
        let mut is_guarded =
            || all.any(|(other, position)| position.lease == refused.lease && other.guarded().is_some());
        (self.operations[index].guarded().is_some() || !is_guarded()).then_some(reason)
    }

    fn cancelled(&self, reasons: &[ActionReason]) -> Error {
        let by_lease = |index: usize| {
            let met = self.by_lease(index, reasons)?.item.as_ref();
            self.operations[index].lease_error(met, self.assembly.positions[index].judged_at, self.attempts.spent())
        };
        if let Some(refusal) = (0..self.operations.len()).find_map(by_lease) {
            return refusal;
        }
        let parts = self.operations.iter().zip(&self.assembly.positions);
        let parts = parts.map(|(operation, position)| (operation.item_ref.clone(), reason_at(*position, reasons)));
        Error::Cancelled(Cancelled::new(self.transaction, parts.collect(), self.attempts.spent()))
    }
}

/// Returns the reason that DynamoDB gave for an operation's item. If DynamoDB refused only the
/// operation's lease row, and the cause was not a false condition, `reason_at` returns the reason
/// for the lease row.
fn reason_at(position: WritePosition, reasons: &[ActionReason]) -> ActionReason {
    let own = &reasons[position.write];
    match position.lease.map(|lease| &reasons[lease]) {
        Some(row) if own.class().is_none() && row.class() != Some(CancellationClass::Conflict) => {
            ActionReason { refusal: row.refusal.clone(), item: None }
        }
        Some(_) | None => own.clone(),
    }
}

/// Finds the missing table with one read from each table, because DynamoDB's error does not name
/// the missing table.
pub(super) async fn which_is_missing(attempts: &mut Attempts, item_refs: &[&ItemRef], whole: Error) -> Error {
    let mut known: Vec<&Arc<str>> = Vec::new();
    for item_ref in item_refs {
        if !known.contains(&&item_ref.table) {
            known.push(&item_ref.table);
            let Ok(get) = item_ref.read() else { continue };
            if let Err(missing @ Error::TableNotFound { .. }) = attempts.read(&get).await {
                return missing;
            }
        }
    }
    whole
}

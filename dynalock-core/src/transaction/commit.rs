//! The commit of a transaction. The commit sends the request, and interprets DynamoDB's answer.

pub(super) use super::{
    resolve::resolve,
    token::{Token, refuse_committed},
};

use std::{sync::Arc, time::Duration};

use super::token::{TokenOrigin, already_committed, is_committed, shows_id};
use crate::{
    codec::Basis,
    error::{ActionReason, CancellationClass, Cancelled, Error, TransactionId},
    lease::policy::{CompanionWrite, evict_expired_head},
    model::ItemRef,
    operation::{ActionReasons, Failure, Transact, table_names},
    retry::{Attempts, mismatch},
    telemetry::{LostReply, lost_reply},
    version::{Doubt, Expected, Verdict, WriteId, revision_in, verdict},
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

/// The reaction to a refusal because of another running transaction, if no earlier attempt has an
/// unknown outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterContention {
    /// The call sends the same request again. The caller has computed the values of the request, so
    /// the library cannot compute the values from newer items.
    SendAgain,
    /// The call returns the refusal after a pause, so that the unit of work reads the items again.
    /// The other running transaction probably changes an item. After the change of an item,
    /// DynamoDB would refuse the same request again.
    ReadAgain,
}

/// The commit of a transaction. A request with other content has another ClientRequestToken. The
/// commit sends a request with other content only after DynamoDB has refused the previous request.
struct Commit<'a> {
    attempts: &'a mut Attempts,
    transaction: TransactionId,
    operations: &'a mut [Operation],
    positions: Vec<WritePosition>,
    token: &'a mut Token,
    id: WriteId,
    after_contention: AfterContention,
    /// The knowledge about the outcome of the attempts of the current request.
    outcome: AttemptOutcome,
}

/// Sends a transaction, and returns the state of each item after the transaction. If an expired
/// lease in a separate row makes a condition false, `send` assembles the transaction again with the
/// removal of the lease. If an expired item makes a condition false, `send` assembles the
/// transaction again with a write over the item.
pub(super) async fn send(
    attempts: &mut Attempts,
    transaction: TransactionId,
    operations: &mut [Operation],
    mut assembly: Assembly,
    token: &mut Token,
    mut stamps: WriteStamps,
    after_contention: AfterContention,
) -> Result<Vec<Option<Basis>>, Error> {
    let (id, positions, outcome) = (stamps.id, Vec::new(), AttemptOutcome::Known);
    let mut commit = Commit { attempts, transaction, operations, positions, token, id, after_contention, outcome };
    loop {
        let Assembly { writes, positions, next, .. } = assembly;
        commit.positions = positions;
        let request = Transact::new(writes, Some(commit.token.text.clone()))
            .map_err(|why| Error::Rejected(why.after(commit.attempts.spent())))?;
        match commit.send(&request).await? {
            WriteResult::Applied(()) => return Ok(next),
            WriteResult::Conflict(reasons) => commit.after_refusal(&reasons)?,
        }
        // The next request has other content, so it needs another token: DynamoDB refuses a token
        // that comes with other content.
        *commit.token = Token::drawn(commit.attempts.rng());
        assembly = assemble(commit.operations, &mut stamps)?;
    }
}

impl Commit<'_> {
    /// Sends the request until its outcome is known. If an expired first entry of a lock queue made
    /// the request fail, `send` removes the entry and sends the request again.
    async fn send(&mut self, request: &Transact) -> Result<WriteResult<(), Vec<ActionReason>>, Error> {
        loop {
            let result = self.send_until_known(request).await;
            if self.outcome == AttemptOutcome::Unknown {
                lost_reply(found_out(&result));
            }
            match result {
                // DynamoDB remembers only the tokens of committed transactions, so the commit can
                // use the token of a refused transaction again.
                Ok(WriteResult::Conflict(reasons)) if self.evict_expired_heads(&reasons).await? => {}
                Err(missing @ Error::TableNotFound { .. }) => {
                    let item_refs: Vec<_> = self.operations.iter().map(|operation| &operation.item_ref).collect();
                    return Err(which_is_missing(self.attempts, &item_refs, missing).await);
                }
                // DynamoDB refuses the token if the same values serialize to other bytes, for
                // example from a `HashMap`. If an item contains the write id, the earlier commit
                // with this token was this transaction.
                Err(Error::TokenReused { .. })
                    if self.token.origin == TokenOrigin::Given
                        && is_committed(self.attempts, self.operations, self.id).await =>
                {
                    return Err(already_committed(self.attempts));
                }
                // Only an earlier run of this unit of work can have sent a token that the library
                // has generated. The network has delivered a copy of the request of the earlier run
                // after its refusal. The unit of work no longer has the result of the earlier run.
                Err(reused @ Error::TokenReused { .. }) if self.token.origin == TokenOrigin::Drawn => {
                    return Err(self.attempts.indeterminate(&self.tables(), None, None, Some(reused)));
                }
                result => return result,
            }
        }
    }

    /// Sends the request until its outcome is known. Each attempt has the same token, so DynamoDB
    /// applies the request at most once in ten minutes.
    async fn send_until_known(&mut self, request: &Transact) -> Result<WriteResult<(), Vec<ActionReason>>, Error> {
        let client = self.attempts.connection().client.clone();
        self.outcome = AttemptOutcome::Known;
        // If the deadline leaves no time for a request, the call must end before it sends anything.
        // The error of the call proves that the call has written nothing.
        self.attempts.check_time()?;
        loop {
            let paused = match self.attempts.attempt_of(request.len(), Box::pin(request.send(&client))).await {
                Ok(()) => return Ok(WriteResult::Applied(())),
                // A cancellation without a false condition does not show whether DynamoDB applied
                // an earlier attempt, so the call sends the same request again.
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
            // After DynamoDB has forgotten the token, another attempt could apply a patch twice.
            let mut intents = self.operations.iter().filter_map(Operation::intent);
            if self.outcome.may_apply_twice(self.attempts) && intents.any(Intent::is_relative) {
                return Err(self.attempts.indeterminate(&self.tables(), None, None, None));
            }
        }
    }

    /// Decides whether an earlier attempt of a cancelled transaction was applied. After a lost
    /// reply, `judge` interprets the reason of each write like the refusal of a single write with a
    /// token. One write can decide about the whole transaction. Either the item of the write
    /// contains the write id of the transaction, or the condition of the write can never be true
    /// again.
    fn judge(&self, request: &Transact, reasons: ActionReasons) -> Result<WriteResult<(), Vec<ActionReason>>, Error> {
        let (key_schema, mut reasons) = (reasons.key_schema(), reasons.into_vec());
        if self.outcome == AttemptOutcome::Known {
            return match key_schema {
                Some(index) => {
                    let refusal = reasons.swap_remove(index).refusal;
                    Err(mismatch(request.table(index), &refusal.after(self.attempts.spent())))
                }
                None => Ok(WriteResult::Conflict(reasons)),
            };
        }
        let verdicts: Vec<_> = reasons.iter().enumerate().map(|(write, reason)| self.verdict(write, reason)).collect();
        let token_is_known = self.attempts.tokens_are_known();
        match verdicts.contains(&Verdict::Applied) {
            // DynamoDB still remembers the tokens of this call, so it would have recognised the
            // token of an applied attempt. An earlier call therefore wrote the write id that the
            // item contains.
            true if token_is_known && self.token.origin == TokenOrigin::Given => Ok(WriteResult::Conflict(reasons)),
            true => Ok(WriteResult::Applied(())),
            false if token_is_known && verdicts.contains(&Verdict::Conflict) => Ok(WriteResult::Conflict(reasons)),
            false => Err(self.attempts.indeterminate(&self.tables(), None, None, None)),
        }
    }

    /// Decides from the reason of one write whether the transaction was applied.
    fn verdict(&self, write: usize, reason: &ActionReason) -> Verdict {
        if shows_id(reason.item.as_ref(), Some(self.id)) {
            return Verdict::Applied;
        }
        let positions = self.operations.iter().zip(&self.positions);
        let of_write =
            || positions.clone().filter(|(_, position)| position.write == write).map(|(operation, _)| operation);
        let found = match (&reason.item, of_write().next()) {
            (Some(item), Some(operation)) => Some(revision_in(item, operation.item_ref.model.version)),
            // A lease row has no version and no write ids, so the row does not show whether the
            // transaction was applied.
            (Some(_), None) | (None, _) => None,
        };
        let rests_on = of_write().find_map(Operation::rests_on);
        let is_refused = reason.class() == Some(CancellationClass::Conflict);
        // `verdict` treats a write that requires no known state like a create, because the
        // condition of a create can always become true again.
        let expected = match rests_on.filter(|_| is_refused) {
            Some(state) => Expected::Unchanged(&state.revision),
            None => Expected::Absent,
        };
        verdict(expected, self.id, Doubt::UnderToken, found.as_ref())
    }

    /// Removes the expired first entries of the lock queues that made the transaction fail. Returns
    /// `true` if the call can send the same request again.
    async fn evict_expired_heads(&mut self, reasons: &[ActionReason]) -> Result<bool, Error> {
        let mut is_evicted = false;
        for (operation, position) in self.operations.iter().zip(&self.positions) {
            let met = position.lease.and_then(|lease| reasons[lease].item.as_ref());
            if let (Some(intent), Some(met)) = (operation.intent(), met) {
                is_evicted |=
                    evict_expired_head(self.attempts, intent.target().policy, &operation.item_ref, met).await?;
            }
        }
        Ok(is_evicted)
    }

    fn tables(&self) -> Arc<str> {
        table_names(self.operations.iter().map(|operation| &operation.item_ref.table))
    }

    /// Adapts the operations to a refusal, so that the commit can send a request with other
    /// content. Returns the error of the transaction if DynamoDB would also refuse a request with
    /// other content.
    fn after_refusal(&mut self, reasons: &[ActionReason]) -> Result<(), Error> {
        // If an earlier call committed the same transaction more than ten minutes ago, DynamoDB has
        // forgotten the token. The items of the transaction may still show the write id.
        let is_given = self.token.origin == TokenOrigin::Given;
        if is_given && reasons.iter().any(|reason| shows_id(reason.item.as_ref(), Some(self.id))) {
            return Err(already_committed(self.attempts));
        }
        // With a token of the caller, the commit must not send a request with other content.
        let may_pass = !is_given && self.adapt(reasons)? == Adapted::Yes;
        if may_pass && self.attempts.may_go_on(Duration::ZERO) { Ok(()) } else { Err(self.cancelled(reasons)) }
    }

    /// Adapts the operations to the items and lease rows that the refusal returned. The operations
    /// change if a lease has expired, if an item has expired, or if a patch needs another
    /// expression for the item.
    fn adapt(&mut self, reasons: &[ActionReason]) -> Result<Adapted, Error> {
        let mut adapted = Adapted::No;
        for index in 0..self.operations.len() {
            if self.is_by_expired_lease(index, reasons) {
                self.operations[index].companion = CompanionWrite::RemoveExpired;
                adapted = Adapted::Yes;
            }
            let reason = &reasons[self.positions[index].write];
            let is_refused = reason.class() == Some(CancellationClass::Conflict);
            if is_refused && self.operations[index].adapt(reason.item.as_ref())? == Adapted::Yes {
                adapted = Adapted::Yes;
            }
        }
        Ok(adapted)
    }

    /// Returns the reason of an operation, if the lease condition of the operation was the cause of
    /// the refusal. If the transaction has a guard for the lease of a write, the guard counts as
    /// the refused operation, and the write does not.
    fn by_lease<'r>(&self, index: usize, reasons: &'r [ActionReason]) -> Option<&'r ActionReason> {
        let refused = self.positions[index];
        let reason = refused.refused_lease(reasons)?;
        let mut all = self.operations.iter().zip(&self.positions);
        let mut is_guarded =
            || all.any(|(other, position)| position.lease == refused.lease && other.guarded().is_some());
        (self.operations[index].guarded().is_some() || !is_guarded()).then_some(reason)
    }

    /// Returns `true` if an expired lease in a separate row was the cause of the refusal of an
    /// operation.
    fn is_by_expired_lease(&self, index: usize, reasons: &[ActionReason]) -> bool {
        let refused = self.operations[index].intent().zip(self.by_lease(index, reasons));
        refused.is_some_and(|(intent, reason)| {
            let Target { model, policy, .. } = intent.target();
            policy.may_pass(model, reason.item.as_ref())
        })
    }

    /// Returns the error of the lease that made the transaction fail. If no lease made the
    /// transaction fail, returns [`Error::Cancelled`] with a reason for each operation.
    fn cancelled(&self, reasons: &[ActionReason]) -> Error {
        let by_lease = |index: usize| {
            let met = self.by_lease(index, reasons)?.item.as_ref();
            self.operations[index].refusal(met, self.positions[index].judged_at, self.attempts.spent())
        };
        if let Some(refusal) = (0..self.operations.len()).find_map(by_lease) {
            return refusal;
        }
        let parts = self.operations.iter().zip(&self.positions);
        let parts = parts.map(|(operation, position)| (operation.item_ref.clone(), reason_at(*position, reasons)));
        Error::Cancelled(Cancelled::new(self.transaction, parts.collect(), self.attempts.spent()))
    }
}

/// Returns the outcome of the attempts whose replies were lost, as far as the result of the call
/// shows the outcome. All attempts have the same token, so DynamoDB applied at most one of the
/// attempts.
fn found_out<C>(result: &Result<WriteResult<(), C>, Error>) -> LostReply {
    match result {
        Ok(WriteResult::Applied(())) => LostReply::Applied,
        Ok(WriteResult::Conflict(_)) => LostReply::NotApplied,
        Err(_) => LostReply::Unknown,
    }
}

/// Returns the reason of an operation: the reason of its write. If the write did not cause the
/// cancellation, `reason_at` returns the refusal of the write of the separate lease row, unless the
/// condition on this row was false.
fn reason_at(position: WritePosition, reasons: &[ActionReason]) -> ActionReason {
    let own = &reasons[position.write];
    match position.lease.map(|lease| &reasons[lease]) {
        Some(row) if own.class().is_none() && row.class() != Some(CancellationClass::Conflict) => {
            ActionReason { refusal: row.refusal.clone(), item: None }
        }
        Some(_) | None => own.clone(),
    }
}

/// Finds the missing table with one read of each table, because DynamoDB's error does not name the
/// missing table.
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

//! Commits operations: sends the request, and interprets the answer.

pub(super) use super::{
    resolve::resolve,
    token::{known_id, refuse_committed, token_and_stamps},
};

use std::{mem, sync::Arc, time::Duration};

use super::token::{already_committed, is_committed, shows_id};
use crate::{
    codec::Basis,
    error::{ActionReason, CancellationClass, Cancelled, Error, TransactionId},
    lease::policy::{CompanionWrite, evict_expired_head},
    model::ItemRef,
    operation::{ActionReasons, Failure, Transact, table_names},
    random,
    retry::{Attempts, mismatch},
    telemetry::{LostReply, lost_reply},
    version::{Doubt, Expected, Repeats, Verdict, revision_in, verdict},
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

/// The reaction to a refusal because of another running transaction, if no attempt is in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterContention {
    /// The same request is sent again. The caller computed its values, so the library cannot
    /// compute them from newer items.
    SendAgain,
    /// The refusal is returned after a pause, so that the items are read again. The other
    /// transaction probably changes an item, and DynamoDB would then refuse the same request again.
    ReadAgain,
}

/// The commit of a transaction. A request with other content has another token. Such a request is
/// sent only after DynamoDB has refused the request before it.
pub(super) struct Commit<'a> {
    pub(super) attempts: &'a mut Attempts,
    pub(super) transaction: TransactionId,
    pub(super) operations: &'a mut [Operation],
    /// The current request of the operations.
    pub(super) assembly: Assembly,
    pub(super) stamps: WriteStamps,
    pub(super) token: &'a mut String,
    pub(super) after_contention: AfterContention,
    /// Whether the outcome of the attempts of the current request is known.
    pub(super) outcome: AttemptOutcome,
}

impl Commit<'_> {
    /// Sends a transaction, and returns the new revisions of its items. If an expired lease in a
    /// separate row refuses the transaction, this method assembles the transaction again with the
    /// removal of the lease. If an expired item refuses the transaction, this method assembles the
    /// transaction again with a write over the item.
    pub(super) async fn run(mut self) -> Result<Vec<Option<Basis>>, Error> {
        loop {
            let writes = mem::take(&mut self.assembly.writes);
            let request = Transact::new(writes, Some(self.token.clone()))
                .map_err(|why| Error::Rejected(why.after(self.attempts.spent())))?;
            match self.send(&request).await? {
                WriteResult::Applied(()) => return Ok(self.assembly.next),
                WriteResult::Conflict(reasons) => self.after_refusal(&reasons)?,
            }
            // The removal of a lease row is other content, so the request needs another token.
            *self.token = random::token(self.attempts.rng());
            self.assembly = assemble(self.operations, &mut self.stamps)?;
        }
    }

    /// Sends the request until its outcome is known. If an expired head of a queue made the request
    /// fail, the head is removed and the request is sent again.
    async fn send(&mut self, request: &Transact) -> Result<WriteResult<(), Vec<ActionReason>>, Error> {
        loop {
            let result = self.send_until_known(request).await;
            if self.outcome == AttemptOutcome::Unknown {
                lost_reply(found_out(&result));
            }
            match result {
                // DynamoDB remembers only tokens of committed transactions, so the same token can
                // be used again.
                Ok(WriteResult::Conflict(reasons)) if self.evict_expired_heads(&reasons).await? => {}
                Err(missing @ Error::TableNotFound { .. }) => {
                    let item_refs: Vec<_> = self.operations.iter().map(|operation| &operation.item_ref).collect();
                    return Err(which_is_missing(self.attempts, &item_refs, missing).await);
                }
                // The same values may serialize to other bytes, for example from a `HashMap`. The
                // items show whether the earlier commit was this transaction.
                Err(Error::TokenReused { .. })
                    if self.has_given_token() && is_committed(self.attempts, self.operations, self.stamps.id).await =>
                {
                    return Err(already_committed(self.attempts));
                }
                // Only an earlier run of this unit of work has sent a drawn token. The network
                // delivered a copy of its request after the refusal, and the result of that run is
                // gone.
                Err(reused @ Error::TokenReused { .. }) if !self.has_given_token() => {
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
        // Without time for a request, the call must end before anything is sent: its error then
        // proves that nothing was written.
        self.attempts.check_time()?;
        loop {
            let paused = match self.attempts.attempt_of(request.len(), Box::pin(request.send(&client))).await {
                Ok(()) => return Ok(WriteResult::Applied(())),
                // A cancellation without a false condition does not show whether an earlier attempt
                // was applied. The same request is sent again.
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
            // Without the token, another attempt could apply a patch twice.
            let mut intents = self.operations.iter().filter_map(Operation::intent);
            if self.outcome.may_apply_twice(self.attempts) && intents.any(Intent::is_relative) {
                return Err(self.attempts.indeterminate(&self.tables(), None, None, None));
            }
        }
    }

    /// Decides whether a cancelled transaction was applied by an earlier attempt. After a lost
    /// reply, the reason of each write is interpreted like the refusal of a single write with a
    /// token. One write is enough for a decision about the whole transaction: either its item
    /// contains the id of this transaction, or its condition can never be true again.
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
            // If an attempt of this call had been applied, DynamoDB would have recognised its
            // token. An earlier call therefore wrote the id.
            true if token_is_known && self.has_given_token() => Ok(WriteResult::Conflict(reasons)),
            true => Ok(WriteResult::Applied(())),
            false if token_is_known && verdicts.contains(&Verdict::Conflict) => Ok(WriteResult::Conflict(reasons)),
            false => Err(self.attempts.indeterminate(&self.tables(), None, None, None)),
        }
    }

    /// Decides from the reason of one write whether the transaction was applied.
    fn verdict(&self, write: usize, reason: &ActionReason) -> Verdict {
        if shows_id(reason.item.as_ref(), Some(self.stamps.id)) {
            return Verdict::Applied;
        }
        let positions = self.operations.iter().zip(&self.assembly.positions);
        let of_write =
            || positions.clone().filter(|(_, position)| position.write == write).map(|(operation, _)| operation);
        let found = match (&reason.item, of_write().next()) {
            (Some(item), Some(operation)) => Some(revision_in(item, operation.item_ref.model.version)),
            // A lease row has no revision, so it does not decide.
            (Some(_), None) | (None, _) => None,
        };
        let rests_on = of_write().find_map(Operation::rests_on);
        let is_refused = reason.class() == Some(CancellationClass::Conflict);
        // A write without a revision is treated like a create: its condition can always become true
        // again.
        let expected = match rests_on.filter(|_| is_refused) {
            Some(state) => Expected::Unchanged(&state.revision),
            None => Expected::Absent,
        };
        verdict(expected, self.stamps.id, Doubt::UnderToken, found.as_ref())
    }

    /// Removes expired heads from the queues that made the transaction fail. Returns `true` if the
    /// same request can be sent again.
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

    /// Returns whether the caller set the token, and may have used it before.
    fn has_given_token(&self) -> bool {
        self.stamps.id.repeats == Repeats::Ever
    }

    fn tables(&self) -> Arc<str> {
        table_names(self.operations.iter().map(|operation| &operation.item_ref.table))
    }

    /// Adapts the operations to a refusal, so that another content can be sent. If no other content
    /// may be accepted, returns the error of the transaction.
    fn after_refusal(&mut self, reasons: &[ActionReason]) -> Result<(), Error> {
        // If an earlier call committed the same transaction more than ten minutes ago, DynamoDB has
        // forgotten the token. The items may still show the write id.
        if self.has_given_token() && reasons.iter().any(|reason| shows_id(reason.item.as_ref(), Some(self.stamps.id))) {
            return Err(already_committed(self.attempts));
        }
        // Under the caller's token, no request with other content may be sent.
        let may_pass = !self.has_given_token() && self.adapt(reasons)? == Adapted::Yes;
        if may_pass && self.attempts.may_go_on(Duration::ZERO) { Ok(()) } else { Err(self.cancelled(reasons)) }
    }

    /// Adapts the operations to the items and lease rows that refused them: to an expired lease, to
    /// an expired item, and to an item that needs another expression of a patch.
    fn adapt(&mut self, reasons: &[ActionReason]) -> Result<Adapted, Error> {
        let mut adapted = Adapted::No;
        for index in 0..self.operations.len() {
            if let Some((intent, reason)) = self.operations[index].intent().zip(self.by_lease(index, reasons)) {
                let (Target { model, policy, .. }, row) = (intent.target(), reason.item.as_ref());
                if policy.may_pass(model, row) {
                    policy.pass_beat(row);
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

    /// Returns the reason of an operation, if its lease condition was the cause of the refusal. If
    /// a write has a guard, the guard counts as the refused operation, and not the write.
    fn by_lease<'r>(&self, index: usize, reasons: &'r [ActionReason]) -> Option<&'r ActionReason> {
        let refused = self.assembly.positions[index];
        let reason = refused.refused_lease(reasons)?;
        let mut all = self.operations.iter().zip(&self.assembly.positions);
        let mut is_guarded =
            || all.any(|(other, position)| position.lease == refused.lease && other.guarded().is_some());
        (self.operations[index].guarded().is_some() || !is_guarded()).then_some(reason)
    }

    /// If a lease made the transaction fail, returns the error of this lease. If no lease made the
    /// transaction fail, returns a cancellation with a reason for each operation.
    fn cancelled(&self, reasons: &[ActionReason]) -> Error {
        let by_lease = |index: usize| {
            let met = self.by_lease(index, reasons)?.item.as_ref();
            self.operations[index].refusal(met, self.assembly.positions[index].judged_at, self.attempts.spent())
        };
        if let Some(refusal) = (0..self.operations.len()).find_map(by_lease) {
            return refusal;
        }
        let parts = self.operations.iter().zip(&self.assembly.positions);
        let parts = parts.map(|(operation, position)| (operation.item_ref.clone(), reason_at(*position, reasons)));
        Error::Cancelled(Cancelled::new(self.transaction, parts.collect(), self.attempts.spent()))
    }
}

/// Returns what the result shows about the attempts whose replies were lost. All attempts have the
/// same token, so a success is the success of one of them.
fn found_out<C>(result: &Result<WriteResult<(), C>, Error>) -> LostReply {
    match result {
        Ok(WriteResult::Applied(())) => LostReply::Applied,
        Ok(WriteResult::Conflict(_)) => LostReply::NotApplied,
        Err(_) => LostReply::Unknown,
    }
}

/// Returns the reason of an operation, which is the reason of its write. If the write did not cause
/// the cancellation, the reason of the companion write is used instead. A false condition of the
/// companion write is not reported in this way.
fn reason_at(position: WritePosition, reasons: &[ActionReason]) -> ActionReason {
    let own = &reasons[position.write];
    match position.lease.map(|lease| &reasons[lease]) {
        Some(row) if own.class().is_none() && row.class() != Some(CancellationClass::Conflict) => {
            ActionReason { refusal: row.refusal.clone(), item: None }
        }
        Some(_) | None => own.clone(),
    }
}

/// Finds the missing table by one read of each table, because DynamoDB's error does not name the
/// table.
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

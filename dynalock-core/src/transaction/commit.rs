//! Commits operations: resolves them, sends the request, and interprets the answer.

use std::{sync::Arc, time::Duration};

use super::pending::{PendingOperation, PendingState};
use crate::{
    codec::{Basis, Item},
    error::{ActionReason, CancellationClass, Cancelled, Error, Spent, TransactionId},
    lease::policy::{CompanionWrite, evict_expired_head},
    model::ItemRef,
    operation::{ActionReasons, Failure, Transact, TransactGet},
    random,
    retry::{Attempts, mismatch, tables},
    version::{Doubt, Expected, Verdict, WriteId, revision_in, shows, verdict},
    write::{
        assembly::{Assembly, WritePosition, assemble},
        intent::{Adapted, Intent, Target},
        operation::Operation,
        send::WriteResult,
        stamp::WriteStamps,
    },
};

/// The ClientRequestToken of one commit, and its origin.
pub(super) struct Token {
    text: String,
    origin: TokenOrigin,
}

/// The origin of a ClientRequestToken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenOrigin {
    /// The library generated the token for this commit.
    Drawn,
    /// The caller set the token, and may have used it before.
    Given,
}

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

/// The content of a transaction and its token. A transaction with other content needs another
/// token, unless DynamoDB has refused the transaction.
struct TransactionSender<'a> {
    attempts: &'a mut Attempts,
    transaction: TransactionId,
    operations: &'a [Operation],
    positions: &'a [WritePosition],
    id: WriteId,
    origin: TokenOrigin,
    after_contention: AfterContention,
}

/// A cancelled request, with a reason for each of its writes.
#[derive(Clone, Copy)]
struct Refused<'a> {
    operations: &'a [Operation],
    positions: &'a [WritePosition],
    reasons: &'a [ActionReason],
}

impl Token {
    /// Returns the caller's token or a generated token, and the generator of the write ids and
    /// incarnations. With a token of the caller, the ids are derived from the token, so that the
    /// same transaction in another call is the same request.
    pub(super) fn or_drawn(given: Option<String>, attempts: &mut Attempts) -> (WriteStamps, Self) {
        let (mut rng, origin) = match &given {
            Some(token) => (random::derived(token), TokenOrigin::Given),
            None => (attempts.rng().fork(), TokenOrigin::Drawn),
        };
        let text = given.unwrap_or_else(|| Self::drawn(&mut rng).text);
        let id = match origin {
            TokenOrigin::Given => WriteId::of_token(&mut rng),
            TokenOrigin::Drawn => WriteId::draw(&mut rng),
        };
        (WriteStamps { id, rng }, Self { text, origin })
    }

    /// Generates a token for a request with new content.
    fn drawn(rng: &mut fastrand::Rng) -> Self {
        Self { text: format!("{:032x}", rng.u128(..)), origin: TokenOrigin::Drawn }
    }

    /// Returns the write id that an earlier commit with the caller's token has left in its items.
    /// Returns `None` if the caller did not set the token.
    pub(super) fn known(&self, stamps: &WriteStamps) -> Option<WriteId> {
        (self.origin == TokenOrigin::Given).then_some(stamps.id)
    }
}

/// Makes the operations from the pending operations. For each value with an etag, this function
/// reads the item.
pub(super) async fn resolve(
    attempts: &mut Attempts,
    transaction: TransactionId,
    pending: Vec<PendingOperation>,
    known: Option<WriteId>,
) -> Result<Vec<Operation>, Error> {
    let mut operations: Vec<Operation> = Vec::with_capacity(pending.len());
    let mut pending = pending.into_iter();
    while let Some(PendingOperation { item_ref, state, .. }) = pending.next() {
        let kind = match state {
            PendingState::Ready(kind) => kind,
            PendingState::Invalid(error) => return Err(error),
            PendingState::Assumed(etag, resolve) => {
                if !etag.is_of(&item_ref.key) {
                    return Err(Error::KeyChanged { table: item_ref.table });
                }
                // The item is compared with the etag when it has been read. The condition of the
                // write then requires the state that was read.
                let item = attempts.read(&item_ref.read()?).await?;
                match item.clone().map(|item| resolve(item, &etag)).transpose()?.flatten() {
                    Some(kind) => kind,
                    None if shows_id(item.as_ref(), known) => return Err(already_committed(attempts)),
                    None => {
                        let before: Vec<_> = operations.into_iter().map(|operation| operation.item_ref).collect();
                        let after: Vec<_> = pending.map(|operation| operation.item_ref).collect();
                        // The item may be missing because an earlier commit of this transaction
                        // deleted it. Another item may then show the write id.
                        if let Some(id) = known
                            && is_shown(attempts, before.iter().chain(&after), id).await
                        {
                            return Err(already_committed(attempts));
                        }
                        let (before, after) = (before.into_iter(), after.into_iter());
                        return Err(refuse(transaction, before, item_ref, item, after, attempts.spent()));
                    }
                }
            }
        };
        operations.push(Operation::new(item_ref, kind));
    }
    Ok(operations)
}

/// Returns whether an item contains this id, so that the write with this id was applied.
fn shows_id(item: Option<&Item>, id: Option<WriteId>) -> bool {
    item.zip(id).is_some_and(|(item, id)| shows(item, id))
}

/// Returns an error if an item, as it was read, contains the write id of the caller's token. An
/// earlier call then committed the transaction.
pub(super) fn refuse_committed(
    attempts: &Attempts,
    operations: &[Operation],
    known: Option<WriteId>,
) -> Result<(), Error> {
    let mut rings = operations.iter().filter_map(|operation| operation.rests_on()?.revision.ring.as_ref());
    match known.is_some_and(|id| rings.any(|ring| ring.contains(id))) {
        true => Err(already_committed(attempts)),
        false => Ok(()),
    }
}

/// Reads the items of the transaction, and returns whether one of them contains the write id of the
/// transaction.
async fn is_committed(attempts: &mut Attempts, operations: &[Operation], id: WriteId) -> bool {
    let written = operations.iter().filter(|operation| operation.intent().is_some());
    is_shown(attempts, written.map(|operation| &operation.item_ref), id).await
}

/// Reads these items, and returns whether one of them contains this write id. Returns `false` if
/// the items cannot be read.
async fn is_shown(attempts: &mut Attempts, items: impl Iterator<Item = &ItemRef>, id: WriteId) -> bool {
    let mut item_refs: Vec<(Arc<str>, Item)> = Vec::new();
    for item_ref in items {
        let Ok(key) = item_ref.key_item() else { continue };
        // DynamoDB refuses a TransactGetItems that names an item twice.
        if !item_refs.iter().any(|(table, known)| *table == item_ref.table && *known == key) {
            item_refs.push((Arc::clone(&item_ref.table), key));
        }
    }
    if item_refs.is_empty() {
        return false;
    }
    let items = attempts.snapshot(&TransactGet { item_refs }).await.unwrap_or_default();
    items.iter().any(|item| shows_id(item.as_ref(), Some(id)))
}

fn already_committed(attempts: &Attempts) -> Error {
    Error::AlreadyCommitted { spent: attempts.spent() }
}

/// Returns a cancellation with a false condition for one operation.
fn refuse(
    transaction: TransactionId,
    before: impl Iterator<Item = ItemRef>,
    guilty: ItemRef,
    met: Option<Item>,
    after: impl Iterator<Item = ItemRef>,
    spent: Spent,
) -> Error {
    let innocent = |item_ref| (item_ref, ActionReason::innocent());
    let guilty = (guilty, ActionReason::conflict(met));
    let reasons = before.map(innocent).chain([guilty]).chain(after.map(innocent)).collect();
    Error::Cancelled(Cancelled::new(transaction, reasons, spent))
}

/// Sends a transaction, and returns the new revisions of its items. If an expired lease in a
/// separate row refuses the transaction, this function assembles the transaction again with the
/// removal of the lease. If an expired item refuses the transaction, this function assembles the
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
    let id = stamps.id;
    loop {
        let Assembly { writes, positions, next, .. } = assembly;
        let request = Transact::new(writes, Some(token.text.clone()))
            .map_err(|why| Error::Rejected(why.after(attempts.spent())))?;
        let mut content = TransactionSender {
            attempts,
            transaction,
            operations,
            positions: &positions,
            id,
            origin: token.origin,
            after_contention,
        };
        let reasons = match content.send(&request).await? {
            WriteResult::Applied(()) => return Ok(next),
            WriteResult::Conflict(reasons) => reasons,
        };
        // If an earlier call committed the same transaction more than ten minutes ago, DynamoDB has
        // forgotten the token. The items may still show the write id.
        let is_given = token.origin == TokenOrigin::Given;
        if is_given && reasons.iter().any(|reason| shows_id(reason.item.as_ref(), Some(id))) {
            return Err(already_committed(attempts));
        }
        // Under the caller's token, no request with other content may be sent.
        let may_pass = !is_given && adapt(operations, &positions, &reasons)? == Adapted::Yes;
        if !may_pass || !attempts.may_go_on(Duration::ZERO) {
            let refused = Refused { operations: &*operations, positions: &positions, reasons: &reasons };
            return Err(refused.into_error(transaction, attempts.spent()));
        }
        // The removal of a lease row is other content, so the request needs another token.
        *token = Token::drawn(attempts.rng());
        assembly = assemble(operations, &mut stamps)?;
    }
}

/// Adapts the operations to the items and lease rows that refused them: to an expired lease, to an
/// expired item, and to an item that needs another expression of a patch.
fn adapt(
    operations: &mut [Operation],
    positions: &[WritePosition],
    reasons: &[ActionReason],
) -> Result<Adapted, Error> {
    let leases = Refused { operations: &*operations, positions, reasons }.by_expired_lease();
    let mut adapted = Adapted::if_changed(!leases.is_empty());
    for index in leases {
        operations[index].companion = CompanionWrite::RemoveExpired;
    }
    for (operation, position) in operations.iter_mut().zip(positions) {
        let reason = &reasons[position.write];
        if reason.class() == Some(CancellationClass::Conflict) && operation.adapt(reason.item.as_ref())? == Adapted::Yes
        {
            adapted = Adapted::Yes;
        }
    }
    Ok(adapted)
}

impl TransactionSender<'_> {
    /// Sends the request until its outcome is known. If an expired head of a queue made the request
    /// fail, the head is removed and the request is sent again.
    async fn send(&mut self, request: &Transact) -> Result<WriteResult<(), Vec<ActionReason>>, Error> {
        loop {
            match self.send_until_known(request).await {
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
                    if self.origin == TokenOrigin::Given
                        && is_committed(self.attempts, self.operations, self.id).await =>
                {
                    return Err(already_committed(self.attempts));
                }
                // Only an earlier run of this unit of work has sent a drawn token. The network
                // delivered a copy of its request after the refusal, and the result of that run is
                // gone.
                Err(reused @ Error::TokenReused { .. }) if self.origin == TokenOrigin::Drawn => {
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
        let mut in_doubt = false;
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
                    let last = self.refused(&reasons).into_error(self.transaction, self.attempts.spent());
                    let paused = self.attempts.pause_after(last, costs).await;
                    if paused.is_ok() && contention && !in_doubt && self.after_contention == AfterContention::ReadAgain
                    {
                        return Ok(WriteResult::Conflict(reasons));
                    }
                    paused
                }
                Err(Failure::Cancelled(reasons)) => return self.judge(request, reasons, in_doubt),
                Err(failure) => {
                    in_doubt |= failure.leaves_doubt();
                    self.attempts.pause(&self.tables(), failure).await
                }
            };
            match paused {
                // Without the token, another attempt could apply a patch twice.
                Ok(()) if in_doubt && self.has_patch() && !self.attempts.tokens_are_known() => {
                    return Err(self.attempts.indeterminate(&self.tables(), None, None, None));
                }
                Ok(()) => {}
                Err(stop) if in_doubt => {
                    return Err(self.attempts.indeterminate(&self.tables(), None, None, Some(stop)));
                }
                Err(stop) => return Err(stop),
            }
        }
    }

    /// Decides whether a cancelled transaction was applied by an earlier attempt. After a lost
    /// reply, the reason of each write is interpreted like the refusal of a single write with a
    /// token. One write is enough for a decision about the whole transaction: either its item
    /// contains the id of this transaction, or its condition can never be true again.
    fn judge(
        &self,
        request: &Transact,
        reasons: ActionReasons,
        in_doubt: bool,
    ) -> Result<WriteResult<(), Vec<ActionReason>>, Error> {
        let (key_schema, mut reasons) = (reasons.key_schema(), reasons.into_vec());
        if !in_doubt {
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
            true if token_is_known && self.origin == TokenOrigin::Given => Ok(WriteResult::Conflict(reasons)),
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
        let positions = self.operations.iter().zip(self.positions);
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
        verdict(expected, self.id, Doubt::UnderToken, found.as_ref())
    }

    /// Removes expired heads from the queues that made the transaction fail. Returns `true` if the
    /// same request can be sent again.
    async fn evict_expired_heads(&mut self, reasons: &[ActionReason]) -> Result<bool, Error> {
        let mut is_evicted = false;
        for (operation, position) in self.operations.iter().zip(self.positions) {
            let met = position.lease.and_then(|lease| reasons[lease].item.as_ref());
            if let (Some(intent), Some(met)) = (operation.intent(), met) {
                is_evicted |=
                    evict_expired_head(self.attempts, intent.target().policy, &operation.item_ref, met).await?;
            }
        }
        Ok(is_evicted)
    }

    fn has_patch(&self) -> bool {
        self.operations.iter().filter_map(Operation::intent).any(Intent::is_relative)
    }

    fn refused<'r>(&'r self, reasons: &'r [ActionReason]) -> Refused<'r> {
        Refused { operations: self.operations, positions: self.positions, reasons }
    }

    fn tables(&self) -> Arc<str> {
        tables(self.operations.iter().map(|operation| &operation.item_ref.table))
    }
}

impl Refused<'_> {
    /// Returns the reason of an operation, if its lease condition was the cause of the refusal. If
    /// a write has a guard, the guard counts as the refused operation, and not the write.
    fn by_lease(&self, index: usize) -> Option<&ActionReason> {
        let lease = self.positions[index].lease?;
        let reason = self.reasons.get(lease).filter(|reason| reason.class() == Some(CancellationClass::Conflict))?;
        let mut all = self.operations.iter().zip(self.positions);
        let mut is_guarded = || all.any(|(other, position)| position.lease == Some(lease) && other.guarded().is_some());
        (self.operations[index].guarded().is_some() || !is_guarded()).then_some(reason)
    }

    /// Returns the indexes of the operations that an expired lease in a separate row has refused.
    fn by_expired_lease(&self) -> Vec<usize> {
        let may_pass = |index: &usize| {
            let refused = self.operations[*index].intent().zip(self.by_lease(*index));
            refused.is_some_and(|(intent, reason)| {
                let Target { model, policy, .. } = intent.target();
                policy.may_pass(model, reason.item.as_ref())
            })
        };
        (0..self.operations.len()).filter(may_pass).collect()
    }

    /// If a lease made the transaction fail, returns the error of this lease. If no lease made the
    /// transaction fail, returns a cancellation with a reason for each operation.
    fn into_error(self, transaction: TransactionId, spent: Spent) -> Error {
        let Self { operations, positions, reasons } = self;
        let by_lease = |index| {
            let met = self.by_lease(index)?.item.as_ref();
            operations[index].refusal(met, positions[index].judged_at, spent.clone())
        };
        if let Some(refusal) = (0..operations.len()).find_map(by_lease) {
            return refusal;
        }
        let parts = operations.iter().zip(positions);
        let parts = parts.map(|(operation, position)| (operation.item_ref.clone(), reason_at(*position, reasons)));
        Error::Cancelled(Cancelled::new(transaction, parts.collect(), spent))
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

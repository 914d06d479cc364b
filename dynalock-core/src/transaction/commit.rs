//! What becomes of operations: resolved, sent, and read from the answer.

use std::{sync::Arc, time::Duration};

use super::{
    assembly::{Assembly, WritePosition, assemble},
    draft::{PendingOperation, PendingStep},
    operation::Operation,
};
use crate::{
    codec::{Basis, Item},
    error::{ActionReason, CancellationClass, Cancelled, Error, Spent, TransactionId},
    model::ItemRef,
    operation::{Transact, TransactGet},
    random,
    retry::{Attempts, Rests, TokenOrigin, Transacted, TransactionAim, tables},
    version::{Repeats, WriteId, ring_of},
    write::plan::WriteStamps,
};

/// The ClientRequestToken of one evaluation.
pub(super) struct Token {
    text: String,
    origin: TokenOrigin,
}

impl Token {
    /// The caller's token, or one that is drawn, and the marks that go with it: the caller's makes them, so that a transaction that is made
    /// again under its token is the same.
    pub(super) fn or_drawn(given: Option<String>, attempts: &mut Attempts) -> (WriteStamps, Self) {
        let (mut rng, origin) = match &given {
            Some(token) => (random::derived(token), TokenOrigin::Given),
            None => (attempts.rng().fork(), TokenOrigin::Drawn),
        };
        let text = given.unwrap_or_else(|| Self::drawn(&mut rng).text);
        let repeats = match origin {
            TokenOrigin::Given => Repeats::Ever,
            TokenOrigin::Drawn => Repeats::InThisCall,
        };
        (WriteStamps { id: WriteId::draw(&mut rng), rng, repeats }, Self { text, origin })
    }

    /// One for another content.
    fn drawn(rng: &mut fastrand::Rng) -> Self {
        Self { text: format!("{:032x}", rng.u128(..)), origin: TokenOrigin::Drawn }
    }

    /// The id by which an item shows that this transaction has happened before.
    pub(super) fn known(&self, stamps: &WriteStamps) -> Option<WriteId> {
        (self.origin == TokenOrigin::Given).then_some(stamps.id)
    }
}

/// Reads what assumed values rest on.
pub(super) async fn resolve(
    attempts: &mut Attempts,
    transaction: TransactionId,
    drafts: Vec<PendingOperation>,
    known: Option<WriteId>,
) -> Result<Vec<Operation>, Error> {
    let mut operations: Vec<Operation> = Vec::with_capacity(drafts.len());
    let mut drafts = drafts.into_iter();
    while let Some(PendingOperation { item_ref, step, .. }) = drafts.next() {
        let act = match step {
            PendingStep::Known(act) => act,
            PendingStep::Wrong(error) => return Err(error),
            PendingStep::Assumed(etag, rest_on) => {
                if !etag.is_of(&item_ref.key) {
                    return Err(Error::KeyChanged { table: item_ref.table });
                }
                let item = attempts.read(&item_ref.read()?).await?;
                match item.clone().map(rest_on).transpose()?.flatten() {
                    Some(act) => act,
                    None if shows(item.as_ref(), known) => return Err(already_committed(attempts)),
                    None => {
                        let before: Vec<_> = operations.into_iter().map(|operation| operation.item_ref).collect();
                        let after: Vec<_> = drafts.map(|draft| draft.item_ref).collect();
                        // An item that the transaction deleted shows nothing, and another one may.
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
        operations.push(Operation { item_ref, act });
    }
    Ok(operations)
}

/// Whether an item shows that the write of this id was applied.
fn shows(item: Option<&Item>, id: Option<WriteId>) -> bool {
    let ring = item.and_then(ring_of);
    ring.zip(id).is_some_and(|(ring, id)| ring.contains(id))
}

/// Refuses a transaction under the caller's token if an item that it rests on shows that it has happened: the item was read after that.
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

/// Whether an item that the transaction writes shows now that it has happened.
async fn is_committed(attempts: &mut Attempts, operations: &[Operation], id: WriteId) -> bool {
    let written = operations.iter().filter(|operation| operation.expected().is_some());
    is_shown(attempts, written.map(|operation| &operation.item_ref), id).await
}

/// Whether one of these items shows now that the write of this id was applied. Nothing does if they cannot be read.
async fn is_shown(attempts: &mut Attempts, items: impl Iterator<Item = &ItemRef>, id: WriteId) -> bool {
    let mut item_refs: Vec<(Arc<str>, Item)> = Vec::new();
    for item_ref in items {
        let Ok(key) = item_ref.key_item() else { continue };
        if !item_refs.iter().any(|(table, known)| *table == item_ref.table && *known == key) {
            item_refs.push((Arc::clone(&item_ref.table), key));
        }
    }
    if item_refs.is_empty() {
        return false;
    }
    let items = attempts.snapshot(&TransactGet { item_refs }).await.unwrap_or_default();
    items.iter().any(|item| shows(item.as_ref(), Some(id)))
}

fn already_committed(attempts: &Attempts) -> Error {
    Error::AlreadyCommitted { spent: attempts.spent() }
}

/// A cancellation for the item of one operation, among others.
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

/// Sends a transaction: what the next writes of its items rest on, by operation, or an error unless it has happened. Where dead leases beside their items
/// are in the way, it is assembled once more, to take them away.
pub(super) async fn send(
    attempts: &mut Attempts,
    transaction: TransactionId,
    operations: &[Operation],
    mut assembly: Assembly,
    mut token: Token,
    mut stamps: WriteStamps,
) -> Result<Vec<Option<Basis>>, Error> {
    let id = stamps.id;
    let table = tables(operations.iter().map(|operation| &operation.item_ref.table));
    loop {
        let Assembly { writes, places, next, .. } = assembly;
        let rests = rests(operations, &places, writes.len());
        let request = Transact::new(writes, Some(token.text.clone()))
            .map_err(|why| Error::Rejected(why.after(attempts.spent())))?;
        let cancelled =
            |reasons: Vec<ActionReason>, spent| cancelled(transaction, operations, &places, &reasons, spent);
        let aim = TransactionAim { id, token: token.origin, rests: &rests };
        let reasons = loop {
            match attempts.transact(&request, &table, aim, cancelled).await {
                Ok(Transacted::Applied) => return Ok(next),
                // DynamoDB remembers tokens only of committed transactions, so the same token can be used again.
                Ok(Transacted::Cancelled(reasons)) if make_way(attempts, operations, &places, &reasons).await? => {}
                Ok(Transacted::Cancelled(reasons)) => break reasons,
                Err(missing @ Error::TableNotFound { .. }) => {
                    let item_refs: Vec<_> = operations.iter().map(|operation| &operation.item_ref).collect();
                    return Err(which_is_missing(attempts, &item_refs, missing).await);
                }
                Err(reused @ Error::TokenReused { .. }) => {
                    let committed = token.origin == TokenOrigin::Given && is_committed(attempts, operations, id).await;
                    return Err(if committed { already_committed(attempts) } else { reused });
                }
                Err(error) => return Err(error),
            }
        };
        // The caller's token is for one content.
        let is_given = token.origin == TokenOrigin::Given;
        if is_given && reasons.iter().any(|reason| shows(reason.item.as_ref(), Some(id))) {
            return Err(already_committed(attempts));
        }
        if is_given || !clear(operations, &places, &reasons) || !attempts.may_go_on(Duration::ZERO) {
            return Err(cancelled(reasons, attempts.spent()));
        }
        token = Token::drawn(attempts.rng());
        assembly = assemble(operations, &mut stamps)?;
    }
}

/// Takes dead heads out of the queues of items that are in the way: `true` if the same is to be sent again.
pub(super) async fn make_way(
    attempts: &mut Attempts,
    operations: &[Operation],
    places: &[WritePosition],
    reasons: &[ActionReason],
) -> Result<bool, Error> {
    let mut is_made = false;
    for (operation, place) in operations.iter().zip(places) {
        let ItemRef { model, table, .. } = &operation.item_ref;
        let met = place.lease.and_then(|lease| reasons[lease].item.as_ref());
        if let (Some(policy), Some(met)) = (operation.policy(), met) {
            is_made |= policy.make_way(attempts, model, table, met).await?;
        }
    }
    Ok(is_made)
}

/// By write: what its condition rests on.
fn rests<'o>(operations: &'o [Operation], places: &[WritePosition], writes: usize) -> Vec<Rests<'o>> {
    let mut rests = vec![Rests { revision: None, version_attribute: "" }; writes];
    for (operation, place) in operations.iter().zip(places) {
        let write = &mut rests[place.write];
        write.revision = write.revision.or(operation.rests_on().map(|state| &state.revision));
        write.version_attribute = operation.item_ref.model.version;
    }
    rests
}

/// Whether a lease that was in the way is in the way no more when the writes are made anew.
fn clear(operations: &[Operation], places: &[WritePosition], reasons: &[ActionReason]) -> bool {
    let asked = asked(operations, places, reasons);
    asked.map(|(operation, reason)| operation.clears(reason.item.as_ref())).fold(false, |any, clears| any | clears)
}

/// The operations that were refused where they ask for a lease, with the reason. A write under a guard is the holder's own: what the guard says
/// counts.
fn asked<'a>(
    operations: &'a [Operation],
    places: &'a [WritePosition],
    reasons: &'a [ActionReason],
) -> impl Iterator<Item = (&'a Operation, &'a ActionReason)> {
    let is_guarded = move |place: usize| {
        operations.iter().zip(places).any(|(operation, other)| other.lease == Some(place) && operation.held().is_some())
    };
    operations.iter().zip(places).filter_map(move |(operation, place)| {
        let lease = place.lease?;
        let counts = reasons[lease].class() == Some(CancellationClass::Conflict)
            && (operation.held().is_some() || !is_guarded(lease));
        counts.then_some((operation, &reasons[lease]))
    })
}

/// A cancellation: each operation has the reason of the write that it is part of.
pub(super) fn cancelled(
    transaction: TransactionId,
    operations: &[Operation],
    places: &[WritePosition],
    reasons: &[ActionReason],
    spent: Spent,
) -> Error {
    let mut asked = asked(operations, places, reasons);
    if let Some(refusal) = asked.find_map(|(operation, reason)| operation.refusal(reason.item.as_ref(), spent)) {
        return refusal;
    }
    let reason =
        |(operation, place): (&Operation, &WritePosition)| (operation.item_ref.clone(), reason_at(*place, reasons));
    Error::Cancelled(Cancelled::new(transaction, operations.iter().zip(places).map(reason).collect(), spent))
}

/// The reason of an operation: that of its write; where that was innocent, what else than its condition was wrong with the row beside the item.
fn reason_at(place: WritePosition, reasons: &[ActionReason]) -> ActionReason {
    let own = &reasons[place.write];
    match place.lease.map(|lease| &reasons[lease]) {
        Some(beside) if own.class().is_none() && beside.class() != Some(CancellationClass::Conflict) => {
            ActionReason { refusal: beside.refusal.clone(), item: None }
        }
        Some(_) | None => own.clone(),
    }
}

/// DynamoDB does not say which of several tables is missing: a read does.
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

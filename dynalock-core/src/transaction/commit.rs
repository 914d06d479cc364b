//! What becomes of operations: resolved, sent, and read from the answer.

use std::{sync::Arc, time::Duration};

use super::{
    assembly::Assembly,
    draft::{Draft, Step},
    handle::TransactionId,
    operation::{Operation, Subject},
};
use crate::{
    codec::{Item, ring_of},
    error::{CancellationClass, Cancelled, Error},
    operation::{Reason, Transact},
    plan::{Marks, Repeats},
    random,
    retry::{Effort, Transacted, TransactionAim, tables},
    version::{Revision, WriteId},
};

/// The ClientRequestToken of one evaluation.
pub(super) struct Token {
    text: String,
    origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// For this evaluation alone.
    Drawn,
    /// The caller's, who may have used it before for the same.
    Given,
}

impl Token {
    /// The caller's token, or one that is drawn, and the marks that go with it: the caller's makes them, so that a transaction that is made
    /// again under its token is the same.
    pub(super) fn or_drawn(given: Option<String>, effort: &mut Effort) -> (Marks, Self) {
        let (mut rng, origin) = match &given {
            Some(token) => (random::derived(token), Origin::Given),
            None => (effort.rng().fork(), Origin::Drawn),
        };
        let text = given.unwrap_or_else(|| format!("{:032x}", rng.u128(..)));
        let repeats = match origin {
            Origin::Given => Repeats::Ever,
            Origin::Drawn => Repeats::InThisCall,
        };
        (Marks { id: WriteId::draw(&mut rng), rng, repeats }, Self { text, origin })
    }

    /// The id by which an item shows that this transaction has happened before.
    pub(super) fn known(&self, marks: &Marks) -> Option<WriteId> {
        (self.origin == Origin::Given).then_some(marks.id)
    }
}

/// Reads what assumed values rest on.
pub(super) async fn resolve(
    effort: &mut Effort,
    transaction: TransactionId,
    drafts: Vec<Draft>,
    known: Option<WriteId>,
) -> Result<Vec<Operation>, Error> {
    let mut operations: Vec<Operation> = Vec::with_capacity(drafts.len());
    let mut drafts = drafts.into_iter();
    while let Some(Draft { subject, step, .. }) = drafts.next() {
        let act = match step {
            Step::Known(act) => act,
            Step::Wrong(error) => return Err(error),
            Step::Assumed(etag, rest_on) => {
                if !etag.is_of(&subject.key) {
                    return Err(Error::KeyChanged { table: subject.table });
                }
                let item = effort.read(&subject.read()?).await?;
                match item.clone().map(rest_on).transpose()?.flatten() {
                    Some(act) => act,
                    None if shows(item.as_ref(), known) => return Err(already_committed(effort)),
                    None => {
                        let before = operations.into_iter().map(|operation| operation.subject);
                        let after = drafts.map(|draft| draft.subject);
                        return Err(refuse(transaction, before, (subject, item), after, effort.spent()));
                    }
                }
            }
        };
        operations.push(Operation { subject, act });
    }
    Ok(operations)
}

/// Whether an item shows that the write of this id was applied.
fn shows(item: Option<&Item>, id: Option<WriteId>) -> bool {
    let ring = item.and_then(ring_of);
    ring.zip(id).is_some_and(|(ring, id)| ring.contains(id))
}

fn already_committed(effort: &Effort) -> Error {
    let (attempts, elapsed) = effort.spent();
    Error::AlreadyCommitted { attempts, elapsed }
}

/// A cancellation for the item of one operation, among others.
fn refuse(
    transaction: TransactionId,
    before: impl Iterator<Item = Subject>,
    (guilty, item): (Subject, Option<Item>),
    after: impl Iterator<Item = Subject>,
    spent: (u32, Duration),
) -> Error {
    let innocent = |subject| (subject, Reason::innocent());
    let guilty = (guilty, Reason::conflict(item));
    let reasons = before.map(innocent).chain([guilty]).chain(after.map(innocent)).collect();
    Error::Cancelled(Cancelled::new(transaction, reasons, spent))
}

/// Sends a transaction, and gives an error unless it has happened.
pub(super) async fn send(
    effort: &mut Effort,
    transaction: TransactionId,
    operations: &[Operation],
    assembly: Assembly,
    token: &Token,
    id: WriteId,
) -> Result<(), Error> {
    let Assembly { writes, places, .. } = assembly;
    let request =
        Transact::new(writes, Some(token.text.clone())).map_err(|why| Error::Rejected(why.after(effort.spent())))?;
    let cancelled = |reasons: Vec<Reason>, spent| cancelled(transaction, operations, &places, &reasons, spent);
    let table = tables(operations.iter().map(|operation| &operation.subject.table));
    let rests = rests(operations, &places);
    let mut sent = effort.transact(&request, &table, TransactionAim { id, rests: &rests }, cancelled).await;
    while let Ok(Transacted::Cancelled(reasons)) = &sent
        && make_way(effort, operations, &places, reasons).await?
    {
        // DynamoDB remembers the tokens of transactions that have happened alone.
        sent = effort.transact(&request, &table, TransactionAim { id, rests: &rests }, cancelled).await;
    }
    match sent {
        Ok(Transacted::Applied) => Ok(()),
        Ok(Transacted::Cancelled(reasons)) => {
            let is_known = token.origin == Origin::Given;
            match is_known && reasons.iter().any(|reason| shows(reason.item.as_ref(), Some(id))) {
                true => Err(already_committed(effort)),
                false => Err(cancelled(reasons, effort.spent())),
            }
        }
        Err(missing @ Error::TableNotFound { .. }) => {
            let subjects: Vec<_> = operations.iter().map(|operation| &operation.subject).collect();
            Err(which_is_missing(effort, &subjects, missing).await)
        }
        Err(error) => Err(error),
    }
}

/// Takes dead heads out of the queues of items that are in the way: `true` if the same is to be sent again.
pub(super) async fn make_way(
    effort: &mut Effort,
    operations: &[Operation],
    places: &[usize],
    reasons: &[Reason],
) -> Result<bool, Error> {
    let mut is_made = false;
    for (operation, place) in operations.iter().zip(places) {
        let Subject { model, table, .. } = &operation.subject;
        if let (Some(stance), Some(met)) = (operation.stance(), &reasons[*place].item) {
            is_made |= stance.make_way(effort, (model, table), met).await?;
        }
    }
    Ok(is_made)
}

/// By write: the revision that its condition rests on, if there is one.
fn rests<'o>(operations: &'o [Operation], places: &[usize]) -> Vec<Option<&'o Revision>> {
    let mut rests = vec![None; places.iter().max().map_or(0, |last| last + 1)];
    for (operation, place) in operations.iter().zip(places) {
        rests[*place] = rests[*place].or(operation.rests_on());
    }
    rests
}

/// A cancellation: each operation has the reason of the write that it is part of.
pub(super) fn cancelled(
    transaction: TransactionId,
    operations: &[Operation],
    places: &[usize],
    reasons: &[Reason],
    spent: (u32, Duration),
) -> Error {
    let is_guarded = |place: usize| {
        operations.iter().zip(places).any(|(operation, other)| *other == place && operation.held().is_some())
    };
    for (operation, place) in operations.iter().zip(places) {
        let Reason { item, .. } = &reasons[*place];
        // A write under a guard is the holder's own: what the guard says counts.
        let counts = reasons[*place].class() == Some(CancellationClass::Conflict)
            && (operation.held().is_some() || !is_guarded(*place));
        if let Some(refusal) = operation.refusal(item.as_ref(), spent).filter(|_| counts) {
            return refusal;
        }
    }
    let reason = |(operation, place): (&Operation, &usize)| (operation.subject.clone(), reasons[*place].clone());
    Error::Cancelled(Cancelled::new(transaction, operations.iter().zip(places).map(reason).collect(), spent))
}

/// DynamoDB does not say which of several tables is missing: a read does.
pub(super) async fn which_is_missing(effort: &mut Effort, subjects: &[&Subject], whole: Error) -> Error {
    let mut known: Vec<&Arc<str>> = Vec::new();
    for subject in subjects {
        if !known.contains(&&subject.table) {
            known.push(&subject.table);
            let Ok(get) = subject.read() else { continue };
            if let Err(missing @ Error::TableNotFound { .. }) = effort.read(&get).await {
                return missing;
            }
        }
    }
    whole
}

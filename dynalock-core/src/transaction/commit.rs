//! What becomes of operations: resolved, sent, and read from the answer.

use std::{sync::Arc, time::Duration};

use super::{
    assembly::Assembly,
    draft::{Draft, Step},
    handle::TransactionId,
    operation::{Operation, Subject},
};
use crate::{
    codec::Item,
    error::{CancellationClass, Cancelled, Error},
    operation::{Reason, Transact},
    plan::Marks,
    random,
    retry::{Effort, Transacted, tables},
    version::WriteId,
};

/// The marks of one evaluation, and its ClientRequestToken: drawn, or made from the caller's, so that a transaction that is made again
/// under its token is the same to the byte.
pub(super) fn marks(effort: &mut Effort, token: Option<String>) -> (Marks, String) {
    let mut rng = match &token {
        Some(token) => random::derived(token),
        None => effort.rng().fork(),
    };
    let token = token.unwrap_or_else(|| format!("{:032x}", rng.u128(..)));
    (Marks { id: WriteId::draw(&mut rng), rng }, token)
}

/// Reads what assumed values rest on.
pub(super) async fn resolve(
    effort: &mut Effort,
    transaction: TransactionId,
    drafts: Vec<Draft>,
) -> Result<Vec<Operation>, Error> {
    let subjects: Vec<_> = drafts.iter().map(|draft| draft.subject.clone()).collect();
    let mut operations = Vec::with_capacity(drafts.len());
    for (index, Draft { subject, step, .. }) in drafts.into_iter().enumerate() {
        let act = match step {
            Step::Known(act) => act,
            Step::Refused(error) => return Err(error),
            Step::Assumed(etag, rest_on) => {
                if !etag.is_of(&subject.key) {
                    return Err(Error::KeyChanged { table: subject.table });
                }
                let item = effort.read(&subject.read()?).await?;
                match item.clone().map(rest_on).transpose()?.flatten() {
                    Some(act) => act,
                    None => return Err(refuse(transaction, subjects, index, item, effort.spent())),
                }
            }
        };
        operations.push(Operation { subject, act });
    }
    Ok(operations)
}

/// A cancellation for the item of one operation.
fn refuse(
    transaction: TransactionId,
    subjects: Vec<Subject>,
    guilty: usize,
    item: Option<Item>,
    spent: (u32, Duration),
) -> Error {
    let mut item = Some(item);
    let reason = |(index, subject)| match item.take_if(|_| index == guilty) {
        Some(item) => (subject, Reason::conflict(item)),
        None => (subject, Reason::innocent()),
    };
    Error::Cancelled(Cancelled::new(transaction, subjects.into_iter().enumerate().map(reason).collect(), spent))
}

/// Sends a transaction, and gives an error unless it has happened.
pub(super) async fn send(
    effort: &mut Effort,
    transaction: TransactionId,
    operations: &[Operation],
    assembly: Assembly,
    token: String,
    id: WriteId,
) -> Result<(), Error> {
    let Assembly { writes, places, .. } = assembly;
    let request = Transact::new(writes, Some(token)).map_err(|why| Error::Rejected(why.after(effort.spent())))?;
    let cancelled = |reasons: Vec<Reason>, spent| cancelled(transaction, operations, &places, &reasons, spent);
    let table = tables(operations.iter().map(|operation| &operation.subject.table));
    let for_good = |reasons: &[Reason]| {
        let failed = |place: &usize| reasons[*place].class() == Some(CancellationClass::Conflict);
        operations.iter().zip(&places).any(|(operation, place)| failed(place) && operation.fails_for_good())
    };
    match effort.transact(&request, &table, id, for_good, cancelled).await {
        Ok(Transacted::Applied) => Ok(()),
        Ok(Transacted::Cancelled(reasons)) => Err(cancelled(reasons, effort.spent())),
        Err(Error::TableNotFound { attempts, elapsed, .. }) => {
            find_missing(effort, operations).await?;
            Err(Error::TableNotFound { table, attempts, elapsed })
        }
        Err(error) => Err(error),
    }
}

/// A cancellation: each operation has the reason of the write that it is part of.
pub(super) fn cancelled(
    transaction: TransactionId,
    operations: &[Operation],
    places: &[usize],
    reasons: &[Reason],
    spent: (u32, Duration),
) -> Error {
    let reason = |(operation, place): (&Operation, &usize)| (operation.subject.clone(), reasons[*place].clone());
    Error::Cancelled(Cancelled::new(transaction, operations.iter().zip(places).map(reason).collect(), spent))
}

/// DynamoDB does not say which of several tables is missing: a read does.
async fn find_missing(effort: &mut Effort, operations: &[Operation]) -> Result<(), Error> {
    let mut known: Vec<&Arc<str>> = Vec::new();
    for Operation { subject, .. } in operations {
        if !known.contains(&&subject.table) {
            known.push(&subject.table);
            effort.read(&subject.read()?).await?;
        }
    }
    Ok(())
}

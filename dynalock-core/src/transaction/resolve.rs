//! Converts the pending operations of a transaction into operations that the commit can send.

use super::{
    pending::{PendingOperation, PendingState},
    token::{already_committed, is_shown},
};
use crate::{
    error::{ActionReason, Cancelled, Error, TransactionId},
    retry::Attempts,
    version::{WriteId, shows_any},
    write::operation::Operation,
};

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
                // The condition of the write requires that the item has not changed since this
                // read.
                let item = attempts.read(&item_ref.read()?).await?;
                match item.clone().map(|item| resolve(item, &etag)).transpose()?.flatten() {
                    Some(kind) => kind,
                    None if known.is_some_and(|id| shows_any(item.as_ref(), &[id])) => {
                        return Err(already_committed(attempts));
                    }
                    None => {
                        let index = operations.len();
                        let others = operations.into_iter().map(|operation| operation.item_ref);
                        let others = others.chain(pending.map(|operation| operation.item_ref));
                        let mut reasons: Vec<_> = others.map(|item_ref| (item_ref, ActionReason::innocent())).collect();
                        // If an earlier commit of the transaction deleted the item, only the other
                        // items can contain the write id.
                        if let Some(id) = known
                            && is_shown(attempts, reasons.iter().map(|(item_ref, _)| item_ref), id).await
                        {
                            return Err(already_committed(attempts));
                        }
                        reasons.insert(index, (item_ref, ActionReason::conflict(item)));
                        return Err(Error::Cancelled(Cancelled::new(transaction, reasons, attempts.spent())));
                    }
                }
            }
        };
        operations.push(Operation::new(item_ref, kind));
    }
    Ok(operations)
}

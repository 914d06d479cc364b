use std::mem;

use super::pending::{PendingOperation, PendingState};
use crate::{
    error::{Error, Result},
    explain::{ExplainedAction, ExplainedRequest, ExplainedRow},
    write::{assembly::Assembly, operation::Operation},
};

pub(super) enum Resolved {
    Operations(Vec<Operation>),
    Reads(Vec<ExplainedRequest>),
}

/// Takes the operations out of `pending` if the commit can send them without a read. If the commit
/// must first read items, `resolve` returns the requests for these items, and `pending` keeps the
/// operations.
pub(super) fn resolve(pending: &mut Vec<PendingOperation>) -> Result<Resolved> {
    let mut reads = Vec::new();
    for PendingOperation { item_ref, state, .. } in pending.iter() {
        match state {
            PendingState::Ready(_) => {}
            PendingState::Invalid(error) => return Err(error.clone()),
            PendingState::Assumed(etag, _) if !etag.is_of(&item_ref.key) => {
                return Err(Error::KeyChanged { table: item_ref.table.clone() });
            }
            PendingState::Assumed(..) => reads.push(item_ref.read()?.into()),
        }
    }
    if !reads.is_empty() {
        return Ok(Resolved::Reads(reads));
    }
    let operations = mem::take(pending).into_iter().filter_map(|operation| match operation.state {
        PendingState::Ready(kind) => Some(Operation::new(operation.item_ref, kind)),
        PendingState::Invalid(_) | PendingState::Assumed(..) => None,
    });
    Ok(Resolved::Operations(operations.collect()))
}

pub(super) fn pending(operations: Vec<Operation>) -> Vec<PendingOperation> {
    let pending = |Operation { item_ref, kind, .. }| PendingOperation::ready(item_ref, kind);
    operations.into_iter().map(pending).collect()
}

pub(super) fn actions(operations: &[Operation], assembly: Assembly) -> Vec<ExplainedAction> {
    let Assembly { writes, positions, .. } = assembly;
    let row = |index| {
        let mut of_write = operations.iter().zip(&positions).filter(|(_, position)| position.write == index);
        // A write goes to a lease row if all operations of the write concern a lease.
        if of_write.all(|(operation, _)| operation.is_of_lease_row()) {
            ExplainedRow::Lease
        } else {
            ExplainedRow::Item
        }
    };
    writes.into_iter().enumerate().map(|(index, write)| ExplainedAction::in_transaction(write, row(index))).collect()
}

//! Combines several operations into one request.

use std::{collections::HashMap, sync::Arc};

use super::{
    check::{check, require},
    intent::{Intent, OwnedIntent, Target},
    operation::{Operation, OperationKind},
    plan::{Plan, WritePosition},
    stamp::{WriteStamp, WriteStamps},
};
use crate::{
    codec::{Basis, Item, size},
    error::{ActionReason, Error, InvalidTransaction, Spent},
    key::Key,
    lease::{
        clause::{HolderProof, LeaseClause},
        policy::CompanionWrite,
    },
    model::ItemRef,
    operation::{Action, Write},
    version::Repeats,
};

/// The maximum number of items in one transaction.
pub(crate) const MOST_ITEMS: usize = 100;

/// The maximum size of an item in bytes.
const LARGEST_ITEM: usize = 400 * 1024;
const LARGEST_TRANSACTION: usize = 4 * 1024 * 1024;

/// The request of several operations.
pub(crate) struct Assembly {
    /// The writes of the request: one for each item, and one for each separate lease row. The
    /// writes have the order of the operations. There is at least one write.
    pub(crate) writes: Vec<Write>,
    /// For each operation, the indexes of its writes.
    pub(crate) positions: Vec<WritePosition>,
    /// For each operation, the basis of the next write of its item.
    pub(crate) next: Vec<Option<Basis>>,
    /// The size of each write.
    sizes: Vec<WriteSize>,
}

/// The size of one write. The derived order compares the bytes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WriteSize {
    /// The size of the item in bytes.
    bytes: usize,
    /// The operation from which the write is made.
    operation: usize,
}

/// The operations on one item, which become one write. If the item has a separate lease row, the
/// operations also become a companion write.
struct ItemOperations<'o> {
    operations: &'o [Operation],
    /// The indexes of the operations on the item, at least one.
    indexes: Vec<usize>,
}

/// The only write of a transaction that writes one item and checks no other item. The checks of
/// this item are conditions of the write.
pub(crate) struct OnlyWrite<'o> {
    operations: &'o [Operation],
    lead: usize,
    intent: &'o dyn OwnedIntent,
}

/// Makes one write for each item, because DynamoDB refuses two actions on one item. The checks of
/// an item become conditions of its write. Guards of separate lease rows become conditions of the
/// companion write.
///
/// Returns an error if the request would exceed a limit of DynamoDB.
pub(crate) fn assemble(operations: &[Operation], stamps: &mut WriteStamps) -> Result<Assembly, Error> {
    let count = operations.len();
    let (positions, next) = (vec![WritePosition::default(); count], vec![None; count]);
    let (writes, sizes) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut assembly = Assembly { writes, positions, next, sizes };
    for group in group(operations) {
        assembly.add(&group, stamps)?;
    }
    assembly.check_limits(operations)?;
    Ok(assembly)
}

impl Assembly {
    /// Adds the write for the operations on one item.
    fn add(&mut self, group: &ItemOperations<'_>, stamps: &mut WriteStamps) -> Result<(), Error> {
        let lead = group.lead()?;
        let mut plan = group.plan(lead, stamps)?;
        let bytes = plan.bytes();
        // DynamoDB's error would not name the operation. The error of the library does, and no
        // request is sent.
        if bytes > LARGEST_ITEM {
            let table = Arc::clone(&plan.write.table);
            let why = InvalidTransaction::ItemTooLarge { operation: lead, table, bytes };
            return Err(Error::InvalidTransaction(why));
        }
        let companion = plan.companion.as_ref().map(|row| size(&row.key));
        let sizes = [bytes].into_iter().chain(companion);
        self.sizes.extend(sizes.map(|bytes| WriteSize { bytes, operation: lead }));
        let position = plan.position(self.writes.len());
        let asks = group.asks_for_lease(lead, &plan.write);
        let lease = position.lease.or_else(|| asks.then_some(position.write));
        for &index in &group.indexes {
            // The reason for a guard of the lease row is the reason of the companion write. The
            // reason for each other operation is the reason of the write of the item.
            let of_row = position.lease.filter(|_| group.operations[index].is_of_lease_row());
            self.positions[index] = WritePosition { write: of_row.unwrap_or(position.write), lease, ..position };
        }
        self.next[lead] = plan.next.take();
        self.writes.extend(plan.into_writes());
        Ok(())
    }

    fn check_limits(&self, operations: &[Operation]) -> Result<(), Error> {
        let invalid = |why| Err(Error::InvalidTransaction(why));
        let Some(WriteSize { operation: largest, .. }) = self.sizes.iter().copied().max() else {
            return invalid(InvalidTransaction::Empty);
        };
        if self.sizes.len() > MOST_ITEMS {
            return invalid(InvalidTransaction::TooManyItems { items: self.sizes.len() });
        }
        let bytes = self.sizes.iter().map(|size| size.bytes).sum();
        if bytes > LARGEST_TRANSACTION {
            let table = Arc::clone(&operations[largest].item_ref.table);
            return invalid(InvalidTransaction::TooLarge { bytes, largest, table });
        }
        Ok(())
    }

    /// Returns whether at least one item is written, and not only checked.
    pub(crate) fn writes_anything(&self) -> bool {
        self.writes.iter().any(|write| !matches!(write.action, Action::Check))
    }

    /// Returns the plan of a transaction that consists of one write.
    pub(crate) fn into_plan(mut self) -> Plan {
        let judged_at = self.positions.iter().find_map(|position| position.judged_at);
        let next = self.next.into_iter().flatten().next();
        Plan { next, judged_at, ..Plan::alone(self.writes.swap_remove(0)) }
    }
}

impl<'o> ItemOperations<'o> {
    /// Returns the index of the leading operation, to which the conditions of the other operations
    /// are added. The leading operation is the write of the item, if there is one. A guard of the
    /// lease row leads only if all operations are guards.
    fn lead(&self) -> Result<usize, Error> {
        let mut writes = self.indexes.iter().copied().filter(|&index| self.operations[index].intent().is_some());
        match (writes.next(), writes.next()) {
            (Some(first), Some(second)) => {
                let table = Arc::clone(&self.operations[first].item_ref.table);
                Err(Error::InvalidTransaction(InvalidTransaction::SameItem { first, second, table }))
            }
            (Some(write), None) => Ok(write),
            (None, _) => {
                // A guard of the lease row has the key of the row, so the checks of the item cannot
                // be added to it.
                let of_item = self.indexes.iter().copied().find(|&index| !self.operations[index].is_of_lease_row());
                Ok(of_item.unwrap_or(self.indexes[0]))
            }
        }
    }

    /// Returns the proof of the guard of this item's lease, or `None` if the transaction has no
    /// such guard.
    fn guarded(&self) -> Option<&'o HolderProof> {
        self.indexes.iter().find_map(|&index| self.operations[index].guarded())
    }

    /// Returns the lease clause of the write. If the transaction has a guard of the item's lease,
    /// the write counts as a write of the holder.
    fn clause(&self, intent: &dyn OwnedIntent, repeats: Repeats, companion: CompanionWrite) -> LeaseClause {
        match self.guarded() {
            Some(holder) => LeaseClause::Holder(holder.clone()),
            None => intent.clause(repeats, companion),
        }
    }

    /// Returns whether the write itself contains the lease condition, so that no companion write is
    /// needed.
    fn asks_for_lease(&self, lead: usize, write: &Write) -> bool {
        let lead = &self.operations[lead];
        // An update without changes becomes a check, which has no lease condition.
        let is_check = matches!(write.action, Action::Check);
        let asks = lead.intent().is_some_and(|intent| intent.target().asks_for_lease_in_item() && !is_check);
        let has_guard = lead.item_ref.model.lock_in_item().is_some() && self.guarded().is_some();
        asks || has_guard || lead.is_of_lease_row()
    }

    fn plan(&self, lead: usize, stamps: &mut WriteStamps) -> Result<Plan, Error> {
        let Operation { item_ref, kind, companion } = &self.operations[lead];
        let plan = match kind {
            OperationKind::Write(intent) => {
                let clause = self.clause(&**intent, stamps.id.repeats, *companion);
                intent.plan(stamps.next(), &clause)?
            }
            OperationKind::Check(requirement) => Plan::alone(check(item_ref, requirement)?),
        };
        self.with_checks(lead, plan)
    }

    /// Adds the conditions of the checks and guards to the plan of the leading operation.
    fn with_checks(&self, lead: usize, mut plan: Plan) -> Result<Plan, Error> {
        let is_of_item = !self.operations[lead].is_of_lease_row();
        for &index in self.indexes.iter().filter(|index| **index != lead) {
            let operation = &self.operations[index];
            let OperationKind::Check(requirement) = &operation.kind else { continue };
            if operation.is_of_lease_row() && is_of_item {
                match &mut plan.companion {
                    Some(row) => require(row, &operation.item_ref, requirement)?,
                    // The leading operation has no companion write, so the guard becomes the
                    // companion write.
                    None => plan.companion = Some(Box::new(check(&operation.item_ref, requirement)?)),
                }
            } else {
                require(&mut plan.write, &operation.item_ref, requirement)?;
            }
        }
        Ok(plan)
    }
}

/// Returns the operations of each item, in the order of the calls.
fn group(operations: &[Operation]) -> Vec<ItemOperations<'_>> {
    // The groups have the order of the calls, so that a transaction with the caller's token has the
    // same text in each call.
    let mut groups: Vec<ItemOperations<'_>> = Vec::with_capacity(operations.len());
    let mut known = HashMap::with_capacity(operations.len());
    for (index, Operation { item_ref, .. }) in operations.iter().enumerate() {
        let position = *known.entry((&*item_ref.table, &item_ref.key)).or_insert(groups.len());
        match groups.get_mut(position) {
            Some(group) => group.indexes.push(index),
            None => groups.push(ItemOperations { operations, indexes: vec![index] }),
        }
    }
    groups
}

impl<'o> OnlyWrite<'o> {
    /// Returns the single write of the operations, or `None` if they write or check more than one
    /// item.
    pub(crate) fn of(operations: &'o [Operation], assembly: &Assembly) -> Option<Self> {
        if assembly.writes.len() != 1 || !assembly.writes_anything() {
            return None;
        }
        let lead = operations.iter().position(|operation| operation.intent().is_some())?;
        Some(Self { operations, lead, intent: operations[lead].intent()? })
    }

    /// Returns each operation with the reason for which DynamoDB refused the single write.
    pub(crate) fn parts(&self, reason: &ActionReason) -> Vec<(ItemRef, ActionReason)> {
        self.operations.iter().map(|operation| (operation.item_ref.clone(), reason.clone())).collect()
    }

    fn group(&self) -> ItemOperations<'o> {
        ItemOperations { operations: self.operations, indexes: (0..self.operations.len()).collect() }
    }
}

impl Intent for OnlyWrite<'_> {
    fn target(&self) -> Target<'_> {
        self.intent.target()
    }

    fn key(&self) -> Key {
        self.intent.key()
    }

    fn clause(&self, repeats: Repeats, companion: CompanionWrite) -> LeaseClause {
        self.group().clause(self.intent, repeats, companion)
    }

    fn plan(&self, stamp: WriteStamp, clause: &LeaseClause) -> Result<Plan, Error> {
        self.group().with_checks(self.lead, self.intent.plan(stamp, clause)?)
    }

    fn refusal(&self, met: Option<&Item>, judged_at: Option<u64>, spent: Spent) -> Option<Error> {
        match self.operations.iter().find(|operation| operation.guarded().is_some()) {
            // A write with a guard belongs to the holder, so the guard decides the error.
            Some(guard) => guard.refusal(met, judged_at, spent),
            None => self.intent.refusal(met, judged_at, spent),
        }
    }
}

//! Combines the operations of a transaction into one request.

use std::sync::Arc;

use super::{
    check::{check, require},
    group::groups,
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

pub(crate) const MOST_ITEMS: usize = 100;

const LARGEST_ITEM: usize = 400 * 1024;
const LARGEST_TRANSACTION: usize = 4 * 1024 * 1024;

pub(crate) struct Assembly {
    /// The writes of the items and of the separate lease rows, in the order of the operations.
    pub(crate) writes: Vec<Write>,
    pub(crate) positions: Vec<WritePosition>,
    /// For each operation that writes an item, the state of the item after the transaction.
    pub(crate) next: Vec<Option<Basis>>,
    sizes: Vec<WriteSize>,
}

/// The size of one write. The derived `Ord` compares the field `bytes` first, so `max` finds the
/// largest write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WriteSize {
    bytes: usize,
    operation: usize,
}

/// The operations on one item in a transaction. The transaction contains one write of the item, and
/// a second write if the lease of the item is in a separate row.
struct ItemOperations<'o> {
    operations: &'o [Operation],
    /// The indexes of the operations on the item, never empty.
    indexes: Vec<usize>,
}

/// The write of a transaction that writes one item and checks no other item.
pub(crate) struct OnlyWrite<'o> {
    operations: &'o [Operation],
    lead: usize,
    intent: &'o dyn OwnedIntent,
}

/// Makes one write for each item, because DynamoDB refuses a transaction with two actions on one
/// item. The checks of an item become conditions of the write of the item. If the lease of an item
/// is in a separate row, a guard of the lease becomes a condition on the lease row.
///
/// Returns an error if the transaction would exceed a limit of DynamoDB.
pub(crate) fn assemble(operations: &[Operation], stamps: &mut WriteStamps) -> Result<Assembly, Error> {
    let count = operations.len();
    let (positions, next) = (vec![WritePosition::default(); count], vec![None; count]);
    let (writes, sizes) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut assembly = Assembly { writes, positions, next, sizes };
    // All requests of a commit must contain the writes in the same order, because DynamoDB refuses
    // a repeated token with different content.
    let keyed = operations.iter().enumerate();
    let keyed = keyed.map(|(index, Operation { item_ref, .. })| ((&*item_ref.table, &item_ref.key), index));
    for indexes in groups(keyed) {
        assembly.add(&ItemOperations { operations, indexes }, stamps)?;
    }
    assembly.check_limits(operations)?;
    Ok(assembly)
}

impl Assembly {
    fn add(&mut self, group: &ItemOperations<'_>, stamps: &mut WriteStamps) -> Result<(), Error> {
        let lead = group.lead()?;
        let mut plan = group.plan(lead, stamps)?;
        let bytes = plan.bytes();
        // DynamoDB's error for a too large item would not name the operation of the item.
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
            // A guard of a separate lease row gets the cancellation reason of the lease row. Each
            // other operation gets the cancellation reason of the item.
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

    pub(crate) fn writes_anything(&self) -> bool {
        self.writes.iter().any(|write| !matches!(write.action, Action::Check))
    }

    pub(crate) fn into_plan(mut self) -> Plan {
        let judged_at = self.positions.iter().find_map(|position| position.judged_at);
        let next = self.next.into_iter().flatten().next();
        Plan { next, judged_at, ..Plan::alone(self.writes.swap_remove(0)) }
    }
}

impl<'o> ItemOperations<'o> {
    /// Returns the index of the operation that receives the conditions of the other operations on
    /// the item. This is the write. Without a write, it is a check of the item, and without a
    /// check, a guard of the separate lease row.
    fn lead(&self) -> Result<usize, Error> {
        let mut writes = self.indexes.iter().copied().filter(|&index| self.operations[index].intent().is_some());
        match (writes.next(), writes.next()) {
            (Some(first), Some(second)) => {
                let table = Arc::clone(&self.operations[first].item_ref.table);
                Err(Error::InvalidTransaction(InvalidTransaction::SameItem { first, second, table }))
            }
            (Some(write), None) => Ok(write),
            (None, _) => {
                // A guard of a separate lease row does not test the item, so the guard cannot
                // receive the conditions of the item's checks.
                let of_item = self.indexes.iter().copied().find(|&index| !self.operations[index].is_of_lease_row());
                Ok(of_item.unwrap_or(self.indexes[0]))
            }
        }
    }

    fn guarded(&self) -> Option<&'o HolderProof> {
        self.indexes.iter().find_map(|&index| self.operations[index].guarded())
    }

    /// Returns the condition and the changes of the lease attributes for the write. If the
    /// transaction contains a guard of the item's lease, the condition requires that the guard
    /// still holds the lease.
    fn clause(&self, intent: &dyn OwnedIntent, repeats: Repeats, companion: CompanionWrite) -> LeaseClause {
        match self.guarded() {
            Some(holder) => LeaseClause::Holder(holder.clone()),
            None => intent.clause(repeats, companion),
        }
    }

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

    fn with_checks(&self, lead: usize, mut plan: Plan) -> Result<Plan, Error> {
        let is_of_item = !self.operations[lead].is_of_lease_row();
        for &index in self.indexes.iter().filter(|index| **index != lead) {
            let operation = &self.operations[index];
            let OperationKind::Check(requirement) = &operation.kind else { continue };
            if operation.is_of_lease_row() && is_of_item {
                match &mut plan.companion {
                    Some(row) => require(row, &operation.item_ref, requirement)?,
                    None => plan.companion = Some(Box::new(check(&operation.item_ref, requirement)?)),
                }
            } else {
                require(&mut plan.write, &operation.item_ref, requirement)?;
            }
        }
        Ok(plan)
    }
}

impl<'o> OnlyWrite<'o> {
    /// Returns `None` if the operations need more than one write, or if all operations are checks.
    pub(crate) fn of(operations: &'o [Operation], assembly: &Assembly) -> Option<Self> {
        if assembly.writes.len() != 1 || !assembly.writes_anything() {
            return None;
        }
        let lead = operations.iter().position(|operation| operation.intent().is_some())?;
        Some(Self { operations, lead, intent: operations[lead].intent()? })
    }

    /// Returns the same `reason` for each operation, because one write contains the conditions of
    /// all operations.
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

    fn lease_error(&self, met: Option<&Item>, judged_at: Option<u64>, spent: Spent) -> Option<Error> {
        match self.operations.iter().find(|operation| operation.guarded().is_some()) {
            // A guard reports the loss of the lease as `Error::Lost`.
            Some(guard) => guard.lease_error(met, judged_at, spent),
            None => self.intent.lease_error(met, judged_at, spent),
        }
    }
}

//! The request that operations make. Pure.

use std::{collections::HashMap, sync::Arc};

use super::{
    change::PlannedWrite,
    operation::{Operation, OperationKind},
};
use crate::{
    codec::{Basis, size},
    error::{Error, InvalidTransaction},
    lease::clause::HolderProof,
    operation::{Action, Write},
    write::plan::{self, WriteStamps},
};

/// The items that DynamoDB takes in one transaction.
pub(super) const MOST_ITEMS: usize = 100;

/// The bytes of an item, and of all items of a transaction, that DynamoDB takes.
const LARGEST_ITEM: usize = 400 * 1024;
const LARGEST_TRANSACTION: usize = 4 * 1024 * 1024;

/// What is sent for operations.
pub(super) struct Assembly {
    /// One for each item, and one for each row beside an item, in the order in which the operations name them; at least one.
    pub(super) writes: Vec<Write>,
    /// By operation.
    pub(super) places: Vec<WritePosition>,
    /// By operation: what the next write of its item rests on.
    pub(super) next: Vec<Option<Basis>>,
    /// By write.
    sizes: Vec<WriteSize>,
}

/// The size of one write. Sizes compare by their bytes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WriteSize {
    /// The bytes of its item.
    bytes: usize,
    /// The operation that the write is made of.
    operation: usize,
}

/// Where an operation is among the writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct WritePosition {
    /// The write that it is part of.
    pub(super) write: usize,
    /// The write that asks for the lease of its item: the same, or that of the row beside the item. Nothing if there is none of that.
    pub(super) lease: Option<usize>,
}

/// Makes one write for each item: a write and the checks of its item are one conditional write, several checks one. So it is with the row
/// beside an item, and the guards that ask for what is in it.
///
/// The limits are checked that DynamoDB sets for the request as a whole.
pub(super) fn assemble(operations: &[Operation], stamps: &mut WriteStamps) -> Result<Assembly, Error> {
    let mut assembly = Assembly::of(operations.len());
    for group in group(operations) {
        assembly.add(operations, &group, stamps)?;
    }
    check_whole(operations, &assembly.sizes)?;
    Ok(assembly)
}

impl Assembly {
    fn of(operations: usize) -> Self {
        let nowhere = WritePosition { write: 0, lease: None };
        let (places, next) = (vec![nowhere; operations], vec![None; operations]);
        Self { writes: Vec::new(), places, next, sizes: Vec::new() }
    }

    /// Adds what becomes of the operations on one item.
    fn add(&mut self, operations: &[Operation], group: &[usize], stamps: &mut WriteStamps) -> Result<(), Error> {
        let is_beside = |index: &usize| operations[*index].held_beside().is_some();
        let (guards, others): (Vec<_>, Vec<_>) = group.iter().copied().partition(is_beside);
        let (mut write, mut row) = (None, None);
        if !others.is_empty() {
            let lead = lead(operations, &others)?;
            let held = group.iter().find_map(|index| operations[*index].held());
            let PlannedWrite { write: mut planned, bytes, next } = plan(&operations[lead], stamps, held)?;
            check_item(lead, &planned, bytes)?;
            for other in others.iter().filter(|other| **other != lead) {
                require(&mut planned, &operations[*other])?;
            }
            row = planned.beside.take().map(|row| *row);
            self.next[lead] = next;
            write = Some(self.push(planned, WriteSize { bytes, operation: lead }));
        }
        for guard in &guards {
            match &mut row {
                Some(row) => require(row, &operations[*guard])?,
                None => row = Some(plan(&operations[*guard], stamps, None)?.write),
            }
        }
        let row = row.map(|row| {
            let bytes = size(&row.key);
            self.push(row, WriteSize { bytes, operation: group[0] })
        });
        for index in others {
            let lease = if operations[index].item_ref.model.lock_beside().is_some() { row } else { write };
            self.places[index] = WritePosition { write: write.unwrap_or_default(), lease };
        }
        for index in guards {
            self.places[index] = WritePosition { write: row.unwrap_or_default(), lease: row };
        }
        Ok(())
    }

    /// Adds a write, and says which it is.
    fn push(&mut self, write: Write, size: WriteSize) -> usize {
        self.writes.push(write);
        self.sizes.push(size);
        self.writes.len() - 1
    }

    /// Whether one item is written, and no other checked.
    pub(super) fn is_one_write(&self) -> bool {
        self.writes.len() == 1 && self.writes_anything()
    }

    /// Whether any item is written, and not only checked.
    pub(super) fn writes_anything(&self) -> bool {
        self.writes.iter().any(|write| !matches!(write.action, Action::Check))
    }
}

fn require(write: &mut Write, operation: &Operation) -> Result<(), Error> {
    match &operation.act {
        OperationKind::Check(requirement) => plan::require(write, operation.item_ref.model, requirement),
        OperationKind::Change(_) => Ok(()),
    }
}

/// The operations of each item.
fn group(operations: &[Operation]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known = HashMap::new();
    for (index, Operation { item_ref, .. }) in operations.iter().enumerate() {
        let place = *known.entry((&*item_ref.table, &item_ref.key)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// The operation of an item that the others are added to: its write, if there is one.
fn lead(operations: &[Operation], group: &[usize]) -> Result<usize, Error> {
    let mut changes = group.iter().copied().filter(|&index| matches!(operations[index].act, OperationKind::Change(_)));
    match (changes.next(), changes.next()) {
        (Some(first), Some(second)) => {
            let table = Arc::clone(&operations[first].item_ref.table);
            Err(Error::InvalidTransaction(InvalidTransaction::SameItem { first, second, table }))
        }
        (lead, _) => Ok(lead.unwrap_or(group[0])),
    }
}

fn plan(operation: &Operation, stamps: &mut WriteStamps, held: Option<&HolderProof>) -> Result<PlannedWrite, Error> {
    let Operation { item_ref, act } = operation;
    match act {
        OperationKind::Change(change) => change.plan(stamps.next(), held),
        OperationKind::Check(requirement) => {
            plan::check(item_ref.model, &item_ref.table, &item_ref.key, requirement).map(PlannedWrite::without_value)
        }
    }
}

fn check_item(operation: usize, write: &Write, bytes: usize) -> Result<(), Error> {
    if bytes <= LARGEST_ITEM {
        return Ok(());
    }
    let table = Arc::clone(&write.table);
    Err(Error::InvalidTransaction(InvalidTransaction::ItemTooLarge { operation, table, bytes }))
}

fn check_whole(operations: &[Operation], sizes: &[WriteSize]) -> Result<(), Error> {
    let invalid = |why| Err(Error::InvalidTransaction(why));
    let Some(WriteSize { operation: largest, .. }) = sizes.iter().copied().max() else {
        return invalid(InvalidTransaction::Empty);
    };
    if sizes.len() > MOST_ITEMS {
        return invalid(InvalidTransaction::TooManyItems { items: sizes.len() });
    }
    let bytes = sizes.iter().map(|size| size.bytes).sum();
    if bytes > LARGEST_TRANSACTION {
        let table = Arc::clone(&operations[largest].item_ref.table);
        return invalid(InvalidTransaction::TooLarge { bytes, largest, table });
    }
    Ok(())
}

//! The request that operations make. Pure.

use std::{collections::HashMap, sync::Arc};

use super::{
    change::Planned,
    operation::{Act, Operation},
};
use crate::{
    error::{Error, InvalidTransaction},
    expression::Holder,
    operation::{Action, Write},
    plan::{self, Marks},
    version::Revision,
};

/// The items that DynamoDB takes in one transaction.
pub(super) const MOST_ITEMS: usize = 100;

/// The bytes of an item, and of all items of a transaction, that DynamoDB takes.
const LARGEST_ITEM: usize = 400 * 1024;
const LARGEST_TRANSACTION: usize = 4 * 1024 * 1024;

/// What is sent for operations.
pub(super) struct Assembly {
    /// One for each item, in the order in which the operations name them; at least one.
    pub(super) writes: Vec<Write>,
    /// By operation: which of the writes it is part of.
    pub(super) places: Vec<usize>,
    /// By operation: the revision that it makes.
    pub(super) next: Vec<Option<Revision>>,
}

/// Makes one write for each item: a write and the checks of its item are one conditional write, several checks one.
///
/// The limits are checked that DynamoDB sets for the request as a whole.
pub(super) fn assemble(operations: &[Operation], marks: &mut Marks) -> Result<Assembly, Error> {
    let mut assembly = Assembly { writes: Vec::new(), places: Vec::new(), next: vec![None; operations.len()] };
    let mut sizes = Vec::new();
    for (place, group) in group(operations, &mut assembly.places).into_iter().enumerate() {
        let lead = lead(operations, &group)?;
        let held = group.iter().find_map(|index| operations[*index].held());
        let Planned { write, bytes, next } = plan(&operations[lead], marks, held)?;
        check_item(lead, &write, bytes)?;
        assembly.next[lead] = next;
        assembly.writes.push(write);
        sizes.push((bytes, lead));
        for other in group.into_iter().filter(|other| *other != lead) {
            if let Act::Check(requirement) = &operations[other].act {
                plan::require(&mut assembly.writes[place], operations[other].subject.model, requirement)?;
            }
        }
    }
    check_whole(operations, &sizes)?;
    Ok(assembly)
}

impl Assembly {
    /// Whether one item is written, and no other checked.
    pub(super) fn is_one_write(&self) -> bool {
        self.writes.len() == 1 && self.writes_anything()
    }

    /// Whether any item is written, and not only checked.
    pub(super) fn writes_anything(&self) -> bool {
        self.writes.iter().any(|write| !matches!(write.action, Action::Check))
    }
}

/// The operations of each item.
fn group(operations: &[Operation], places: &mut Vec<usize>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut known = HashMap::new();
    for (index, Operation { subject, .. }) in operations.iter().enumerate() {
        let place = *known.entry((&*subject.table, &subject.key)).or_insert(groups.len());
        places.push(place);
        match groups.get_mut(place) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// The operation of an item that the others are added to: its write, if there is one.
fn lead(operations: &[Operation], group: &[usize]) -> Result<usize, Error> {
    let mut changes = group.iter().copied().filter(|&index| matches!(operations[index].act, Act::Change(_)));
    match (changes.next(), changes.next()) {
        (Some(first), Some(second)) => {
            let table = Arc::clone(&operations[first].subject.table);
            Err(Error::InvalidTransaction(InvalidTransaction::SameItem { first, second, table }))
        }
        (lead, _) => Ok(lead.unwrap_or(group[0])),
    }
}

fn plan(operation: &Operation, marks: &mut Marks, held: Option<&Holder>) -> Result<Planned, Error> {
    let Operation { subject, act } = operation;
    match act {
        Act::Change(change) => change.plan(marks.next(), held),
        Act::Check(requirement) => {
            plan::check(subject.model, &subject.table, &subject.key, requirement).map(Planned::without_value)
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

fn check_whole(operations: &[Operation], sizes: &[(usize, usize)]) -> Result<(), Error> {
    let invalid = |why| Err(Error::InvalidTransaction(why));
    let Some((_, largest)) = sizes.iter().copied().max() else { return invalid(InvalidTransaction::Empty) };
    if sizes.len() > MOST_ITEMS {
        return invalid(InvalidTransaction::TooManyItems { items: sizes.len() });
    }
    let bytes = sizes.iter().map(|(bytes, _)| bytes).sum();
    if bytes > LARGEST_TRANSACTION {
        let table = Arc::clone(&operations[largest].subject.table);
        return invalid(InvalidTransaction::TooLarge { bytes, largest, table });
    }
    Ok(())
}

//! Which write a change needs: its text, its condition, and the revision that it makes. Pure.

use std::{borrow::Cow, sync::Arc};

use super::{
    key::{checked_key, key_beside},
    update::update as update_text,
};
use crate::{
    codec::{Basis, Changes, Content, Item, State, encode},
    error::Error,
    expression::{Placeholders, absent, exists, operators, same_attributes, unchanged},
    key::Key,
    lease::clause::{HolderProof, LeaseClause},
    model::{Model, Versioned},
    operation::{Action, Write},
    version::{Incarnation, Repeats, Revision, Ring, WRITES, WriteId},
};

/// What an attempt of a logical write is marked with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteStamp {
    /// The id of the logical write.
    pub(crate) id: WriteId,
    /// The incarnation of an item that begins with this attempt.
    pub(crate) incarnation: Incarnation,
    pub(crate) repeats: Repeats,
}

/// The marks of one logical write: the same id, and another incarnation for each attempt. A late copy of a create may be applied
/// after the item was deleted, and begins another life then, which nobody must take for the former one.
#[derive(Debug)]
pub(crate) struct WriteStamps {
    pub(crate) id: WriteId,
    pub(crate) rng: fastrand::Rng,
    pub(crate) repeats: Repeats,
}

impl WriteStamps {
    pub(crate) fn next(&mut self) -> WriteStamp {
        WriteStamp { id: self.id, incarnation: Incarnation::draw(&mut self.rng), repeats: self.repeats }
    }
}

/// A write, and what the next write of the item rests on.
pub(crate) struct Plan {
    pub(crate) write: Write,
    pub(crate) next: Basis,
}

/// A put of a whole item where there is none.
pub(crate) fn create<T: Versioned>(
    table: &Arc<str>,
    value: &T,
    stamp: WriteStamp,
    clause: &LeaseClause,
) -> Result<Plan, Error> {
    let ring = Ring::new(stamp.incarnation).push(stamp.id, T::MODEL.write_ids);
    let next = Revision { version: Some(1), ring: Some(ring) };
    let mut placeholders = Placeholders::default();
    let condition = absent(T::MODEL, &mut placeholders);
    put(table, value, next, condition, placeholders, clause)
}

/// A put of a whole item over the one that was read: attributes that the value does not have are gone after it.
pub(crate) fn replace<T: Versioned>(
    table: &Arc<str>,
    value: &T,
    basis: &Basis,
    stamp: WriteStamp,
    clause: &LeaseClause,
) -> Result<Plan, Error> {
    let next = next(T::MODEL, table, &basis.state.revision, stamp)?;
    let mut placeholders = Placeholders::default();
    let flattened = basis.names_in_flattened(value);
    let condition = unchanged(T::MODEL, &basis.state, flattened.iter().map(String::as_str), &mut placeholders);
    put(table, value, next, condition, placeholders, clause)
}

/// A put of `content` over the item, where an expression for the update would be too long. `stored` is the item as it was read. The put
/// keeps the lease attributes that the content has from there, changes them as the write asks, and is refused if the item's differ from
/// those of `stored`.
pub(crate) fn put_over<T: Versioned>(
    table: &Arc<str>,
    key: &Key,
    basis: &Basis,
    stored: &Item,
    mut content: Item,
    stamp: WriteStamp,
    clause: &LeaseClause,
) -> Result<Plan, Error> {
    let next = next(T::MODEL, table, &basis.state.revision, stamp)?;
    let left = Content::of(T::MODEL, &content);
    next.write_into(T::MODEL.version, &mut content);
    clause.apply(T::MODEL, &mut content);
    let mut placeholders = Placeholders::default();
    let mut condition = unchanged(T::MODEL, &basis.state, None, &mut placeholders);
    if let Some(lock) = T::MODEL.lock_in_item() {
        condition = with(condition, Some(same_attributes(lock.names(), stored, &mut placeholders)));
        condition = with(condition, clause.condition(T::MODEL, &mut placeholders));
    }
    let beside = beside(T::MODEL, table, key, clause)?;
    let key = checked_key(T::MODEL, table, key)?;
    let write = Write { beside, ..write(table, key, Action::Put(content), Some(condition), placeholders) };
    check_size(&write)?;
    Ok(Plan { write, next: Basis::written(next, left) })
}

/// An item with the lease attributes of the stored one.
pub(crate) fn with_lease(mut item: Item, model: &Model, stored: &Item) -> Item {
    let names = model.lock_in_item().map(|lock| lock.names());
    let is_lease = |name: &str| names.is_some_and(|names| names.contains(&name));
    let lease = stored.iter().filter(|(name, _)| is_lease(name));
    item.extend(lease.map(|(name, value)| (name.clone(), value.clone())));
    item
}

/// An update of the attributes that changed.
pub(crate) fn update<T: Versioned>(
    table: &Arc<str>,
    value: &T,
    basis: &Basis,
    changes: Changes,
    stamp: WriteStamp,
    clause: &LeaseClause,
) -> Result<Plan, Error> {
    let value_key = value.key();
    let key = checked_key(T::MODEL, table, &value_key)?;
    let next = next(T::MODEL, table, &basis.state.revision, stamp)?;
    let mut placeholders = Placeholders::default();
    let aliases = changes.names().flat_map(|name| T::MODEL.aliases_of(name)).copied();
    let flattened = basis.names_in_flattened(value);
    let written = changes.names().chain(aliases).chain(flattened.iter().map(String::as_str));
    let condition = unchanged(T::MODEL, &basis.state, written, &mut placeholders);
    let condition = with(condition, clause.condition(T::MODEL, &mut placeholders));
    let left = basis.content_after(T::MODEL, &changes);
    let action = Action::Update(update_text(T::MODEL, changes, &next, clause, &mut placeholders));
    let beside = beside(T::MODEL, table, &value_key, clause)?;
    let write = Write { beside, ..write(table, key, action, Some(condition), placeholders) };
    check_size(&write)?;
    Ok(Plan { write, next: Basis::written(next, left) })
}

/// As [`replace`], of an item that keeps its own lease: a put would bring an old fence back, so all of it is updated, and the attributes of
/// the stored item that the value does not have are removed.
pub(crate) fn overwrite<T: Versioned>(
    table: &Arc<str>,
    value: &T,
    basis: &Basis,
    stored: &Item,
    stamp: WriteStamp,
    clause: &LeaseClause,
) -> Result<Plan, Error> {
    let mut set = encode(table, value)?;
    let left = Content::of(T::MODEL, &set);
    set.retain(|name, _| !T::MODEL.is_key(name));
    let is_kept = |name: &str| {
        let lease = T::MODEL.lock.is_some_and(|lock| lock.names().contains(&name));
        lease || T::MODEL.is_key(name) || name == T::MODEL.version || name == WRITES || set.contains_key(name)
    };
    let remove = stored.keys().filter(|name| !is_kept(name)).map(|name| Cow::Owned(name.clone())).collect();
    let set = set.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect();
    let Plan { write, next } = update(table, value, basis, Changes { set, remove }, stamp, clause)?;
    Ok(Plan { write, next: Basis::written(next.state.revision, left) })
}

/// Whether the stored item keeps attributes that the type does not know, and that the value did not have when it was read. Another program
/// may change them between a read and a put, and no condition would notice.
pub(crate) fn keeps_foreign(model: &Model, basis: &Basis, stored: &Item, changes: &Changes) -> bool {
    let lease = model.lock.map(|lock| lock.names());
    let is_known = |name: &str| {
        model.attributes.contains(&name)
            || model.is_key(name)
            || name == model.version
            || name == WRITES
            || lease.is_some_and(|names| names.contains(&name))
            || changes.names().any(|changed| changed == name)
    };
    stored.keys().any(|name| !is_known(name) && !basis.had(name))
}

/// A delete of the item that was read.
pub(crate) fn delete<T: Versioned>(
    table: &Arc<str>,
    value: &T,
    basis: &Basis,
    clause: &LeaseClause,
) -> Result<Write, Error> {
    let value_key = value.key();
    let key = checked_key(T::MODEL, table, &value_key)?;
    let mut placeholders = Placeholders::default();
    let flattened = basis.names_in_flattened(value);
    let condition = unchanged(T::MODEL, &basis.state, flattened.iter().map(String::as_str), &mut placeholders);
    let condition = with(condition, clause.condition(T::MODEL, &mut placeholders));
    let beside = beside(T::MODEL, table, &value_key, clause)?;
    let write = Write { beside, ..write(table, key, Action::Delete, Some(condition), placeholders) };
    check_size(&write)?;
    Ok(write)
}

/// A delete of whatever is under the key.
pub(crate) fn delete_unchecked(model: &'static Model, table: &Arc<str>, key: &Key) -> Result<Write, Error> {
    let key = checked_key(model, table, key)?;
    Ok(write(table, key, Action::Delete, None, Placeholders::default()))
}

/// What a check asks of an item.
pub(crate) enum Requirement {
    /// It is in this state.
    Unchanged(State),
    /// There is one.
    Exists,
    /// There is none.
    Absent,
    /// It is leased by this holder.
    Guard(HolderProof),
    /// The user's own condition.
    Holds(Holds),
}

/// A condition of the user's own, which has forgotten the type of its item: what makes its text for a table.
pub(crate) type Holds = Box<dyn Fn(&Arc<str>, &mut Placeholders) -> Result<String, Error> + Send + Sync>;

/// A check of an item that a transaction does not write.
pub(crate) fn check(
    model: &'static Model,
    table: &Arc<str>,
    key: &Key,
    requirement: &Requirement,
) -> Result<Write, Error> {
    let key = match requirement {
        Requirement::Guard(_) if model.lock_beside().is_some() => key_beside(model, table, key)?,
        _ => checked_key(model, table, key)?,
    };
    let mut check = write(table, key, Action::Check, None, Placeholders::default());
    require(&mut check, model, requirement)?;
    Ok(check)
}

/// Makes a write, or a check, ask for more of the same item.
pub(crate) fn require(write: &mut Write, model: &'static Model, requirement: &Requirement) -> Result<(), Error> {
    let mut placeholders = write.placeholders();
    let condition = match requirement {
        Requirement::Unchanged(state) => unchanged(model, state, None, &mut placeholders),
        Requirement::Exists => exists(model, &mut placeholders),
        Requirement::Absent => absent(model, &mut placeholders),
        Requirement::Guard(holder) => {
            let clause = LeaseClause::Holder(holder.clone());
            let held = clause.condition(model, &mut placeholders);
            let held = held.or_else(|| clause.condition_beside(model, &mut placeholders));
            // A guard is given by a lease, so its type has one.
            held.unwrap_or_else(|| exists(model, &mut placeholders))
        }
        Requirement::Holds(holds) => holds(&write.table, &mut placeholders)?,
    };
    let (names, values) = placeholders.finish();
    write.require(&condition, names, values);
    check_size(write)
}

/// Refuses a write whose expressions are longer than DynamoDB takes.
///
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>
fn check_size(write: &Write) -> Result<(), Error> {
    const MOST_BYTES: usize = 4096;
    const MOST_OPERATORS: usize = 300;
    let too_long = |bytes, remedy| Err(Error::ExpressionTooLong { table: Arc::clone(&write.table), bytes, remedy });
    if let Action::Update(text) = &write.action
        && text.len() > MOST_BYTES
    {
        return too_long(text.len(), UPDATE_REMEDY);
    }
    match &write.condition {
        // A short text cannot have so many operators, and is not counted.
        Some(text)
            if text.len() > MOST_BYTES || (text.len() > 2 * MOST_OPERATORS && operators(text) > MOST_OPERATORS) =>
        {
            too_long(text.len(), CONDITION_REMEDY)
        }
        Some(_) | None => Ok(()),
    }
}

const UPDATE_REMEDY: &str = "it changes too many attributes at once: change fewer, keep them in one map attribute, or use \
                             `Repository::update`, which can put the whole item if it has a version and `_writes`";
const CONDITION_REMEDY: &str = "its condition is too long: an item without a version or without `_writes` is compared as a whole, so give it both \
                                with the SDK (the version a number, `_writes` eight random bytes) and read it again; or ask for less in \
                                conditions of your own";

/// What happens beside a write, in the row that the lease of its item is kept in: the lease is asked for there, and renewed, ended or
/// taken away. Nothing where it is in the item itself, or ignored.
fn beside(
    model: &'static Model,
    table: &Arc<str>,
    key: &Key,
    clause: &LeaseClause,
) -> Result<Option<Box<Write>>, Error> {
    let mut to = Placeholders::default();
    let Some(condition) = clause.condition_beside(model, &mut to) else { return Ok(None) };
    let action = clause.update_beside(model, &mut to).map_or(Action::Check, Action::Update);
    Ok(Some(Box::new(write(table, key_beside(model, table, key)?, action, Some(condition), to))))
}

/// A condition, and another one beside it.
fn with(condition: String, other: Option<String>) -> String {
    match other {
        Some(other) => format!("{condition} AND {other}"),
        None => condition,
    }
}

fn next(model: &Model, table: &Arc<str>, revision: &Revision, stamp: WriteStamp) -> Result<Revision, Error> {
    let next = revision.next(stamp.id, stamp.incarnation, model.write_ids);
    next.ok_or_else(|| Error::VersionExhausted { table: Arc::clone(table) })
}

fn put<T: Versioned>(
    table: &Arc<str>,
    value: &T,
    next: Revision,
    condition: String,
    placeholders: Placeholders,
    clause: &LeaseClause,
) -> Result<Plan, Error> {
    let value_key = value.key();
    let key = checked_key(T::MODEL, table, &value_key)?;
    let beside = beside(T::MODEL, table, &value_key, clause)?;
    let mut item = encode(table, value)?;
    for attribute in T::MODEL.key_attributes() {
        if item.get(attribute.name) != key.get(attribute.name) {
            let reason = "serde writes another value than its `KeyAttribute` says";
            return Err(Error::InvalidKey { table: Arc::clone(table), attribute: attribute.name, reason });
        }
    }
    let left = Content::of(T::MODEL, &item);
    next.write_into(T::MODEL.version, &mut item);
    let write = Write { beside, ..write(table, key, Action::Put(item), Some(condition), placeholders) };
    check_size(&write)?;
    Ok(Plan { write, next: Basis::written(next, left) })
}

fn write(table: &Arc<str>, key: Item, action: Action, condition: Option<String>, placeholders: Placeholders) -> Write {
    let (names, values) = placeholders.finish();
    Write { table: Arc::clone(table), key, action, condition, names, values, beside: None }
}

//! Patches: changes of an item that the caller has not read.
//!
//! A patch increments the stored version and requires no particular version, so a patch does not
//! conflict with other writers. Without a read of the item, a patch cannot add its write id to
//! `_writes`. A patch stores its write id in the first of the attributes [`PATCHES`], and moves the
//! older patch ids to the next attributes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use super::{
    intent::{Adapted, Intent, OperationOutput, OwnedIntent, Target},
    key::checked_key,
    plan::Plan,
    stamp::WriteStamp,
};
use crate::{
    codec::{Basis, ExpiredTimes, Item, State, corrupt, updated_at},
    error::{Conflict, Error, Spent},
    expression::{Joined, PatchContent, PatchFault, PatchTexts, Placeholders, lives},
    key::Key,
    lease::{
        LeasePolicy,
        clause::{LeaseClause, LeaseUpdate},
    },
    model::{ItemExpiry, Model, Versioned},
    operation::{Action, Write},
    version::{Expected, PATCHES, WRITES, version_in},
};

/// The caller's builder and the operation of the transaction share one `SharedPatch`.
pub(crate) struct SharedPatch<T>(Arc<Mutex<PatchContent<T>>>);

pub(crate) struct PatchIntent<T> {
    pub(crate) table: Arc<str>,
    pub(crate) key: Key,
    pub(crate) content: SharedPatch<T>,
    pub(crate) policy: LeasePolicy,
    /// The time of the patch in epoch milliseconds, the same for all attempts of the patch.
    pub(crate) at: u64,
    pub(crate) expiry: ItemExpiry,
    pub(crate) seen: SeenItem,
}

/// The properties of the stored item that change the update expression of the patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SeenItem {
    /// The indexes of the patch's changes whose attributes are null in the stored item.
    nulls: Vec<usize>,
    /// `true` if the item has write ids but no version. A program that does not use dynalock may
    /// have removed the version of an item. The patch then writes a new incarnation (the random id
    /// that distinguishes an item from its predecessors).
    has_stray_ids: bool,
}

impl<T> SharedPatch<T> {
    pub(crate) fn change(&self, change: impl FnOnce(&mut PatchContent<T>)) {
        change(&mut self.lock());
    }

    pub(crate) fn check(&self, table: &Arc<str>) -> Result<(), Error> {
        self.lock().check(table)
    }

    fn lock(&self) -> MutexGuard<'_, PatchContent<T>> {
        // A panic cannot leave a change half-made, so the content of a poisoned mutex is valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Versioned> PatchIntent<T> {
    /// Returns the item that made the condition of the patch false. Returns `None` if the key had
    /// no item or the item has expired.
    pub(crate) fn alive(&self, met: Option<Item>) -> Option<Item> {
        if self.asks_for_life() { self.expiry.alive(T::MODEL, met) } else { met }
    }

    /// Returns `true` if the patch requires that the item has not expired. The lease holder may
    /// change even an expired item.
    fn asks_for_life(&self) -> bool {
        !matches!(self.policy, LeasePolicy::Holder { .. })
    }

    pub(crate) fn has_condition(&self) -> bool {
        self.content.lock().condition().is_some()
    }

    pub(crate) fn refused_by(&self, item: &Item, spent: Spent) -> Option<Error> {
        let content = self.content.lock();
        let table = || Arc::clone(&self.table);
        // The caller's condition takes precedence over the conditions of the library.
        if content.condition().is_some_and(|condition| !condition.is_true(Some(item))) {
            let conflict = Conflict::new(self.item_ref(), Some(item.clone()), spent);
            return Some(Error::ConditionFailed(conflict));
        }
        match (item.get(T::MODEL.version), version_in(item, T::MODEL.version)) {
            (Some(_), None) => {
                let (attribute, reason) = (T::MODEL.version, "it is not a whole number from 0 to 18446744073709551615");
                return Some(corrupt(T::MODEL, &self.table, item, attribute, reason));
            }
            (_, Some(u64::MAX)) => return Some(Error::VersionExhausted { table: table() }),
            (None | Some(_), _) => {}
        }
        content.fault(item).map(|(attribute, fault)| self.fault(attribute, fault, spent))
    }

    pub(crate) fn apply(&self, mut item: Item, spent: Spent) -> Result<Item, Error> {
        if let Some(error) = self.refused_by(&item, spent.clone()) {
            return Err(error);
        }
        let applied = self.content.lock().apply(&mut item);
        applied.map_err(|(attribute, fault)| self.fault(attribute, fault, spent))?;
        Ok(item)
    }

    fn fault(&self, attribute: String, fault: PatchFault, spent: Spent) -> Error {
        let table = Arc::clone(&self.table);
        match fault {
            PatchFault::OutOfRange => Error::OutOfRange { table, attribute, spent },
            PatchFault::Unfit(reason) => Error::Unpatchable { table, attribute, reason, spent },
        }
    }

    fn own_condition(&self, to: &mut Placeholders) -> String {
        let model = T::MODEL;
        let key = to.name(model.partition_key.name);
        let (version, writes) = (to.name(model.version), to.name(WRITES));
        // The patch of an item with stray ids writes a new incarnation (a random id in `_writes`),
        // so the item must still have write ids and no version.
        let condition = if self.seen.has_stray_ids {
            format!("attribute_exists({key}) AND attribute_not_exists({version}) AND attribute_exists({writes})")
        } else {
            // The version after the patch must fit into a `u64`.
            let (least, most) = (to.value(number(0)), to.value(number(u64::MAX - 1)));
            format!(
                "attribute_exists({key}) AND ({version} BETWEEN {least} AND {most} \
                 OR attribute_not_exists({version}) AND attribute_not_exists({writes}))"
            )
        };
        let Some(expires) = T::MODEL.times.expires.filter(|_| self.asks_for_life()) else { return condition };
        let ExpiredTimes { first, last } = self.expiry.times();
        format!("{condition} AND {}", lives(expires.name, [first, last], to))
    }

    fn text(&self, stamp: WriteStamp, texts: PatchTexts, lease: LeaseUpdate, to: &mut Placeholders) -> String {
        let mut set = Joined::new("SET ", ",");
        let (version, writes) = (to.name(T::MODEL.version), to.name(WRITES));
        let (zero, one) = (to.value(number(0)), to.value(number(1)));
        set.push(format_args!("{version}=if_not_exists({version},{zero})+{one}"));
        let incarnation = to.value(AttributeValue::B(Blob::new(stamp.incarnation.as_bytes())));
        match self.seen.has_stray_ids {
            true => set.assign(writes, incarnation),
            false => set.push(format_args!("{writes}=if_not_exists({writes},{incarnation})")),
        }
        // DynamoDB evaluates the right side of each assignment with the values from before the
        // update. One update can therefore move each write id to the next of the attributes `_p0`
        // to `_p7`.
        let (id, none) = (to.value(stamp.id.to_attribute()), to.value(AttributeValue::B(Blob::new([]))));
        let mut before = to.name(PATCHES[0]);
        set.assign(before, id);
        for name in &PATCHES[1..] {
            let name = to.name(name);
            set.push(format_args!("{name}=if_not_exists({before},{none})"));
            before = name;
        }
        if let Some((name, time)) = updated_at(T::MODEL, self.at) {
            set.assign(to.name(name), to.value(time));
        }
        for (name, value) in lease.set {
            set.assign(name, value);
        }
        for term in texts.set {
            set.push(format_args!("{term}"));
        }
        let mut remove = texts.remove;
        remove.extend(lease.remove.iter().map(ToString::to_string));
        remove.extend(lease.leave.map(|queue| format!("{queue}[0]")));
        // DynamoDB refuses an update expression with two ADD, DELETE or REMOVE clauses, or with an
        // empty clause.
        let clauses = [("ADD", texts.add), ("DELETE", texts.delete), ("REMOVE", remove)];
        let clauses = clauses.into_iter().filter(|(_, terms)| !terms.is_empty());
        clauses.fold(set.finish(), |text, (clause, terms)| format!("{text} {clause} {}", terms.join(",")))
    }
}

/// Returns the condition that the item does not contain the write id of the patch. With this
/// condition, DynamoDB refuses a duplicate of the patch, unless eight later patches have removed
/// the write id from the item.
fn absent_from_register(stamp: WriteStamp, to: &mut Placeholders) -> String {
    let id = to.value(stamp.id.to_attribute());
    let mut terms = Joined::new("", " AND ");
    for name in PATCHES {
        terms.push(format_args!("{}<>{id}", to.name(name)));
    }
    terms.finish()
}

fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

impl<T: Versioned> Intent for PatchIntent<T> {
    fn target(&self) -> Target<'_> {
        Target {
            table: &self.table,
            model: T::MODEL,
            expected: Expected::Present,
            policy: &self.policy,
            expiry: self.expiry,
        }
    }

    fn key(&self) -> Key {
        self.key.clone()
    }

    fn plan(&self, stamp: WriteStamp, clause: &LeaseClause) -> Result<Plan, Error> {
        let model: &'static Model = T::MODEL;
        let content = self.content.lock();
        content.check(&self.table)?;
        let key_item = checked_key(model, &self.table, &self.key)?;
        let mut to = Placeholders::default();
        let own = self.own_condition(&mut to);
        let absent = absent_from_register(stamp, &mut to);
        let held = clause.condition(model, &mut to);
        let mut texts = content.render(&self.seen.nulls, &self.table, &mut to)?;
        let conditions = std::mem::take(&mut texts.conditions);
        let condition = [own, absent].into_iter().chain(held).chain(conditions).collect::<Vec<_>>().join(" AND ");
        let lease = clause.effect(model, &mut to);
        let action = Action::Patch(self.text(stamp, texts, lease, &mut to));
        let write = Write::new(&self.table, key_item, action, Some(condition), to);
        Ok(Plan { changed_bytes: content.size(), ..Plan::new(model, &self.key, write, clause)? })
    }
}

impl<T: Versioned> OwnedIntent for PatchIntent<T> {
    fn state(&self) -> Option<&State> {
        None
    }

    fn adapt(&mut self, stored: Option<&Item>) -> Result<Adapted, Error> {
        let Some(item) = stored else { return Ok(Adapted::No) };
        let has_stray_ids = !item.contains_key(T::MODEL.version) && item.contains_key(WRITES);
        let seen = SeenItem { nulls: self.content.lock().nulls(item), has_stray_ids };
        let adapted = Adapted::if_changed(seen != self.seen);
        self.seen = seen;
        Ok(adapted)
    }

    fn into_output(self: Box<Self>, _: Option<Basis>) -> OperationOutput {
        Box::new(())
    }
}

impl<T> Default for SharedPatch<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for SharedPatch<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

debug_fields!([T] SharedPatch<T>);

//! Changes of an item for which the caller passes a value: a create, an update, a replace or a
//! delete.

use std::{borrow::Cow, sync::Arc};

use aws_sdk_dynamodb::types::AttributeValue;

use super::{Adapted, Intent, OperationOutput, OwnedIntent, Target};
use crate::{
    codec::{
        Basis, Changes, Etag, Item, State, Stored, UserAttributes, decode, encode, expired_state_of, is_same_key_value,
        times_of_create, updated_at,
    },
    error::Error,
    expression::{Condition, Placeholders, absent, unchanged},
    key::Key,
    lease::{LeasePolicy, clause::LeaseClause},
    model::{ItemExpiry, KeptTimes, Model, Versioned},
    operation::{Action, Write},
    version::{Expected, PATCHES, Revision, Ring, WRITES, revision_in},
    write::{
        check::{Requirement, check},
        key::checked_key,
        plan::{Plan, check_size},
        stamp::WriteStamp,
        update::update as update_text,
    },
};

pub(crate) struct IntentOf<T> {
    pub(crate) table: Arc<str>,
    pub(crate) value: T,
    pub(crate) change: ItemChange,
    pub(crate) policy: LeasePolicy,
    /// The caller's condition on a single write, always `None` in a
    /// [`Transaction`](crate::Transaction).
    pub(crate) condition: Option<Arc<Condition<T>>>,
    /// The time of the write in epoch milliseconds, the same for all attempts of the write.
    pub(crate) at: u64,
    pub(crate) expiry: ItemExpiry,
}

pub(crate) enum ItemChange {
    Create,
    /// Sets the changed attributes. In a transaction, an update without changed attributes only
    /// checks the item.
    Update(Basis),
    /// Sets the changed attributes, and increments the version even if no attribute changed.
    Touch(Basis),
    /// Sets all attributes of the value, and removes all attributes that the value does not
    /// contain.
    Replace(Basis),
    /// Replaces the content of the stored item, and keeps the lease attributes of the item. The
    /// [`Item`] is the whole stored item, because a [`Basis`] does not contain all attributes.
    Overwrite(Basis, Item),
    /// Creates an item over an expired item, with a new incarnation (a random id that distinguishes
    /// the new item). The write keeps the lease attributes of the expired item. The [`Item`] is the
    /// expired item.
    Recreate(Basis, Item),
    Delete(Basis),
}

pub(crate) struct WholeItem {
    pub(crate) key: Item,
    pub(crate) item: Item,
    pub(crate) next: Basis,
}

impl ItemChange {
    /// Makes the change that creates an item over an expired item. The library does not decode the
    /// expired item, because the create must succeed even if decoding fails.
    pub(crate) fn recreate(model: &Model, table: &Arc<str>, expired: Item) -> Result<Self, Error> {
        let state = expired_state_of(model, table, &expired)?;
        Ok(Self::Recreate(Basis::of_other_content(model, state), expired))
    }

    fn basis(&self) -> Option<&Basis> {
        match self {
            Self::Create => None,
            Self::Update(basis)
            | Self::Touch(basis)
            | Self::Replace(basis)
            | Self::Overwrite(basis, _)
            | Self::Recreate(basis, _)
            | Self::Delete(basis) => Some(basis),
        }
    }
}

impl<T: Versioned> IntentOf<T> {
    pub(crate) fn into_stored(self, next: Option<Basis>) -> Stored<T> {
        // `next` is `None` only for a delete, and the library makes no `Stored` for a delete.
        let nothing =
            || Basis::written(Revision::default(), UserAttributes::of(T::MODEL, &Item::new()), KeptTimes::default());
        Stored::unchanged(self.value, next.unwrap_or_else(nothing))
    }

    pub(crate) fn is_tracked(&self) -> bool {
        self.change.basis().is_some_and(|basis| basis.state.revision.is_tracked())
    }

    pub(crate) fn rests_on(&self, item: &Item) -> bool {
        self.change.basis().is_some_and(|basis| revision_in(item, T::MODEL.version) == basis.state.revision)
    }

    /// Returns `true` if the stored item has an attribute that belongs neither to a field of `T`
    /// nor to a flattened field of the caller's value. The condition of a PutItem does not compare
    /// attributes without a field in `T`, so a PutItem could undo another program's changes of
    /// these attributes.
    pub(crate) fn keeps_foreign(&self, stored: &Item, changes: &Changes) -> bool {
        let is_known = |name: &str| {
            T::MODEL.attributes.contains(&name)
                || is_bookkeeping(T::MODEL, name)
                // The derive does not know the attributes of a flattened field. A changed attribute
                // that the type does not name comes from a flattened field.
                || changes.names().any(|changed| changed == name)
        };
        let had = |name: &str| self.change.basis().is_some_and(|basis| basis.had(name));
        stored.keys().any(|name| !is_known(name) && !had(name))
    }

    pub(crate) fn changes(&self) -> Result<Changes, Error> {
        match &self.change {
            ItemChange::Overwrite(_, stored) | ItemChange::Recreate(_, stored) => self.overwrite(stored),
            change => {
                change.basis().map_or_else(|| Ok(Changes::default()), |basis| basis.changes(&self.table, &self.value))
            }
        }
    }

    pub(crate) fn plan_changes(
        &self,
        mut changes: Changes,
        stamp: WriteStamp,
        clause: &LeaseClause,
    ) -> Result<Plan, Error> {
        changes.set.extend(self.changed_times());
        let key = self.value.key();
        let key_item = checked_key(T::MODEL, &self.table, &key)?;
        let next = self.next(stamp)?;
        let mut to = Placeholders::default();
        // The update also removes attributes that are stored under a serde alias of a changed
        // field, so the condition must compare the aliases.
        let aliases = changes.names().flat_map(|name| T::MODEL.aliases_of(name)).copied();
        let flattened = self.names_in_flattened();
        let written = changes.names().chain(aliases).chain(flattened.iter().map(String::as_str));
        let condition = self.unchanged(written, &mut to);
        let condition = and(condition, clause.condition(T::MODEL, &mut to));
        let condition = and(condition, self.asked(&mut to)?);
        // `update_text` consumes the changes.
        let content = self.content_after(&changes)?;
        let action = Action::Update(update_text(T::MODEL, changes, &next, clause, &mut to));
        let write = Write::new(&self.table, key_item, action, Some(condition), to);
        Ok(Plan::new(T::MODEL, &key, write, clause)?.leaving(Basis::written(next, content, self.times())))
    }

    pub(super) fn times(&self) -> KeptTimes {
        match (&self.change, self.change.basis()) {
            (ItemChange::Recreate(..), _) | (_, None) => times_of_create(T::MODEL, self.at),
            (_, Some(basis)) => basis.times.after(T::MODEL, self.at),
        }
    }

    fn changed_times(&self) -> Vec<(Cow<'static, str>, AttributeValue)> {
        let named = |(name, value)| (Cow::Borrowed(name), value);
        match &self.change {
            // The expired item contains the time of an earlier create, so the write also sets the
            // time of the new create.
            ItemChange::Recreate(..) => self.times().attributes(T::MODEL).map(named).collect(),
            _ => updated_at(T::MODEL, self.at).into_iter().map(named).collect(),
        }
    }

    /// After an overwrite, the item contains exactly the attributes that serde writes for the
    /// value.
    fn content_after(&self, changes: &Changes) -> Result<UserAttributes, Error> {
        let overwrites = matches!(self.change, ItemChange::Overwrite(..) | ItemChange::Recreate(..));
        match self.change.basis() {
            Some(basis) if !(overwrites && T::MODEL.flattens) => Ok(basis.content_after(T::MODEL, changes)),
            _ => Ok(UserAttributes::of(T::MODEL, &encode(&self.table, &self.value)?)),
        }
    }

    /// Plans a PutItem of the whole value. The stored item must not contain a lease, because the
    /// PutItem would remove the lease.
    fn plan_put(&self, stamp: WriteStamp, clause: &LeaseClause) -> Result<Plan, Error> {
        let WholeItem { key, item, next } = self.whole_item(stamp)?;
        let mut to = Placeholders::default();
        let condition = self.unchanged(self.names_in_flattened().iter().map(String::as_str), &mut to);
        let condition = and(condition, self.asked(&mut to)?);
        let write = Write::new(&self.table, key, Action::Put(item), Some(condition), to);
        Ok(Plan::new(T::MODEL, &self.value.key(), write, clause)?.leaving(next))
    }

    pub(crate) fn whole_item(&self, stamp: WriteStamp) -> Result<WholeItem, Error> {
        let next = self.next(stamp)?;
        let key = checked_key(T::MODEL, &self.table, &self.value.key())?;
        let mut item = encode(&self.table, &self.value)?;
        for attribute in T::MODEL.key_attributes() {
            // A hand-written `KeyAttribute` may return another value than `Serialize` writes.
            // DynamoDB would store the item under the key from `Serialize`, but the library would
            // read the item under the key from `KeyAttribute`. Two notations of a number, for
            // example `0.1` and `1e-1`, are the same key.
            if !is_same_key_value(item.get(attribute.name), key.get(attribute.name)) {
                let reason = "serde writes another value than its `KeyAttribute` says";
                return Err(Error::InvalidKey { table: Arc::clone(&self.table), attribute: attribute.name, reason });
            }
        }
        let times = self.times();
        times.write_into(T::MODEL, &mut item);
        // The version and the write ids are not part of the content.
        let content = UserAttributes::of(T::MODEL, &item);
        next.write_into(T::MODEL.version, &mut item);
        Ok(WholeItem { key, item, next: Basis::written(next, content, times) })
    }

    /// Returns the changes that write all attributes of the value, and remove each stored attribute
    /// that the value does not contain.
    fn overwrite(&self, stored: &Item) -> Result<Changes, Error> {
        let mut set = encode(&self.table, &self.value)?;
        // DynamoDB refuses an update of a key attribute.
        set.retain(|name, _| !T::MODEL.is_key(name));
        let is_kept = |name: &str| is_bookkeeping(T::MODEL, name) || set.contains_key(name);
        let remove = stored.keys().filter(|name| !is_kept(name)).map(|name| Cow::Owned(name.clone())).collect();
        let set = set.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect();
        Ok(Changes { set, remove })
    }

    fn plan_delete(&self, clause: &LeaseClause) -> Result<Plan, Error> {
        let key = self.value.key();
        let key_item = checked_key(T::MODEL, &self.table, &key)?;
        let mut to = Placeholders::default();
        let condition = self.unchanged(self.names_in_flattened().iter().map(String::as_str), &mut to);
        let condition = and(condition, clause.condition(T::MODEL, &mut to));
        let condition = and(condition, self.asked(&mut to)?);
        let write = Write::new(&self.table, key_item, Action::Delete, Some(condition), to);
        Plan::new(T::MODEL, &key, write, clause)
    }

    pub(super) fn unchanged<'n>(&'n self, written: impl IntoIterator<Item = &'n str>, to: &mut Placeholders) -> String {
        match self.change.basis() {
            Some(basis) => unchanged(T::MODEL, &basis.state, written, to),
            None => absent(T::MODEL, to),
        }
    }

    pub(super) fn asked(&self, to: &mut Placeholders) -> Result<Option<String>, Error> {
        self.condition.as_ref().map(|condition| condition.render(&self.table, to)).transpose()
    }

    fn names_in_flattened(&self) -> Vec<String> {
        self.change.basis().map(|basis| basis.names_in_flattened(&self.value)).unwrap_or_default()
    }

    pub(super) fn next(&self, stamp: WriteStamp) -> Result<Revision, Error> {
        let next = match (&self.change, self.change.basis()) {
            (ItemChange::Recreate(..), _) | (_, None) => {
                let ring = Ring::new(stamp.incarnation).push(stamp.id, self.at, T::MODEL.write_ids);
                Some(Revision { version: Some(1), ring: Some(ring) })
            }
            (_, Some(basis)) => basis.state.revision.next(stamp.id, stamp.incarnation, self.at, T::MODEL.write_ids),
        };
        next.ok_or_else(|| Error::VersionExhausted { table: Arc::clone(&self.table) })
    }
}

impl<T: Versioned> Intent for IntentOf<T> {
    fn target(&self) -> Target<'_> {
        let expected = match (&self.change, self.change.basis()) {
            (_, None) => Expected::Absent,
            // A missing item may prove that DynamoDB has applied a delete. A missing item never
            // proves that DynamoDB has applied an update.
            (ItemChange::Delete(_), Some(basis)) => Expected::Deleted(&basis.state.revision),
            (_, Some(basis)) => Expected::Unchanged(&basis.state.revision),
        };
        Target { table: &self.table, model: T::MODEL, expected, policy: &self.policy, expiry: self.expiry }
    }

    fn key(&self) -> Key {
        self.value.key()
    }

    fn plan(&self, stamp: WriteStamp, clause: &LeaseClause) -> Result<Plan, Error> {
        // An update and a touch compare the keys when they compute the changed attributes. For an
        // overwrite, the library has compared the keys before it read the item.
        if let ItemChange::Replace(basis) | ItemChange::Delete(basis) = &self.change {
            basis.check_key(&self.table, &self.value)?;
        }
        match &self.change {
            ItemChange::Create | ItemChange::Replace(_) => return self.plan_put(stamp, clause),
            // A PutItem over an item that contains a lease could overwrite a newer fence with an
            // older fence.
            ItemChange::Recreate(..) if T::MODEL.lock_in_item().is_none() => return self.plan_put(stamp, clause),
            ItemChange::Delete(_) => return self.plan_delete(clause),
            ItemChange::Update(_) | ItemChange::Touch(_) | ItemChange::Overwrite(..) | ItemChange::Recreate(..) => {}
        }
        let changes = self.changes()?;
        // An update without changes becomes a check, which does not increment the version.
        if let ItemChange::Update(basis) = &self.change
            && changes.is_empty()
        {
            let unchanged = Requirement::Unchanged(basis.state.clone());
            let mut check = check(&self.item_ref(), &unchanged)?;
            let mut to = check.placeholders();
            if let Some(condition) = self.asked(&mut to)? {
                let (names, values) = to.finish();
                check.require(&condition, names, values);
                check_size(&check)?;
            }
            return Ok(Plan::alone(check));
        }
        let times = Changes { set: self.changed_times(), ..Changes::default() };
        let changed_bytes = changes.size() + times.size();
        Ok(Plan { changed_bytes, ..self.plan_changes(changes, stamp, clause)? })
    }

    fn is_refused_for_good(&self, met: Option<&Item>) -> bool {
        let Some((condition, item)) = self.condition.as_ref().zip(met) else { return false };
        self.is_tracked() && self.rests_on(item) && !condition.is_true(Some(item))
    }
}

impl<T: Versioned> OwnedIntent for IntentOf<T> {
    fn state(&self) -> Option<&State> {
        self.change.basis().map(|basis| &basis.state)
    }

    /// Changes the condition of a create for its next attempt. If the key has an expired item, the
    /// next attempt overwrites the item. Otherwise, the next attempt requires that the key has no
    /// item.
    fn adapt(&mut self, stored: Option<&Item>) -> Result<Adapted, Error> {
        let creates = matches!(self.change, ItemChange::Create | ItemChange::Recreate(..));
        if !creates || stored.is_some_and(|item| !self.expiry.is_over(T::MODEL, item)) {
            return Ok(Adapted::No);
        }
        let change = match stored {
            Some(item) => ItemChange::recreate(T::MODEL, &self.table, item.clone())?,
            None => ItemChange::Create,
        };
        // If the refused create already required the state that the item has, DynamoDB refused the
        // create for another cause, for example a lease.
        let state = |change: &ItemChange| change.basis().map(|basis| basis.state.clone());
        let adapted = Adapted::if_changed(state(&change) != state(&self.change));
        self.change = change;
        Ok(adapted)
    }

    fn into_output(self: Box<Self>, next: Option<Basis>) -> OperationOutput {
        match (*self, next) {
            (intent, Some(next)) => Box::new(intent.into_stored(Some(next))),
            (Self { value, change: ItemChange::Update(basis), .. }, None) => Box::new(Stored::unchanged(value, basis)),
            (_, None) => Box::new(()),
        }
    }
}

/// Returns `None` if the item has changed since the caller got the etag.
pub(crate) fn basis_at<T: Versioned>(table: &Arc<str>, item: Item, etag: &Etag) -> Result<Option<Basis>, Error> {
    let (current, mut basis) = decode::<T>(table, item)?;
    // The caller has edited the value outside the library, so the changed attributes are the
    // differences between the value and the stored item.
    basis.remember(&current);
    Ok(basis.state.is_at(etag).then_some(basis))
}

/// Returns `true` if the name belongs to a key attribute or to an attribute of the library, for
/// example `_writes`.
fn is_bookkeeping(model: &Model, name: &str) -> bool {
    let is_lease = model.lock.is_some_and(|lock| lock.names().contains(&name));
    is_lease
        || model.is_key(name)
        || name == model.version
        || name == WRITES
        || PATCHES.contains(&name)
        || model.times.is_kept(name)
}

pub(super) fn and(condition: String, other: Option<String>) -> String {
    match other {
        Some(other) => format!("{condition} AND {other}"),
        None => condition,
    }
}

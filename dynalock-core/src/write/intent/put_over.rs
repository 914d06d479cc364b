//! A PutItem that keeps stored attributes which the caller's value does not contain, for example
//! lease attributes.

use super::{Intent, IntentOf, Target, change::and};
use crate::{
    codec::{Basis, Item, UserAttributes},
    error::Error,
    expression::{Placeholders, same_attributes},
    key::Key,
    lease::clause::LeaseClause,
    model::{Model, Versioned},
    operation::{Action, Write},
    write::{key::checked_key, plan::Plan, stamp::WriteStamp},
};

/// An update or an overwrite as a PutItem of the whole item. The library sends a `PutOver` if the
/// update expression would be too long.
///
/// The PutItem writes the attributes in `content` and the new lease attributes. The condition of
/// the PutItem requires that the stored item still has the lease attributes of `stored`.
pub(crate) struct PutOver<'a, T> {
    pub(crate) intent: &'a IntentOf<T>,
    pub(crate) stored: &'a Item,
    pub(crate) content: Item,
}

impl<T: Versioned> Intent for PutOver<'_, T> {
    fn target(&self) -> Target<'_> {
        self.intent.target()
    }

    fn key(&self) -> Key {
        self.intent.key()
    }

    fn plan(&self, stamp: WriteStamp, clause: &LeaseClause) -> Result<Plan, Error> {
        let IntentOf { table, value, .. } = self.intent;
        let next = self.intent.next(stamp)?;
        let mut content = self.content.clone();
        let times = self.intent.times();
        times.write_into(T::MODEL, &mut content);
        let left = UserAttributes::of(T::MODEL, &content);
        next.write_into(T::MODEL.version, &mut content);
        clause.apply(T::MODEL, &mut content);
        // The PutItem overwrites the lease attributes, so the lease attributes must not have
        // changed since the library read the item.
        let mut to = Placeholders::default();
        let mut condition = self.intent.unchanged(None, &mut to);
        if let Some(lock) = T::MODEL.lock_in_item() {
            condition = and(condition, Some(same_attributes(lock.names(), self.stored, &mut to)));
            condition = and(condition, clause.condition(T::MODEL, &mut to));
        }
        condition = and(condition, self.intent.asked(&mut to)?);
        let key = value.key();
        let key_item = checked_key(T::MODEL, table, &key)?;
        let write = Write::new(table, key_item, Action::Put(content), Some(condition), to);
        Ok(Plan::new(T::MODEL, &key, write, clause)?.leaving(Basis::written(next, left, times)))
    }

    fn is_refused_for_good(&self, met: Option<&Item>) -> bool {
        self.intent.is_refused_for_good(met)
    }
}

pub(crate) fn with_lease(mut item: Item, model: &Model, stored: &Item) -> Item {
    let names = model.lock_in_item().map(|lock| lock.names());
    let is_lease = |name: &str| names.is_some_and(|names| names.contains(&name));
    let lease = stored.iter().filter(|(name, _)| is_lease(name));
    item.extend(lease.map(|(name, value)| (name.clone(), value.clone())));
    item
}

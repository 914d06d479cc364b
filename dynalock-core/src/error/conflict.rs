use std::fmt;

use super::{Spent, shown};
use crate::{
    key::Key,
    model::{Item, ItemRef},
    version::version_in,
};

/// A write that DynamoDB refused because a condition was false, with the item for which the
/// condition was false.
#[derive(Clone)]
pub struct Conflict(Box<ConflictParts>);

#[derive(Clone)]
struct ConflictParts {
    item_ref: ItemRef,
    item: Option<Item>,
    spent: Spent,
}

impl Conflict {
    pub(crate) fn new(item_ref: ItemRef, item: Option<Item>, spent: Spent) -> Self {
        Self(Box::new(ConflictParts { item_ref, item, spent }))
    }

    /// Returns the stored attributes of the item for which the condition of the write was false, or
    /// `None` if the key had no item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(conflict: &dynalock::error::Conflict) {
    /// let stock = conflict.current_item().and_then(|item| item.get("stock"));
    /// # }
    /// ```
    pub fn current_item(&self) -> Option<&Item> {
        self.0.item.as_ref()
    }

    /// Returns the version that the write required, or `None` for a create.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(conflict: &dynalock::error::Conflict) {
    /// println!("read {:?}, found {:?}", conflict.expected(), conflict.found());
    /// # }
    /// ```
    pub fn expected(&self) -> Option<u64> {
        self.0.item_ref.expected
    }

    /// Returns the version of the item for which the condition of the write was false. Returns
    /// `None` if the key had no item, or if the item had no version.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(conflict: &dynalock::error::Conflict) {
    /// let was_deleted = conflict.expected().is_some() && conflict.found().is_none();
    /// # }
    /// ```
    pub fn found(&self) -> Option<u64> {
        self.0.item.as_ref().and_then(|item| version_in(item, self.0.item_ref.model.version))
    }

    /// Returns the name of the table in the refused write.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(conflict: &dynalock::error::Conflict) {
    /// println!("a conflict in the table {}", conflict.table());
    /// # }
    /// ```
    pub fn table(&self) -> &str {
        &self.0.item_ref.table
    }

    /// Returns the key of the item in the refused write.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(conflict: &dynalock::error::Conflict) {
    /// // The key can be user data.
    /// println!("a conflict at the key {}", conflict.key());
    /// # }
    /// ```
    pub fn key(&self) -> &Key {
        &self.0.item_ref.key
    }

    pub(super) fn shown_key(&self) -> String {
        let ItemRef { model, key, .. } = &self.0.item_ref;
        shown(model.shown_key(key).as_deref())
    }

    pub(super) fn difference(&self) -> Difference<'_> {
        Difference(&self.0)
    }

    /// Returns the number of requests that the failed call sent, and the duration of the failed
    /// call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(conflict: &dynalock::error::Conflict) {
    /// let spent = conflict.spent();
    /// println!("{} requests in {:?}", spent.attempts, spent.elapsed);
    /// # }
    /// ```
    pub fn spent(&self) -> &Spent {
        &self.0.spent
    }
}

/// The message of a conflict without the advice for the caller.
pub(super) struct Difference<'c>(&'c ConflictParts);

impl fmt::Display for Difference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConflictParts { item_ref: ItemRef { model, table, key, expected, .. }, item, .. } = self.0;
        match model.shown_key(key) {
            Some(key) => write!(f, "the item under key `{key}` in table `{table}` is not as it was read: ")?,
            None => write!(f, "the item in table `{table}` is not as it was read: ")?,
        }
        match expected {
            // The caller has read an item that another program wrote without a version.
            Some(0) => f.write_str("expected no version, ")?,
            Some(expected) => write!(f, "expected version {expected}, ")?,
            None => {}
        }
        match item.as_ref().map(|item| version_in(item, model.version)) {
            // If the stored version equals the expected version, other content or a lease caused
            // the conflict.
            Some(Some(found)) if *expected == Some(found) => {
                write!(f, "found version {found} with another content or lease")
            }
            Some(Some(found)) => write!(f, "found version {found}"),
            Some(None) if *expected == Some(0) => f.write_str("found no version, with another content or lease"),
            Some(None) => f.write_str("found an item without a version"),
            None => f.write_str("found no item"),
        }
    }
}

debug_fields!(Conflict, self => {
    table: self.0.item_ref.table,
    expected: self.0.item_ref.expected,
    found: self.found(),
    spent: self.0.spent,
});

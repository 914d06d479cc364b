//! What `#[derive(Versioned)]` describes: data, no algorithms.

use std::{sync::Arc, time::Duration};

use serde::{Serialize, de::DeserializeOwned};

use crate::key::{Key, KeyType};

/// A struct that is kept as one item of a DynamoDB table, under a version.
///
/// Implemented by `#[derive(Versioned)]`; the implementation is data, and what a [`Repository`](crate::Repository)
/// does with it is the same for every type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a versioned item",
    label = "no `Versioned` implementation",
    note = "add `#[derive(Versioned)]` and `#[dynalock(table = \"..\")]` to `{Self}`, and `#[dynalock(partition_key)]` to one of its fields"
)]
pub trait Versioned: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The generated key type, `ProductKey` for a `Product`, which the plain types of the key fields convert into.
    type Key: Into<Key> + Send;

    /// The names and settings that the derive has read from the attributes.
    const MODEL: &'static Model;

    /// The key of this value.
    fn key(&self) -> Key;

    /// Writes the stored version into the field `#[dynalock(version)]`; nothing happens in a struct without one.
    fn mirror_version(&mut self, version: u64);
}

/// A value that names one item of type `T`: everything that converts into its generated key type, `ProductKey` for a `Product`.
///
/// That is a value of the partition key's type, or a tuple of the partition key and the sort key if the table has one; a `&str` stands
/// for a `String`, and a `&T` for its own key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of `{T}`",
    label = "not a key of `{T}`",
    note = "a key of `{T}` is a value of the partition key's type, or a tuple `(partition key, sort key)` if `{T}` has a sort key",
    note = "the types are those of the key fields: convert a number of another type first; a `&str` stands for a `String`, and a `&{T}` for its own key"
)]
pub trait IntoKey<T> {
    /// The key.
    fn into_key(self) -> Key;
}

#[diagnostic::do_not_recommend]
impl<T: Versioned, K: Into<T::Key>> IntoKey<T> for K {
    fn into_key(self) -> Key {
        self.into().into()
    }
}

/// What the attributes of a `#[derive(Versioned)]` struct say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// The table, unless a repository is told another.
    pub table: &'static str,
    /// The partition key.
    pub partition_key: KeyModel,
    /// The sort key, if the table has one.
    pub sort_key: Option<KeyModel>,
    /// The attribute that holds the version.
    pub version: &'static str,
    /// Whether the version attribute is a field of the struct as well, which mirrors it.
    pub version_is_field: bool,
    /// How many write ids an item keeps: 4 to 16.
    pub write_ids: u8,
    /// Every name under which serde reads or writes a field, sorted. The names in flattened fields are not among them.
    pub attributes: &'static [&'static str],
    /// Whether errors may show the key of an item. A key is content otherwise.
    pub show_key: bool,
    /// Other names under which serde reads a field.
    pub aliases: &'static [Aliases],
    /// Whether a field is flattened. The names and aliases of its attributes are not known here, so each write is checked before it is
    /// sent: what it leaves can be read back.
    pub flattens: bool,
    /// How the items are leased, if they can be.
    pub lock: Option<LockModel>,
}

/// The attributes of a lease, and how long it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockModel {
    /// Who holds it: absent if nobody does.
    pub owner: &'static str,
    /// The number of the last grant.
    pub fence: &'static str,
    /// The number of the last heartbeat.
    pub beat: &'static str,
    /// When it ends, by the holder's clock: epoch time.
    pub until: &'static str,
    /// The last holder that released it.
    pub released: &'static str,
    /// Reserved. Items may still carry it, with the fence of a holder that had died; no request writes it, and no value shows it.
    pub crashed: &'static str,
    /// Who stands in the fair queue: a list, whose head holds it.
    pub queue: &'static str,
    /// When the head of the queue last changed for another: epoch milliseconds.
    pub turn: &'static str,
    /// The unit of `until`.
    pub unit: TimeUnit,
    /// How long it lasts without a heartbeat.
    pub ttl: Duration,
    /// Where these attributes are.
    pub place: LockPlace,
}

/// Where the attributes of a lease are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockPlace {
    /// In the item itself.
    Item,
    /// In a row beside it, in the same table: under its key with `#lock` after the last key attribute.
    Beside,
}

/// The unit of an epoch time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// Milliseconds since the epoch.
    Milliseconds,
    /// Whole seconds since the epoch.
    Seconds,
}

impl TimeUnit {
    /// A stored time in epoch milliseconds.
    pub(crate) fn to_millis(self, stored: u64) -> u64 {
        match self {
            Self::Milliseconds => stored,
            Self::Seconds => stored.saturating_mul(1000),
        }
    }

    /// The end of a lease as it is stored: never before it ends.
    pub(crate) fn end(self, millis: u64) -> u64 {
        match self {
            Self::Milliseconds => millis,
            Self::Seconds => millis.div_ceil(1000),
        }
    }

    /// A moment that stored ends are compared with: never after it.
    pub(crate) fn moment(self, millis: u64) -> u64 {
        match self {
            Self::Milliseconds => millis,
            Self::Seconds => millis / 1000,
        }
    }
}

impl LockModel {
    /// Whether the lease is in the item itself.
    pub(crate) fn is_in_item(&self) -> bool {
        self.place == LockPlace::Item
    }

    /// The attribute names.
    pub fn names(&self) -> [&'static str; 8] {
        [self.owner, self.fence, self.beat, self.until, self.released, self.crashed, self.queue, self.turn]
    }
}

/// A struct whose items can be leased: `#[lockable]` beside `#[derive(Versioned)]`.
///
/// The lease is kept in the item. A heartbeat is a write of it then, and costs write units by its size: 100 for one of 100 KB, every third of a
/// ttl. `#[lockable(separate)]` keeps the lease in a row of its own instead:
///
/// - It is in the same table, under the item's key with `#lock` after the last key attribute: the sort key, or the partition key where there is no
///   other. That has to be a string or bytes, and no item may have one that ends so ([`Error::InvalidKey`](crate::Error::InvalidKey)).
///   Queries and scans of the table show these rows.
/// - A grant and a read of the item are two requests; a heartbeat or a release writes the row alone.
/// - Every create, update, replace and delete, of the holder or anybody else, is a transaction of the write and of a check, or a write, of the
///   row: twice the write units of the item and two for the row. In a [`Transaction`](crate::Transaction) the row counts among the 100 items. Writes that ignore
///   leases, and `delete_unchecked`, are as they are without leases.
/// - The row is never deleted, not even with the item, so that the fence grows over all lives of an item whatever clocks show. An item that
///   nobody has asked to lease has none.
/// - Who asks for the lease of an item that is not there holds it until that is found out: a create in this moment is
///   [`Error::Locked`](crate::Error::Locked).
///
/// Which place to choose:
///
/// | the items | choose |
/// |---|---|
/// | Other systems compare fences, and an item may be deleted and created again. | `separate`: the row and its fence outlive the item, so its fences grow whatever clocks show. |
/// | The items are large, and leases of them last for several heartbeats. | `separate`: a heartbeat writes the row alone. |
/// | All others. | the item itself: a grant is one request, and a write is no transaction. |
///
/// The first fence of an item that keeps its own lease is the time of day. So its fences usually grow over delete and recreate. They do not if
/// the clock of the caller is behind, or if a request that was made in the earlier life of the item arrives in the next one.
///
/// With `separate`, the last value of the key has to leave room for `#lock`, and policies by leading keys have to allow that row.
///
/// All programs that write the items have to keep the leases in the same place. Who puts a whole item back, from a backup too, has to leave the
/// attributes of the lease out: with an old fence it would be granted again.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be locked",
    label = "no `#[lockable]`",
    note = "add `#[lockable]` to `{Self}`, beside `#[derive(Versioned)]`"
)]
pub trait Lockable: Versioned {}

/// One key attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyModel {
    /// The attribute's name, as serde writes it.
    pub name: &'static str,
    /// The attribute's type.
    pub key_type: KeyType,
}

/// The other names of one attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aliases {
    /// The name that serde writes.
    pub attribute: &'static str,
    /// The names that serde reads as well.
    pub aliases: &'static [&'static str],
}

impl Model {
    /// The key attributes: the partition key, then the sort key if there is one.
    pub fn key_attributes(&self) -> impl Iterator<Item = KeyModel> {
        std::iter::once(self.partition_key).chain(self.sort_key)
    }

    /// A key as errors show it, if the type allows that.
    pub(crate) fn shown_key(&self, key: &Key) -> Option<Arc<str>> {
        self.show_key.then(|| key.to_string().into())
    }

    /// The lease, if it is in the item itself.
    pub(crate) fn lock_in_item(&self) -> Option<LockModel> {
        self.lock.filter(LockModel::is_in_item)
    }

    /// The lease, if it is in a row beside the item.
    pub(crate) fn lock_beside(&self) -> Option<LockModel> {
        self.lock.filter(|lock| !lock.is_in_item())
    }

    /// The sort key if there is one, else the partition key.
    pub(crate) fn last_key(&self) -> KeyModel {
        self.sort_key.unwrap_or(self.partition_key)
    }

    /// Whether `name` is a key attribute.
    pub fn is_key(&self, name: &str) -> bool {
        self.key_attributes().any(|key| key.name == name)
    }

    /// The other names of `attribute`.
    pub fn aliases_of(&self, attribute: &str) -> &'static [&'static str] {
        self.aliases.iter().find(|entry| entry.attribute == attribute).map_or(&[], |entry| entry.aliases)
    }
}

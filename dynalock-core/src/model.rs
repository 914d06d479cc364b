//! The description that `#[derive(Versioned)]` generates: data without algorithms.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Serialize, de::DeserializeOwned};

use crate::key::{Key, KeyType};

/// A struct that is stored as one item of a DynamoDB table, with a version.
///
/// `#[derive(Versioned)]` implements this trait. The implementation is data; a
/// [`Repository`](crate::Repository) treats all types alike.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a versioned item",
    label = "no `Versioned` implementation",
    note = "add `#[derive(Versioned)]` and `#[dynalock(table = \"..\")]` to `{Self}`, and `#[dynalock(partition_key)]` to one of its fields"
)]
pub trait Versioned: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The generated key type, for example `ProductKey` for a `Product`. The plain types of the key
    /// fields convert into it.
    type Key: Into<Key> + Send;

    /// The names and settings that the derive has read from the attributes.
    const MODEL: &'static Model;

    /// Returns the key of this value.
    fn key(&self) -> Key;

    /// Returns a key of this type that was read from an index, as the generated key type.
    fn typed_key(key: Key) -> Self::Key;

    /// Writes the stored version into the field with `#[dynalock(version)]`. The method does
    /// nothing if the type has no such field.
    fn mirror_version(&mut self, version: u64);

    /// Writes the stored times into the fields with `#[dynalock(created_at)]` and
    /// `#[dynalock(updated_at)]`. The method does nothing if the type has no such field.
    fn mirror_times(&mut self, _times: KeptTimes) {}
}

/// A value that names one item of type `T`: any value that converts into the generated key type,
/// for example `ProductKey` for a `Product`.
///
/// Such a value is a partition key, or a tuple of partition key and sort key if the table has a
/// sort key. A `&str` can replace a `String`, and a `&T` is the key of its item.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of `{T}`",
    label = "not a key of `{T}`",
    note = "a key of `{T}` is a value of the partition key's type, or a tuple `(partition key, sort key)` if `{T}` has a sort key",
    note = "the types are those of the key fields: convert a number of another type first; a `&str` stands for a `String`, and a `&{T}` for its own key"
)]
pub trait IntoKey<T> {
    /// Returns the key.
    fn into_key(self) -> Key;
}

#[diagnostic::do_not_recommend]
impl<T: Versioned, K: Into<T::Key>> IntoKey<T> for K {
    fn into_key(self) -> Key {
        self.into().into()
    }
}

/// The attributes of an item, or of a key.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The settings and names of a struct with `#[derive(Versioned)]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// The table, unless a repository names another.
    pub table: &'static str,
    /// The partition key.
    pub partition_key: KeyModel,
    /// The sort key, if the table has one.
    pub sort_key: Option<KeyModel>,
    /// The attribute that holds the version.
    pub version: &'static str,
    /// Whether a field of the struct mirrors the version attribute.
    pub version_is_field: bool,
    /// The fields with times.
    pub times: TimesModel,
    /// The number of write ids that an item keeps: 4 to 16.
    pub write_ids: u8,
    /// All names under which serde reads or writes a field, sorted. The names in flattened fields
    /// are not among them.
    pub attributes: &'static [&'static str],
    /// Whether errors may show the key of an item. Otherwise they treat a key as content.
    pub show_key: bool,
    /// The other names under which serde reads a field.
    pub aliases: &'static [Aliases],
    /// Whether a field is flattened. The derive does not know the names and aliases of the
    /// attributes in a flattened field. Before each write, the library therefore verifies that
    /// serde can read the resulting item.
    pub flattens: bool,
    /// The lease of the items, if the type has `#[lockable]`.
    pub lock: Option<LockModel>,
    /// The indexes of the table.
    pub indexes: &'static [IndexModel],
}

/// The fields with times that the library writes, or that it compares with the time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimesModel {
    /// The time of the create.
    pub created_at: Option<TimeModel>,
    /// The time of the last write.
    pub updated_at: Option<TimeModel>,
    /// The time to live of the table.
    pub expires: Option<TimeModel>,
}

/// An attribute with an epoch time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeModel {
    /// The name.
    pub name: &'static str,
    /// The unit.
    pub unit: TimeUnit,
}

/// The times of one item that the library keeps, in the units of their fields. A time is `None` if
/// the item does not have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptTimes {
    /// The time of the create.
    pub created_at: Option<i64>,
    /// The time of the last write.
    pub updated_at: Option<i64>,
}

impl TimesModel {
    /// A type without times.
    pub const NONE: Self = Self { created_at: None, updated_at: None, expires: None };

    /// Returns whether an attribute is a time that the library writes.
    pub(crate) fn is_kept(&self, name: &str) -> bool {
        self.kept().any(|time| time.name == name)
    }

    /// Returns the times that the library writes.
    pub(crate) fn kept(&self) -> impl Iterator<Item = TimeModel> {
        self.created_at.into_iter().chain(self.updated_at)
    }
}

/// An index of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexModel {
    /// The name.
    pub name: &'static str,
    /// Global, or local to each partition of the table.
    pub scope: IndexScope,
    /// The partition key.
    pub partition_key: KeyModel,
    /// The sort key, if the index has one.
    pub sort_key: Option<KeyModel>,
    /// The attributes that the index holds.
    pub projection: Projection,
}

/// The partitions of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexScope {
    /// Partitions of its own. Reads are eventually consistent.
    Global,
    /// The partitions of the table, in another order.
    Local,
}

/// The attributes that an index holds beside the keys of the table and its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Projection {
    /// All attributes.
    All,
    /// No others.
    KeysOnly,
    /// These attributes.
    Include(&'static [&'static str]),
}

impl IndexModel {
    /// Returns the key attributes: the partition key, then the sort key if there is one.
    pub fn key_attributes(&self) -> impl Iterator<Item = KeyModel> {
        std::iter::once(self.partition_key).chain(self.sort_key)
    }
}

/// The attributes of a lease, and its duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockModel {
    /// The holder. The attribute is absent if there is no holder.
    pub owner: &'static str,
    /// The number of the last grant.
    pub fence: &'static str,
    /// The number of the last heartbeat.
    pub beat: &'static str,
    /// The end of the lease, in epoch time by the holder's clock.
    pub until: &'static str,
    /// The owner of the last lease that its holder released.
    pub released: &'static str,
    /// Reserved. Old items may have this attribute, with the fence of an expired lease. No request
    /// writes it, and no value shows it.
    pub crashed: &'static str,
    /// The fair queue: a list of its entries. The head holds the lease.
    pub queue: &'static str,
    /// The time at which the head of the queue last changed, in epoch milliseconds.
    pub turn: &'static str,
    /// The unit of `until`.
    pub unit: TimeUnit,
    /// The duration of the lease without a heartbeat.
    pub ttl: Duration,
    /// The place of these attributes.
    pub place: LockPlace,
}

/// The place of the attributes of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockPlace {
    /// In the item itself.
    Item,
    /// A separate row in the same table, under the key of the item with `#lock` after the last key
    /// attribute.
    Separate,
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
    /// Returns a stored time in epoch milliseconds.
    pub(crate) fn to_millis(self, stored: u64) -> u64 {
        match self {
            Self::Milliseconds => stored,
            Self::Seconds => stored.saturating_mul(1000),
        }
    }

    /// Returns the end of a lease in this unit, rounded up: the stored end is never before the true
    /// end.
    pub(crate) fn end(self, millis: u64) -> u64 {
        match self {
            Self::Milliseconds => millis,
            Self::Seconds => millis.div_ceil(1000),
        }
    }

    /// Returns a time in this unit, rounded down, for a comparison with stored ends: it is never
    /// after the true time.
    pub(crate) fn moment(self, millis: u64) -> u64 {
        match self {
            Self::Milliseconds => millis,
            Self::Seconds => millis / 1000,
        }
    }
}

impl LockModel {
    /// The attribute names of named locks, and of item leases whose type sets no other names.
    pub(crate) const DEFAULT: Self = Self {
        owner: "_owner",
        fence: "_fence",
        beat: "_beat",
        until: "_until",
        released: "_released",
        crashed: "_crashed",
        queue: "_queue",
        turn: "_turn",
        unit: TimeUnit::Milliseconds,
        ttl: Duration::from_secs(20),
        place: LockPlace::Item,
    };

    /// Returns whether the lease is in the item itself.
    pub(crate) fn is_in_item(&self) -> bool {
        self.place == LockPlace::Item
    }

    /// Returns the names of the attributes.
    pub fn names(&self) -> [&'static str; 8] {
        [self.owner, self.fence, self.beat, self.until, self.released, self.crashed, self.queue, self.turn]
    }
}

/// A struct whose items can be leased. `#[lockable]` implements the trait for a type with
/// `#[derive(Versioned)]`.
///
/// By default, the lease is stored in the item. Each heartbeat then writes the item, every third of
/// a ttl. Its write units grow with the size of the item: 100 for an item of 100 KB.
/// `#[lockable(separate)]` stores the lease in a separate row:
///
/// - The row is in the same table, under the key of the item with `#lock` after the last key
///   attribute. This attribute is the sort key, or the partition key if there is no sort key. The
///   last key attribute must be a string or bytes. An item key that ends in `#lock` is refused with
///   [`Error::InvalidKey`](crate::Error::InvalidKey). The queries and scans of this library leave the rows out; those of other programs
///   show them.
/// - A grant and the read of the item are two requests. A heartbeat or a release writes only the
///   row.
/// - Every create, update, replace and delete is a transaction of two actions: the write of the
///   item, and a check or a write of the row. The writes of the holder are transactions, too. The
///   transaction costs twice the write units of the item and two more for the row. In a
///   [`Transaction`](crate::Transaction), the row is one of the 100 items. `delete_unchecked` and
///   writes that ignore leases are single requests.
/// - The row is never deleted, not even with the item. The fence therefore keeps growing when the
///   item is deleted and created again. An item that was never leased has no row.
/// - A lease request for a missing item holds the lease until its read finds no item. During this
///   time, a create fails with [`Error::Locked`](crate::Error::Locked).
///
/// Which place to choose:
///
/// | the items | choose |
/// |---|---|
/// | Other systems compare fences, and an item may be deleted and created again. | `separate`: the row and its fence outlive the item, so its fences grow whatever clocks show. |
/// | The items are large, and leases of them last for several heartbeats. | `separate`: a heartbeat writes the row alone. |
/// | All others. | the item itself: a grant is one request, and a write is no transaction. |
///
/// If the lease is stored in the item, the first fence of an item is the time of day. Fences
/// therefore usually grow when an item is deleted and created again. The fences do not grow if the
/// clock of the caller is behind, or if a delayed request from before the deletion arrives after
/// the new create.
///
/// With `separate`, the last value of the key has to leave room for `#lock`. Access policies that
/// restrict leading keys have to allow the key of the row.
///
/// All programs that write the items must keep the leases in the same place. A program that
/// restores a whole item, for example from a backup, must leave out the attributes of the lease. If
/// the attributes were restored, the next grant could have the same fence as an earlier grant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be locked",
    label = "no `#[lockable]`",
    note = "add `#[lockable]` to `{Self}`, beside `#[derive(Versioned)]`"
)]
pub trait Lockable: Versioned {}

/// The item that an operation reads or writes.
#[derive(Clone)]
pub(crate) struct ItemRef {
    pub(crate) table: Arc<str>,
    pub(crate) model: &'static Model,
    pub(crate) key: Key,
    /// The version that the item must have.
    pub(crate) expected: Option<u64>,
    /// The rule by which the item counts as expired.
    pub(crate) expiry: ItemExpiry,
}

/// The rule by which an item counts as expired.
///
/// DynamoDB deletes an expired item only some time later. Until then, the library treats it as
/// absent. The allowed difference between clocks counts as life.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemExpiry {
    /// The largest difference between two clocks.
    pub(crate) max_skew: Duration,
    /// The offset of this machine's clock in milliseconds, for tests.
    pub(crate) clock_offset: i64,
}

impl fmt::Debug for ItemRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").field("table", &self.table).finish_non_exhaustive()
    }
}

/// One key attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyModel {
    /// The name of the attribute, as serde writes it.
    pub name: &'static str,
    /// The type of the attribute.
    pub key_type: KeyType,
}

/// The aliases of one attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aliases {
    /// The name that serde writes.
    pub attribute: &'static str,
    /// The names that serde reads as well.
    pub aliases: &'static [&'static str],
}

impl Model {
    /// Returns the key attributes: the partition key, then the sort key if there is one.
    pub fn key_attributes(&self) -> impl Iterator<Item = KeyModel> {
        std::iter::once(self.partition_key).chain(self.sort_key)
    }

    /// Returns the text of a key for an error, or `None` if the type does not allow errors to show
    /// its keys.
    pub(crate) fn shown_key(&self, key: &Key) -> Option<Arc<str>> {
        self.show_key.then(|| key.to_string().into())
    }

    /// Returns the lease attributes if they are in the item itself.
    pub(crate) fn lock_in_item(&self) -> Option<LockModel> {
        self.lock.filter(LockModel::is_in_item)
    }

    /// Returns the lease attributes if they are in a separate row.
    pub(crate) fn lock_in_row(&self) -> Option<LockModel> {
        self.lock.filter(|lock| !lock.is_in_item())
    }

    /// Returns the sort key, or the partition key if there is no sort key.
    pub(crate) fn last_key(&self) -> KeyModel {
        self.sort_key.unwrap_or(self.partition_key)
    }

    /// Returns whether `name` is a key attribute.
    pub fn is_key(&self, name: &str) -> bool {
        self.key_attributes().any(|key| key.name == name)
    }

    /// Returns the aliases of `attribute`.
    pub fn aliases_of(&self, attribute: &str) -> &'static [&'static str] {
        self.aliases.iter().find(|entry| entry.attribute == attribute).map_or(&[], |entry| entry.aliases)
    }
}

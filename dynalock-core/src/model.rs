//! The description of a struct, which `#[derive(Versioned)]` generates. The description contains
//! only data.

use std::{collections::HashMap, sync::Arc, time::Duration};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Serialize, de::DeserializeOwned};

use crate::key::{Key, KeyType, KeyValue};

/// A struct that is stored as one item of a DynamoDB table, with a version.
///
/// `#[derive(Versioned)]` implements this trait. The implementation describes the struct by data,
/// from which a [`Repository`](crate::Repository) makes its requests.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a versioned item",
    label = "no `Versioned` implementation",
    note = "add `#[derive(Versioned)]` and `#[dynalock(table = \"..\")]` to `{Self}`, and `#[dynalock(partition_key)]` to one of its fields"
)]
pub trait Versioned: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The generated key type, for example `ProductKey` for a `Product`. The values of the key
    /// fields convert into this type.
    type Key: Into<Key> + Send;

    /// The names and settings that the derive has read from the attributes of the struct.
    const MODEL: &'static Model;

    /// Returns the key of this value.
    fn key(&self) -> Key;

    /// Converts a key that was read from an index into the generated key type.
    fn typed_key(key: Key) -> Self::Key;

    /// Writes the stored version into the field with `#[dynalock(version)]`. If the type has no
    /// field with `#[dynalock(version)]`, this method does nothing.
    fn mirror_version(&mut self, version: u64);

    /// Writes the stored times into the fields with `#[dynalock(created_at)]` and
    /// `#[dynalock(updated_at)]`. If the type has no field with one of these attributes, the method
    /// does nothing.
    fn mirror_times(&mut self, _times: KeptTimes) {}
}

/// A value that names one item of type `T`. Each value that converts into the generated key type
/// can be used, for example a `ProductKey` for a `Product`.
///
/// If the table has no sort key, a value of the partition key names an item. If the table has a
/// sort key, a tuple of partition key and sort key names an item. A `&str` can be used for a
/// `String`. A `&T` names the item with the key of this value.
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

/// The attributes of an item, or the attributes of a key.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The settings and names of a struct with `#[derive(Versioned)]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// The default name of the table. A program can set another name of the table for a repository.
    pub table: &'static str,
    /// The partition key.
    pub partition_key: KeyModel,
    /// The sort key, or `None` if the table has only a partition key.
    pub sort_key: Option<KeyModel>,
    /// The name of the attribute that contains the version.
    pub version: &'static str,
    /// `true` if the struct has a field with `#[dynalock(version)]`, which shows the stored
    /// version.
    pub version_is_field: bool,
    /// The fields with times.
    pub times: TimesModel,
    /// The number of write ids that an item keeps: 4 to 16.
    pub write_ids: u8,
    /// All names under which serde reads or writes the fields, sorted. The names inside flattened
    /// fields are left out, because the derive does not know these names.
    pub attributes: &'static [&'static str],
    /// `true` if errors may show the key of an item. If `show_key` is `false`, a key counts as
    /// content, which errors do not show.
    pub show_key: bool,
    /// The other names under which serde reads a field.
    pub aliases: &'static [Aliases],
    /// `true` if the struct has a flattened field. The derive does not know the names and aliases
    /// of the attributes in a flattened field. Before each write, the library therefore verifies
    /// that serde can read the resulting item.
    pub flattens: bool,
    /// The lease attributes of the items, or `None` if the type has no `#[lockable]`.
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

/// The time of the create and the time of the last write of one item. Each time has the unit of its
/// field. If the item does not contain a time, the field for this time is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptTimes {
    /// The time of the create.
    pub created_at: Option<i64>,
    /// The time of the last write.
    pub updated_at: Option<i64>,
}

impl TimesModel {
    /// The value for a struct without fields for times.
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
    /// The scope of the index: global, or local to each partition of the table.
    pub scope: IndexScope,
    /// The partition key.
    pub partition_key: KeyModel,
    /// The sort key, or `None` if the index has only a partition key.
    pub sort_key: Option<KeyModel>,
    /// The attributes that the index contains.
    pub projection: Projection,
}

/// Whether an index has partitions of its own or those of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexScope {
    /// The index has its own partitions. Reads of a global index are eventually consistent.
    Global,
    /// The index has the partitions of the table, in another order.
    Local,
}

/// The attributes that an index contains in addition to the keys of the table and of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Projection {
    /// The index contains all attributes of its items.
    All,
    /// The index contains no attributes except the keys.
    KeysOnly,
    /// The index contains the named attributes in addition to the keys.
    Include(&'static [&'static str]),
}

impl IndexModel {
    /// Returns the key attributes: the partition key, then the sort key if the index has one.
    pub fn key_attributes(&self) -> impl Iterator<Item = KeyModel> {
        std::iter::once(self.partition_key).chain(self.sort_key)
    }
}

/// The names of the lease attributes, and the settings of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockModel {
    /// The attribute that names the holder. The attribute is absent if the lock has no holder.
    pub owner: &'static str,
    /// The attribute with the number of the last grant.
    pub fence: &'static str,
    /// The attribute with the number of the last heartbeat.
    pub beat: &'static str,
    /// The attribute with the end of the lease, in epoch time by the holder's clock.
    pub until: &'static str,
    /// The attribute that names the owner of the last released lease.
    pub released: &'static str,
    /// An attribute that earlier versions of the library wrote, with the fence of an expired lease.
    /// No request writes this attribute now, and the library removes it before serde reads an item.
    pub crashed: &'static str,
    /// The attribute with the fair queue: a list of its entries. The head of the queue holds the
    /// lease.
    pub queue: &'static str,
    /// The attribute with the time at which the head of the queue last changed, in epoch
    /// milliseconds.
    pub turn: &'static str,
    /// The unit in which the end of the lease is stored.
    pub unit: TimeUnit,
    /// The duration of the lease without a heartbeat.
    pub ttl: Duration,
    /// The place where the lease attributes are stored.
    pub place: LockPlace,
}

/// The place of the attributes of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockPlace {
    /// The lease attributes are in the item itself.
    Item,
    /// The lease attributes are in a separate row of the same table. The key of the row is the key
    /// of the item with `#lock` after the last key attribute.
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

    /// Converts the end of a lease, in epoch milliseconds, into this unit, and rounds up. The
    /// stored end is therefore never earlier than the end of the lease.
    pub(crate) fn end(self, millis: u64) -> u64 {
        match self {
            Self::Milliseconds => millis,
            Self::Seconds => millis.div_ceil(1000),
        }
    }

    /// Converts a time, in epoch milliseconds, into this unit for a comparison with stored ends,
    /// and rounds down. The converted time is therefore never later than the given time.
    pub(crate) fn moment(self, millis: u64) -> u64 {
        match self {
            Self::Milliseconds => millis,
            Self::Seconds => millis / 1000,
        }
    }
}

impl LockModel {
    /// The attribute names of named locks. Item leases have these names unless `#[lockable]` sets
    /// other names.
    pub const DEFAULT: Self = Self {
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

    /// Returns the names of the lease attributes.
    pub fn names(&self) -> [&'static str; 8] {
        [self.owner, self.fence, self.beat, self.until, self.released, self.crashed, self.queue, self.turn]
    }
}

/// A struct whose items can be leased. `#[lockable]` implements this trait for a type with
/// `#[derive(Versioned)]`.
///
/// By default, the lease is stored in the item, and each heartbeat writes the item. The guard sends
/// a heartbeat after each third of a ttl. The cost of a heartbeat grows with the size of the item:
/// 100 write units for an item of 100 KB. `#[lockable(separate)]` stores the lease in a separate
/// row:
///
/// - The row is in the same table. The key of the row is the key of the item with `#lock` after the
///   last key attribute. The last key attribute is the sort key, or the partition key if the table
///   has no sort key. The last key attribute must be a string or bytes. If the key of an item ends
///   in `#lock`, calls fail with [`Error::InvalidKey`](crate::Error::InvalidKey). The queries and
///   scans of this library leave the lease rows out. The queries and scans of other programs return
///   the lease rows.
/// - A grant and the read of the item are two requests. A heartbeat or a release writes only the
///   row.
/// - Each create, update, replace and delete is a transaction of two actions: the write of the
///   item, and a check or a write of the row. Even the writes of the holder are transactions. The
///   transaction costs twice the write units of the item, and two write units for the row. In a
///   [`Transaction`](crate::Transaction), the row is one of the 100 items. `delete_unchecked` and
///   writes that ignore leases are single requests.
/// - The row is never deleted, even if the item is deleted. The fence therefore continues to grow
///   when the item is deleted and created again. An item that was never leased has no row.
/// - A lease request for a missing item holds the lease for a short time, until its read finds no
///   item. During this short time, a create of the item fails with
///   [`Error::Locked`](crate::Error::Locked).
///
/// This table shows where to store the leases:
///
/// | the items | choose |
/// |---|---|
/// | Other systems compare fences, and an item may be deleted and created again. | `separate`: the row and its fence outlive the item, so the fences of the item always grow. |
/// | The items are large, and their leases last for several heartbeats. | `separate`: a heartbeat writes only the row. |
/// | All others. | the item itself: a grant is one request, and a write is not a transaction. |
///
/// If the lease is stored in the item, the first fence of an item is the current time in
/// milliseconds. Fences therefore usually grow when an item is deleted and created again. The
/// fences do not grow in two cases: the clock of the caller is behind, or a delayed request from
/// before the deletion arrives after the new create.
///
/// With `separate`, the last value of the key must leave room for `#lock`. Access policies that
/// restrict leading keys must allow the key of the row.
///
/// All programs that write the items must store the leases in the same place. A program that
/// restores a whole item, for example from a backup, must leave out the attributes of the lease. If
/// the attributes were restored, the next grant could have the same fence as an earlier grant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be locked",
    label = "no `#[lockable]`",
    note = "add `#[lockable]` to `{Self}`, beside `#[derive(Versioned)]`"
)]
pub trait Lockable: Versioned {}

/// The item that an operation reads or writes, named by its table and its key.
#[derive(Clone)]
pub(crate) struct ItemRef {
    pub(crate) table: Arc<str>,
    pub(crate) model: &'static Model,
    pub(crate) key: Key,
    /// The version that the item must have, or `None` if the operation requires no version.
    pub(crate) expected: Option<u64>,
    /// The rule by which the item counts as expired.
    pub(crate) expiry: ItemExpiry,
}

/// The rule by which an item counts as expired.
///
/// DynamoDB deletes an expired item some time after its time to live. Until the deletion, the
/// library treats the item as absent. An item counts as expired when its time to live plus the
/// allowed clock skew is past.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemExpiry {
    /// The largest allowed difference between the clocks of two machines.
    pub(crate) max_skew: Duration,
    /// The offset of this machine's clock in milliseconds, for tests.
    pub(crate) clock_offset: i64,
}

debug_fields!(ItemRef, self => { table: self.table });

/// One key attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyModel {
    /// The name of the attribute, as serde writes it.
    pub name: &'static str,
    /// The type of the attribute.
    pub key_type: KeyType,
}

impl KeyModel {
    /// Returns why DynamoDB would refuse this value of the attribute, or `None` for a valid value.
    pub(crate) fn refusal_of(&self, value: &KeyValue) -> Option<&'static str> {
        const OTHER_TYPE: &str = "its `KeyAttribute` makes another type than it declares";
        if value.is_empty() {
            return Some("it is empty");
        }
        (value.key_type() != self.key_type).then_some(OTHER_TYPE)
    }
}

/// The aliases of one attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aliases {
    /// The name under which serde writes the attribute.
    pub attribute: &'static str,
    /// The other names under which serde reads the attribute.
    pub aliases: &'static [&'static str],
}

impl Model {
    /// Returns the key attributes: the partition key, then the sort key if the table has one.
    pub fn key_attributes(&self) -> impl Iterator<Item = KeyModel> {
        std::iter::once(self.partition_key).chain(self.sort_key)
    }

    /// Returns the text of a key for an error, or `None` if the type does not have
    /// `#[dynalock(show_key)]`.
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

//! The types that describe a struct: its keys, attributes, indexes and lease settings.
//! `#[derive(Versioned)]` generates the description of a struct as a constant.

use std::{collections::HashMap, fmt, hash::Hash, sync::Arc, time::Duration};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Serialize, de::DeserializeOwned};

use crate::key::{Key, KeyType, KeyValue};

/// A struct whose values are the items of a DynamoDB table, each with a version.
///
/// `#[derive(Versioned)]` implements the trait `Versioned`. The trait `Versioned` has a hidden
/// constant that describes the struct. A [`Repository`](crate::Repository) builds its requests from
/// this constant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a versioned item",
    label = "no `Versioned` implementation",
    note = "add `#[derive(Versioned)]` and `#[dynalock(table = \"..\")]` to `{Self}`, and `#[dynalock(partition_key)]` to one of its fields"
)]
pub trait Versioned: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The key type that `#[derive(Versioned)]` generates, for example `ProductKey` for a struct
    /// `Product`.
    type Key: Into<Key> + Clone + fmt::Debug + Eq + Hash + Send + Sync + 'static;

    /// The names and settings that `#[derive(Versioned)]` has read from the attributes of the
    /// struct.
    #[doc(hidden)]
    const MODEL: &'static Model;

    /// Returns the key that the key fields of the struct contain.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// use dynalock::Versioned;
    ///
    /// let product = Product { sku: "85123A".to_owned(), stock: 5 };
    /// assert_eq!(product.key().to_string(), r#""85123A""#);
    /// ```
    fn key(&self) -> Key;

    /// Converts an untyped key from a query of an index into the generated key type.
    #[doc(hidden)]
    fn typed_key(key: Key) -> Self::Key;

    /// Writes the version of the stored item into the field with `#[dynalock(version)]`. If the
    /// type has no field with `#[dynalock(version)]`, `mirror_version` does nothing.
    #[doc(hidden)]
    fn mirror_version(&mut self, version: u64);

    /// Copies the stored times of the item to the fields with `#[dynalock(created_at)]` and
    /// `#[dynalock(updated_at)]`. `mirror_times` ignores a time for which the type has no field.
    #[doc(hidden)]
    fn mirror_times(&mut self, _times: KeptTimes) {}
}

/// A value that names one item of type `T`. Each value that converts into the generated key type
/// names an item, for example a `ProductKey` names a `Product`.
///
/// If the table has no sort key, the value of a partition key alone names an item. If the table has
/// a sort key, a tuple of partition key and sort key names an item. The caller can pass a `&str`
/// for a key of type `String`. A reference to a value of type `T` names the item with the same key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of `{T}`",
    label = "not a key of `{T}`",
    note = "a key of `{T}` is a value of the partition key's type, or a tuple `(partition key, sort key)` if `{T}` has a sort key",
    note = "the types are those of the key fields: convert a number of another type first; a `&str` stands for a `String`, and a `&{T}` for its own key"
)]
pub trait IntoKey<T> {
    /// Converts the value into a key.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// use dynalock::{IntoKey, Key};
    ///
    /// let key: Key = IntoKey::<Order>::into_key(("alice", 7));
    /// assert_eq!(key.to_string(), r#""alice", 7"#);
    /// ```
    fn into_key(self) -> Key;
}

#[diagnostic::do_not_recommend]
impl<T: Versioned, K: Into<T::Key>> IntoKey<T> for K {
    fn into_key(self) -> Key {
        self.into().into()
    }
}

/// The attributes of a whole item, or only the key attributes of an item.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The settings of a struct with `#[derive(Versioned)]`, and the attribute names of the struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// The default name of the table. A program can set another table name for a repository.
    pub table: &'static str,
    /// The partition key of the table.
    pub partition_key: KeyModel,
    /// The sort key of the table, or `None` if the table has only a partition key.
    pub sort_key: Option<KeyModel>,
    /// The name of the attribute that contains the version of an item.
    pub version: &'static str,
    /// `true` if the struct has a field with `#[dynalock(version)]`, into which the library writes
    /// the version of the stored item.
    pub version_is_field: bool,
    /// The fields of the struct that contain times, for example the time of the last write.
    pub times: TimesModel,
    /// The number of recent writes whose ids an item stores: 4 to 16.
    pub write_ids: u8,
    /// All names under which serde reads or writes the fields of the struct, sorted. `attributes`
    /// does not contain the names inside flattened fields, which `#[derive(Versioned)]` cannot see.
    pub attributes: &'static [&'static str],
    /// `true` if errors may show the key of an item. If `show_key` is `false`, a key counts as user
    /// data, so errors do not show the key.
    pub show_key: bool,
    /// The aliases of the fields: the additional names under which serde reads a field.
    pub aliases: &'static [Aliases],
    /// `true` if the struct has a field with `#[serde(flatten)]`. `#[derive(Versioned)]` cannot see
    /// the names and aliases of the attributes in a flattened field. Before each write of a struct
    /// with a flattened field, the library verifies that serde can read the resulting item.
    pub flattens: bool,
    /// The names of the lease attributes, or `None` if the type has no `#[lockable]`.
    pub lock: Option<LockModel>,
    /// The indexes of the table.
    pub indexes: &'static [IndexModel],
}

/// The time fields of a struct. The library writes the time of the create and the time of the last
/// write, and compares the time to live with the current time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimesModel {
    /// The attribute that contains the time at which the item was created, or `None` if the struct
    /// has no field with `#[dynalock(created_at)]`.
    pub created_at: Option<TimeModel>,
    /// The attribute that contains the time of the last write, or `None` if the struct has no field
    /// with `#[dynalock(updated_at)]`.
    pub updated_at: Option<TimeModel>,
    /// The attribute that contains the time to live of the item, or `None` if the struct has no
    /// field with `#[dynalock(expires)]`.
    pub expires: Option<TimeModel>,
}

/// An attribute that contains an epoch time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeModel {
    /// The name of an attribute that contains an epoch time.
    pub name: &'static str,
    /// The unit of the epoch time in the attribute: seconds or milliseconds.
    pub unit: TimeUnit,
}

/// The time at which an item was created, and the time of its last write. The [`TimesModel`] of the
/// struct says whether a time in `KeptTimes` is in seconds or in milliseconds. A field of
/// `KeptTimes` is `None` if the item does not contain the corresponding time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeptTimes {
    /// The time at which a write created the item.
    pub created_at: Option<i64>,
    /// The time of the last write to the item.
    pub updated_at: Option<i64>,
}

impl TimesModel {
    /// The `TimesModel` of a struct without time fields.
    pub const NONE: Self = Self { created_at: None, updated_at: None, expires: None };

    pub(crate) fn is_kept(&self, name: &str) -> bool {
        self.kept().any(|time| time.name == name)
    }

    /// Returns the attributes `created_at` and `updated_at`, whose times the library sets.
    pub(crate) fn kept(&self) -> impl Iterator<Item = TimeModel> {
        self.created_at.into_iter().chain(self.updated_at)
    }
}

/// The description of an index of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexModel {
    /// The name of the index.
    pub name: &'static str,
    /// The scope of the index: global, or local to each partition of the table.
    pub scope: IndexScope,
    /// The partition key of the index.
    pub partition_key: KeyModel,
    /// The sort key of the index, or `None` if the index has only a partition key.
    pub sort_key: Option<KeyModel>,
    /// The attributes that the index contains.
    pub projection: Projection,
}

/// The scope of an index: the index has its own partitions, or shares the partitions of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexScope {
    /// A global index has its own partitions. Reads of a global index are eventually consistent.
    Global,
    /// A local index has the same partitions as the table, but a different sort key.
    Local,
}

/// The attributes that an index contains in addition to the keys of the table and of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Projection {
    /// The index contains all attributes of each item.
    All,
    /// The index contains only the keys of the table and of the index.
    KeysOnly,
    /// The index contains the attributes in `Include`, and the keys of the table and of the index.
    Include(&'static [&'static str]),
}

impl IndexModel {
    /// Returns the key attributes of the index: first the partition key, and second the sort key if
    /// the index has a sort key.
    pub fn key_attributes(&self) -> impl Iterator<Item = KeyModel> {
        std::iter::once(self.partition_key).chain(self.sort_key)
    }
}

/// The names of the lease attributes, and the settings of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockModel {
    /// The name of the attribute that contains the owner of the lease. The owner attribute is
    /// absent if the lock has no holder.
    pub owner: &'static str,
    /// The name of the attribute that contains the fence: a number that grows with each grant of
    /// the lock.
    pub fence: &'static str,
    /// The name of the attribute that contains the heartbeat number, which grows with each
    /// heartbeat.
    pub beat: &'static str,
    /// The name of the attribute that contains the end of the lease, in epoch time by the holder's
    /// clock.
    pub until: &'static str,
    /// The name of the attribute that contains the owner of the last released lease.
    pub released: &'static str,
    /// The name of the attribute in which earlier versions of the library stored the fence of an
    /// expired lease. The library no longer writes the attribute `crashed`, and removes `crashed`
    /// from an item before serde reads the item.
    pub crashed: &'static str,
    /// The name of the attribute that contains the fair queue: the list of the holder and the
    /// waiters. The first entry of the queue is the entry of the lease holder.
    pub queue: &'static str,
    /// The name of the attribute that contains the time at which the fair queue last got a new
    /// first entry, in epoch milliseconds.
    pub turn: &'static str,
    /// The unit of the stored end of the lease.
    pub unit: TimeUnit,
    /// The time to live of a lease: the time from a grant or heartbeat to the end of the lease.
    pub ttl: Duration,
    /// Says whether the lease attributes are in the item or in a separate row.
    pub place: LockPlace,
}

/// Says where the library stores a lease: in the leased item, or in a separate row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockPlace {
    /// The lease attributes are in the item itself.
    Item,
    /// The lease attributes are in a separate row, in the table of the leased item. The key of the
    /// lease row is the key of the item, with `#lock` appended to the last key attribute.
    Separate,
}

/// The unit of an epoch time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// The time is a number of milliseconds since the epoch.
    Milliseconds,
    /// The time is a number of whole seconds since the epoch.
    Seconds,
}

impl TimeUnit {
    pub(crate) fn to_millis(self, stored: u64) -> u64 {
        match self {
            Self::Milliseconds => stored,
            Self::Seconds => stored.saturating_mul(1000),
        }
    }

    /// Rounds `millis` up to the unit, so that the stored end of a lease is never earlier than the
    /// exact end.
    pub(crate) fn end(self, millis: u64) -> u64 {
        match self {
            Self::Milliseconds => millis,
            Self::Seconds => millis.div_ceil(1000),
        }
    }

    /// Rounds `millis` down to the unit, so that the stored time is never later than `millis`.
    pub(crate) fn moment(self, millis: u64) -> u64 {
        match self {
            Self::Milliseconds => millis,
            Self::Seconds => millis / 1000,
        }
    }
}

impl LockModel {
    /// The lease attributes of named locks. The leases of items use the same attribute names as
    /// named locks, unless `#[lockable]` sets other names.
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

    /// Returns the names of all lease attributes.
    pub fn names(&self) -> [&'static str; 8] {
        [self.owner, self.fence, self.beat, self.until, self.released, self.crashed, self.queue, self.turn]
    }
}

/// A struct whose items a caller can lease. `#[lockable]` implements the trait `Lockable` for a
/// type with `#[derive(Versioned)]`.
///
/// By default, the lease is stored in the item, and each heartbeat writes the item. The guard of a
/// lease sends a heartbeat after each third of the lease's time to live. If the lease is stored in
/// the item, the cost of a heartbeat grows with the size of the item: 100 write units for an item
/// of 100 KB. `#[lockable(separate)]` stores the lease in a separate row of the item's table.
///
/// - The key of a lease row is the key of the item, with `#lock` appended to the last key
///   attribute. The last key attribute is the sort key, or the partition key if the table has no
///   sort key. With `#[lockable(separate)]`, the last key attribute must be a string or bytes. With
///   `#[lockable(separate)]`, calls for an item whose key ends in `#lock` fail with
///   [`Error::InvalidKey`](crate::Error::InvalidKey). The queries and scans of dynalock leave lease
///   rows out, but the queries and scans of programs that do not use dynalock return lease rows.
/// - The grant of a lease in a separate row and the read of the item are two requests. A heartbeat
///   or a release of a lease in a separate row writes only the lease row.
/// - Each create, update, replace and delete of an item with a separate lease row is a transaction
///   of two actions. In a transaction of an item and its lease row, the first action writes the
///   item, and the second action checks or writes the lease row. With a separate lease row, even
///   the writes of the lease holder are transactions of two actions. A transaction of an item and
///   its lease row costs twice the write units of a single write of the item, plus two write units.
///   In a [`Transaction`](crate::Transaction), each lease row counts as one of at most 100 items.
///   `delete_unchecked` and writes that ignore leases are single requests without the lease row.
/// - The library never deletes a lease row, even if the caller deletes the item. With a separate
///   lease row, the fence continues to grow even if the item is deleted and created again. An item
///   that was never leased has no separate lease row.
/// - A caller that requests a lease in a separate row for a missing item holds the lease until a
///   read shows that the item is missing. While a caller holds the lease of a missing item, a
///   create of the item by another caller fails with [`Error::Locked`](crate::Error::Locked).
///
/// Whether the leases belong in the items or in separate rows depends on the size and the use of
/// the items:
///
/// | the items | where to store the leases |
/// |---|---|
/// | Other systems compare fences, and an item may be deleted and created again. | `separate` rows: the lease row and its fence outlive the item, so the fences of the item always grow. |
/// | The items are large, and their leases last for several heartbeats. | `separate` rows: a heartbeat writes only the lease row. |
/// | All other items. | the items: the grant of a lease is one request, and a write of an item is not a transaction. |
///
/// If an item contains its lease, the first fence of the item comes from the caller's clock, in
/// epoch milliseconds. If such an item is deleted and created again, the fence normally continues
/// to grow. The fence can be lower in two cases: the caller's clock is behind the clock of an
/// earlier caller, or an old lease request arrives late.
///
/// With `#[lockable(separate)]`, the last key value of an item must be at least five bytes shorter
/// than DynamoDB's limit, because the library appends `#lock`. IAM policies that restrict the
/// partition keys (`dynamodb:LeadingKeys`) must also allow the partition key of the lease row.
///
/// All programs that write the items of a table must store the leases in the same place: in the
/// items, or in separate rows. A program that restores a whole item, for example from a backup,
/// must leave out the attributes of the lease. Lease attributes from a backup contain an old fence,
/// so the next grant could have the same fence as an earlier grant.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be locked",
    label = "no `#[lockable]`",
    note = "add `#[lockable]` to `{Self}`, beside `#[derive(Versioned)]`"
)]
pub trait Lockable: Versioned {}

#[derive(Clone)]
pub(crate) struct ItemRef {
    pub(crate) table: Arc<str>,
    pub(crate) model: &'static Model,
    pub(crate) key: Key,
    /// The version that the stored item must have, or `None` if the operation accepts any version.
    pub(crate) expected: Option<u64>,
    pub(crate) expiry: ItemExpiry,
}

/// An item counts as expired when its expiry time plus `max_skew` is in the past.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemExpiry {
    pub(crate) max_skew: Duration,
    /// A number of milliseconds that tests add to the machine's clock.
    pub(crate) clock_offset: i64,
}

debug_fields!(ItemRef, self => { table: self.table });

/// The name and type of one key attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyModel {
    /// The name under which serde writes the key attribute.
    pub name: &'static str,
    /// The type of the key attribute.
    pub key_type: KeyType,
}

impl KeyModel {
    /// Returns why DynamoDB would refuse the key value, or `None` for a valid key value.
    pub(crate) fn refusal_of(&self, value: &KeyValue, max_bytes: usize) -> Option<&'static str> {
        const TOO_LONG: &str = "DynamoDB allows 2,048 bytes in a partition key and 1,024 bytes in a sort key";
        const OTHER_TYPE: &str = "its `KeyAttribute` makes another type than it declares";
        if value.is_empty() {
            return Some("it is empty");
        }
        if value.len() > max_bytes {
            return Some(TOO_LONG);
        }
        (value.key_type() != self.key_type).then_some(OTHER_TYPE)
    }
}

/// The aliases of one attribute: the additional names under which serde reads the attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aliases {
    /// The name under which serde writes the attribute.
    pub attribute: &'static str,
    /// The additional names under which serde reads the attribute.
    pub aliases: &'static [&'static str],
}

impl Model {
    /// Returns the key attributes of the table: first the partition key, and second the sort key if
    /// the table has a sort key.
    pub fn key_attributes(&self) -> impl Iterator<Item = KeyModel> {
        std::iter::once(self.partition_key).chain(self.sort_key)
    }

    pub(crate) fn shown_key(&self, key: &Key) -> Option<Arc<str>> {
        self.show_key.then(|| key.to_string().into())
    }

    pub(crate) fn lock_in_item(&self) -> Option<LockModel> {
        self.lock.filter(|lock| lock.place == LockPlace::Item)
    }

    pub(crate) fn lock_in_row(&self) -> Option<LockModel> {
        self.lock.filter(|lock| lock.place == LockPlace::Separate)
    }

    pub(crate) fn last_key(&self) -> KeyModel {
        self.sort_key.unwrap_or(self.partition_key)
    }

    /// Returns `true` if `name` is the name of a key attribute.
    pub fn is_key(&self, name: &str) -> bool {
        self.key_attributes().any(|key| key.name == name)
    }

    /// Returns the aliases of `attribute`: the additional names under which serde reads the
    /// attribute.
    pub fn aliases_of(&self, attribute: &str) -> &'static [&'static str] {
        self.aliases.iter().find(|entry| entry.attribute == attribute).map_or(&[], |entry| entry.aliases)
    }
}

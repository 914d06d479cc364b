//! The functions and types for generated code and for the command-line tool. The module `private`
//! is not public API, and changes together with the derive macros and the command-line tool.

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::{
    codec::{Item, expiry_time},
    error::Result,
    expression::Condition,
    lease::LeaseOptions,
    model::ItemExpiry,
    named::LockInfo,
    operation::TableSettings,
    retry::{Connection, Limits},
    tables::{self, Creation, TableReport},
};

pub use aws_sdk_dynamodb::Client;
pub use serde::{Serialize, de::DeserializeOwned};

pub use crate::{
    Repository,
    clock::ClockAhead,
    codec::key_value,
    expression::{Attribute, BinarySet, Defaulted, Fixed, Missing, NumberSet, Opaque, Required, StringSet},
    key::{AsKey, IndexAttribute, Key, KeyAttribute, KeyType, KeyValue},
    model::{
        Aliases, IndexModel, IndexScope, KeptTimes, KeyModel, LockModel, LockPlace, Lockable, Model, Projection,
        TimeModel, TimeUnit, TimesModel, Versioned,
    },
    operation::{DeletionProtection, misconfigured},
    query::{
        InGlobalIndex, InLocalIndex, Index, KeysAlone, NoSortKey, Partitioned, SortBounds, SortRange, Sorted,
        WholeItems,
    },
    version::{RememberedWrite, WriteHistory},
};

/// Returns the lease that an item contains, or `None` if the item was never leased. `name` becomes
/// the name in the returned `LockInfo`.
pub fn lease_of(name: &str, item: &Item) -> Option<LockInfo> {
    LockInfo::of_lease(name, &LeaseOptions::default(), item)
}

/// The time to live of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeToLive {
    /// The time to live in seconds since the epoch.
    pub at: u64,
    /// `true` if calls with the default clock skew (`max_skew`) treat the item as expired.
    pub is_over: bool,
}

/// Returns the time to live in an attribute of an item, or `None` if the attribute is not a number
/// that can be a time to live.
pub fn time_to_live(attribute: &str, item: &Item) -> Option<TimeToLive> {
    let at = expiry_time(item, attribute)?;
    Some(TimeToLive { at, is_over: ItemExpiry::DEFAULT.times().contain(at) })
}

/// Creates the table `table` for `model`, and waits at most one minute until the table is active.
///
/// # Errors
///
/// The errors of [`Repository::create_table`] are possible.
pub async fn create_table(
    client: &Client,
    table: &str,
    model: &'static Model,
    protection: DeletionProtection,
) -> Result<()> {
    let (patience, limits) = (Limits::default().deadline, Limits::default().of_creation());
    let settings = TableSettings { protection, ..TableSettings::default() };
    let (connection, table) = (&Arc::new(Connection::over(client)), &table.into());
    tables::create(Creation { connection, table, model, settings, limits, patience }).await
}

/// Compares the table `table` with `model`.
///
/// # Errors
///
/// The errors of [`Repository::verify_table`] are possible.
pub async fn verify_table(client: &Client, table: &str, model: &'static Model) -> Result<TableReport> {
    tables::verify(&Arc::new(Connection::over(client)), &table.into(), model, Limits::default()).await
}

/// Returns the [`Attribute`] for a field that has no aliases and no default value.
pub const fn attribute<T, V, R>(name: &'static str) -> Attribute<T, V, R> {
    Attribute::new(name, &[], Missing::Refused)
}

/// Returns whether a condition is true for an item. A test compares the results of `is_true` with
/// the results of DynamoDB and of compatible servers.
pub fn is_true<T>(condition: &Condition<T>, item: impl IntoIterator<Item = (String, AttributeValue)>) -> bool {
    condition.is_true(Some(&item.into_iter().collect()))
}

/// Returns the [`Attribute`] for a field that may be missing from an item, or that has serde
/// aliases.
pub const fn attribute_with<T, V, R>(
    name: &'static str,
    aliases: &'static [&'static str],
    missing: Missing<V>,
) -> Attribute<T, V, R> {
    Attribute::new(name, aliases, missing)
}

/// Returns the [`Index`] at the position `place` of the model's list of indexes.
pub const fn index<T, P, K>(model: &'static Model, place: usize) -> Index<T, P, K> {
    Index::of(&model.indexes[place])
}

/// Checks at compile time that the last key attribute of a type with `#[lockable(separate)]` is not
/// a number. Generated code calls `takes_suffix` in a constant expression. The key of a separate
/// lease row ends in `#lock`, so the last key attribute must not be a number.
///
/// # Panics
///
/// Panics if the last key attribute is a number.
#[track_caller]
pub const fn takes_suffix(last_key: KeyType) {
    assert!(
        !matches!(last_key, KeyType::N),
        "`separate` keeps the lease in a row whose last key attribute ends in `#lock`, and a number cannot: \
         make the sort key, or the partition key where there is no other, a string or bytes, or leave `separate` out"
    );
}

/// A type that a field with `#[dynalock(version)]` may have. The library sets a field with
/// `#[dynalock(version)]` to the stored version of the item.
#[diagnostic::on_unimplemented(message = "the version field must be a `u64`, not `{Self}`", label = "must be `u64`")]
pub trait VersionField {
    /// Sets the version field to the stored version of the item.
    fn mirror(&mut self, version: u64);
}

impl VersionField for u64 {
    fn mirror(&mut self, version: u64) {
        *self = version;
    }
}

/// A type that a field with `#[dynalock(created_at)]` or `#[dynalock(updated_at)]` may have. The
/// library sets a `created_at` field to the creation time of the item, and an `updated_at` field to
/// the time of the last write of the item.
#[diagnostic::on_unimplemented(
    message = "a time that the library keeps is a `u64` or an `i64`, or an `Option` of one, not `{Self}`",
    label = "must be `u64` or `i64`, or an `Option` of one"
)]
pub trait KeptTimeField {
    /// Sets the field to `time`. If `time` is `None`, the field becomes `None`, or zero if the type
    /// of the field is not an `Option`.
    fn mirror(&mut self, time: Option<i64>);
}

impl KeptTimeField for i64 {
    fn mirror(&mut self, time: Option<i64>) {
        *self = time.unwrap_or_default();
    }
}

impl KeptTimeField for u64 {
    fn mirror(&mut self, time: Option<i64>) {
        *self = time.and_then(|time| time.try_into().ok()).unwrap_or_default();
    }
}

impl<V: KeptTimeField + Default> KeptTimeField for Option<V> {
    fn mirror(&mut self, time: Option<i64>) {
        *self = time.map(|time| {
            let mut value = V::default();
            value.mirror(Some(time));
            value
        });
    }
}

/// A type that a field with `#[dynalock(expires)]` may have. A field with `#[dynalock(expires)]`
/// contains the time at which the item expires.
#[diagnostic::on_unimplemented(
    message = "a time to live is a whole number of epoch seconds, or an `Option` of one, not `{Self}`",
    label = "must be `u64`, `i64` or `u32`, or an `Option` of one"
)]
pub trait ExpiresField {
    /// The unit of the time to live. DynamoDB reads a time to live as a number of seconds.
    const UNIT: TimeUnit = TimeUnit::Seconds;
}

impl ExpiresField for u32 {}
impl ExpiresField for u64 {}
impl ExpiresField for i64 {}
impl<V: ExpiresField> ExpiresField for Option<V> {}

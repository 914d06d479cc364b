//! The kinds of reads, as types: queries of a table, queries of an index, and scans. The kind of a
//! read decides which settings the caller can choose.

use std::{marker::PhantomData, sync::Arc};

use super::range::{SortBounds, SortRange};
use crate::{
    codec::{Item, Stored, corrupt, decode_stored, key_of},
    error::Result,
    key::{IndexAttribute, KeyValue},
    model::Versioned,
};

/// A struct whose partition key the caller can pass to a query as a value of type `P`.
/// `#[derive(Versioned)]` implements `Partitioned` for the type of the partition key, for a
/// reference to this type, and for `&str` if the key is a `String`.
#[diagnostic::on_unimplemented(
    message = "`{P}` does not name a partition of `{Self}`",
    label = "not the partition key of `{Self}`",
    note = "a query takes the value of the partition key alone; `sort` takes the sort key"
)]
pub trait Partitioned<P> {
    /// Returns the value of the partition key.
    fn partition(value: P) -> KeyValue;
}

/// A struct whose queries accept a range of sort keys. The type parameter `R` is the type of a
/// value, a Rust range or a [`Prefix`](super::Prefix), for example `7` or `100..200`.
/// `#[derive(Versioned)]` implements `Sorted` for a struct with a sort key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no sort key",
    label = "no field of `{Self}` has `#[dynalock(sort_key)]`"
)]
pub trait Sorted<R, M> {
    /// Converts a range of sort keys into the bounds of a DynamoDB key condition.
    fn bounds(range: R) -> SortBounds;
}

/// The kind of a query of the table itself, for [`Repository::query`](crate::Repository::query).
#[derive(Debug)]
pub enum InTable {}

/// The kind of a scan, for [`Repository::scan`](crate::Repository::scan).
#[derive(Debug)]
pub enum WholeTable {}

/// The kind of a scan in several parallel segments, for
/// [`Query::segments`](super::Query::segments).
#[derive(Debug)]
pub enum InSegments {}

/// The kind of a query of a global index, for
/// [`Repository::query_index`](crate::Repository::query_index). The type parameter `S` is the type
/// of the field that is the sort key of the index. The type parameter `C` is [`WholeItems`] if the
/// index holds whole items, and [`KeysAlone`] if the index holds only some attributes.
#[derive(Debug)]
pub struct InGlobalIndex<S, C>(PhantomData<fn() -> (S, C)>);

/// The kind of a query of a local index. The type parameter `S` is the type of the field that is
/// the sort key of the index. The type parameter `C` is [`WholeItems`] if the index holds whole
/// items, and [`KeysAlone`] if the index holds only some attributes.
#[derive(Debug)]
pub struct InLocalIndex<S, C>(PhantomData<fn() -> (S, C)>);

/// The type argument for the sort key type `S` of an index that has no sort key.
#[derive(Debug)]
pub enum NoSortKey {}

/// The type argument `C` of an index that holds whole items. A query of an index that holds whole
/// items returns the items.
#[derive(Debug)]
pub enum WholeItems {}

/// The type argument `C` of an index that holds only some attributes of each item. A query of an
/// index that holds only some attributes returns the keys of the items.
#[derive(Debug)]
pub enum KeysAlone {}

/// The content of an index: whole items, or only some attributes. The content of an index decides
/// whether queries of the index return items or keys.
pub trait Content<T>: sealed::Sealed {
    /// The type of one element in the result of a read.
    type Output;

    #[doc(hidden)]
    fn decode(table: &Arc<str>, item: Item) -> Result<Self::Output>;
}

impl sealed::Sealed for WholeItems {}
impl sealed::Sealed for KeysAlone {}

impl<T: Versioned> Content<T> for WholeItems {
    type Output = Stored<T>;

    fn decode(table: &Arc<str>, item: Item) -> Result<Stored<T>> {
        decode_stored(table, item)
    }
}

impl<T: Versioned> Content<T> for KeysAlone {
    type Output = T::Key;

    fn decode(table: &Arc<str>, item: Item) -> Result<T::Key> {
        // An index always contains the key attributes of the table. An answer without the key
        // attributes of the table cannot come from the index.
        const REASON: &str = "the index returned no key of the table";
        let key = key_of(T::MODEL, &item);
        key.map(T::typed_key).ok_or_else(|| corrupt(T::MODEL, table, &item, T::MODEL.partition_key.name, REASON))
    }
}

/// A kind of read: a query of a table, a query of an index, or a scan. The kind of a read decides
/// the type of the elements in the result.
pub trait Reads<T>: sealed::Sealed {
    /// The type of one element in the result of a read.
    type Output;

    #[doc(hidden)]
    fn decode(table: &Arc<str>, item: Item) -> Result<Self::Output>;
}

/// The kinds of reads that accept a range of sort keys. The type parameter `R` is the type of a
/// value, a Rust range or a [`Prefix`](super::Prefix), for example `7` or `100..200`.
#[diagnostic::on_unimplemented(
    message = "a scan reads all items: it has no range of a sort key",
    label = "use `filter`, or `query` for a range"
)]
pub trait Ranged<T, R, M>: sealed::Sealed {
    #[doc(hidden)]
    fn bounds(range: R) -> SortBounds;
}

/// The kinds of reads that return items in the order of a sort key: all queries, but no scans.
#[diagnostic::on_unimplemented(message = "a scan has no order", label = "only a query has an order")]
pub trait Ordered: sealed::Sealed {}

/// The kinds of reads that are strongly consistent by default.
#[diagnostic::on_unimplemented(
    message = "a read of a global index is always eventually consistent",
    label = "leave this call out"
)]
pub trait Consistent: sealed::Sealed {}

/// The kinds of reads that return their pages one after another in a fixed order: all queries, and
/// scans without segments. A page token can identify the next page only if the pages have a fixed
/// order.
#[diagnostic::on_unimplemented(
    message = "a scan in segments has no single next page",
    label = "leave `segments` out to read page by page"
)]
pub trait Paged: sealed::Sealed {}

pub(super) mod sealed {
    pub trait Sealed {}
}

macro_rules! kinds {
    ($([$($parameter:ident),*] $kind:ty, $content:ty;)*) => {$(
        impl<$($parameter),*> sealed::Sealed for $kind {}

        impl<T: Versioned $(, $parameter)*> Reads<T> for $kind
        where
            $content: Content<T>,
        {
            type Output = <$content as Content<T>>::Output;

            fn decode(table: &Arc<str>, item: Item) -> Result<Self::Output> {
                <$content as Content<T>>::decode(table, item)
            }
        }
    )*};
}

kinds! {
    [] InTable, WholeItems;
    [] WholeTable, WholeItems;
    [] InSegments, WholeItems;
    [S, C] InGlobalIndex<S, C>, C;
    [S, C] InLocalIndex<S, C>, C;
}

impl Ordered for InTable {}
impl<S, C> Ordered for InGlobalIndex<S, C> {}
impl<S, C> Ordered for InLocalIndex<S, C> {}

impl Consistent for InTable {}
impl Consistent for WholeTable {}
impl Consistent for InSegments {}
impl<S, C> Consistent for InLocalIndex<S, C> {}

impl Paged for InTable {}
impl Paged for WholeTable {}
impl<S, C> Paged for InGlobalIndex<S, C> {}
impl<S, C> Paged for InLocalIndex<S, C> {}

impl<T: Sorted<R, M>, R, M> Ranged<T, R, M> for InTable {
    fn bounds(range: R) -> SortBounds {
        T::bounds(range)
    }
}

impl<T, R, M, S: IndexAttribute, C> Ranged<T, R, M> for InGlobalIndex<S, C>
where
    R: SortRange<S::Key, M>,
{
    fn bounds(range: R) -> SortBounds {
        range.into_bounds()
    }
}

impl<T, R, M, S: IndexAttribute, C> Ranged<T, R, M> for InLocalIndex<S, C>
where
    R: SortRange<S::Key, M>,
{
    fn bounds(range: R) -> SortBounds {
        range.into_bounds()
    }
}

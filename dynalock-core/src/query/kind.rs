//! The kinds of reads, and what each allows.

use std::sync::Arc;

use super::range::SortBounds;
use crate::{
    codec::{Item, Stored, decode},
    error::Result,
    key::KeyValue,
    model::Versioned,
};

/// A type whose partition key a `P` can name. `#[derive(Versioned)]` implements it for the type of the partition key, its
/// reference, and `&str` if the key is a `String`.
#[diagnostic::on_unimplemented(
    message = "`{P}` does not name a partition of `{Self}`",
    label = "not the partition key of `{Self}`",
    note = "a query takes the value of the partition key alone; `sort` takes the sort key"
)]
pub trait Partitioned<P>: Versioned {
    /// Returns the value of the partition key.
    fn partition(value: &P) -> KeyValue;
}

/// A type whose sort key has ranges of type `R`. `#[derive(Versioned)]` implements it for a type with a sort key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no sort key",
    label = "no field of `{Self}` has `#[dynalock(sort_key)]`"
)]
pub trait Sorted<R, M>: Versioned {
    /// Returns the bounds of the range.
    fn bounds(range: R) -> SortBounds;
}

/// The kind of a query of the table: [`Repository::query`](crate::Repository::query).
#[derive(Debug)]
pub enum InTable {}

/// The kind of a scan: [`Repository::scan`](crate::Repository::scan).
#[derive(Debug)]
pub enum WholeTable {}

/// The kind of a scan in several segments at once: [`Query::segments`](super::Query::segments).
#[derive(Debug)]
pub enum InSegments {}

/// The kinds of reads, and what each returns.
pub trait Reads<T>: sealed::Sealed {
    /// An element of the result.
    type Row;

    #[doc(hidden)]
    fn row(table: &Arc<str>, item: Item) -> Result<Self::Row>;
}

/// The kinds of reads that a range of type `R` narrows.
pub trait Ranged<T, R, M>: sealed::Sealed {
    #[doc(hidden)]
    fn bounds(range: R) -> SortBounds;
}

/// The kinds of reads of one partition, which have an order.
#[diagnostic::on_unimplemented(message = "a scan has no order", label = "only a query has an order")]
pub trait Ordered: sealed::Sealed {}

/// The kinds of reads that are strongly consistent unless asked otherwise.
#[diagnostic::on_unimplemented(
    message = "a read of a global index is always eventually consistent",
    label = "leave this call out"
)]
pub trait Consistent: sealed::Sealed {}

/// The kinds of reads whose pages follow one after the other, so that a token can name the next one.
#[diagnostic::on_unimplemented(
    message = "a scan in segments has no single next page",
    label = "leave `segments` out to read page by page"
)]
pub trait Paged: sealed::Sealed {}

pub(super) mod sealed {
    pub trait Sealed {}
}

macro_rules! kinds {
    ($($kind:ty: $($allows:ty),*;)*) => {$(
        impl sealed::Sealed for $kind {}
        $(impl $allows for $kind {})*

        impl<T: Versioned> Reads<T> for $kind {
            type Row = Stored<T>;

            fn row(table: &Arc<str>, item: Item) -> Result<Stored<T>> {
                stored(table, item)
            }
        }
    )*};
}

kinds! {
    InTable: Ordered, Consistent, Paged;
    WholeTable: Consistent, Paged;
    InSegments: Consistent;
}

impl<T: Sorted<R, M>, R, M> Ranged<T, R, M> for InTable {
    fn bounds(range: R) -> SortBounds {
        T::bounds(range)
    }
}

/// An item as it was read.
pub(super) fn stored<T: Versioned>(table: &Arc<str>, item: Item) -> Result<Stored<T>> {
    let (value, basis) = decode(table, item)?;
    Ok(Stored::new(value, basis))
}

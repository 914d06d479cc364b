use super::{range::SortBounds, token::Secret};
use crate::{expression::Condition, model::IndexModel};

/// The settings that a [`Query`](super::Query) and a [`QuerySpec`](super::QuerySpec) share.
pub(super) struct Criteria<T> {
    /// The index that the query reads, or `None` for a read of the table itself.
    pub(super) index: Option<&'static IndexModel>,
    pub(super) bounds: SortBounds,
    pub(super) forward: bool,
    pub(super) filter: Option<Condition<T>>,
    pub(super) limit: Option<usize>,
    /// The secret that signs the page tokens of the query.
    pub(super) secret: Option<Secret>,
}

impl<T> Criteria<T> {
    pub(super) fn new(index: Option<&'static IndexModel>) -> Self {
        Self { index, bounds: SortBounds::All, forward: true, filter: None, limit: None, secret: None }
    }
}

impl<T> Clone for Criteria<T> {
    fn clone(&self) -> Self {
        let (bounds, filter, secret) = (self.bounds.clone(), self.filter.clone(), self.secret.clone());
        Self { index: self.index, bounds, forward: self.forward, filter, limit: self.limit, secret }
    }
}

/// Implements the methods that set the [`Criteria`] of a query, for one builder. A macro call
/// names the `Criteria` of the builder. The last argument of a macro call contains the lines around
/// the statements of the examples, a query of the table, a query of an index, and the end of each
/// statement.
macro_rules! criteria_methods {
    ($this:ident, [$criteria:expr], { $(#[$open:meta])* $table:literal $index:literal $end:literal $(#[$close:meta])* }) => {
        /// Limits the query to the items in a range of the sort key: a single value, `a..`, `a..=b`,
        /// `..=b`, `..b` or `..`. The range `a..b` is possible only for sort keys that are whole
        /// numbers. With an empty range, for example `9..=7`, the query returns no items and sends
        /// no request. If the caller sets several ranges, the last range applies.
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let order = ", $table, ".sort(7)", $end)]
        #[doc = concat!("let some = ", $table, ".sort(100..200)", $end)]
        $(#[$close])*
        pub fn sort<R, M>(mut $this, range: R) -> Self
        where
            K: $crate::query::kind::Ranged<T, R, M>,
        {
            $criteria.bounds = K::bounds(range);
            $this
        }

        /// Limits the query to the items whose sort key begins with a prefix. A prefix is possible
        /// only if the sort key is a string or bytes. The prefix replaces a range that the caller
        /// set earlier.
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let november = ", $index, r#".sort_prefix("2026-11")"#, $end)]
        $(#[$close])*
        pub fn sort_prefix<P, M>($this, prefix: P) -> Self
        where
            K: $crate::query::kind::Ranged<T, $crate::query::range::Prefix<P>, M>,
        {
            $this.sort($crate::query::range::Prefix(prefix))
        }

        /// Reverses the order of the items: the query returns the item with the largest sort key
        /// first.
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let newest = ", $table, ".descending()", $end)]
        $(#[$close])*
        pub fn descending(mut $this) -> Self
        where
            K: $crate::query::kind::Ordered,
        {
            $criteria.forward = false;
            $this
        }

        /// Limits the number of items in the result. Items that the filter leaves out do not count
        /// towards the limit. For [`page`](crate::query::Query::page), the limit is the maximum
        /// number of items in a page.
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let three = ", $table, ".limit(3)", $end)]
        $(#[$close])*
        pub fn limit(mut $this, items: usize) -> Self {
            $criteria.limit = Some(items);
            $this
        }

        /// Limits the result to the items that meet a condition. DynamoDB first reads the items, and
        /// then applies the filter. A filter reduces the bytes that DynamoDB sends, but not the read
        /// units of the query. If the caller sets several filters, the result contains only items
        /// that meet all conditions.
        ///
        /// The filter of a query must not name a key attribute, or DynamoDB refuses the query. To
        /// limit a query to a range of sort keys, use [`sort`](Self::sort).
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let large = ", $table, ".filter(Order::ATTR.total_cents.ge(10_000))", $end)]
        $(#[$close])*
        pub fn filter(mut $this, condition: $crate::expression::Condition<T>) -> Self {
            $criteria.filter = Some(match $criteria.filter {
                Some(filter) => filter.and(condition),
                None => condition,
            });
            $this
        }
    };
}

pub(super) use criteria_methods;

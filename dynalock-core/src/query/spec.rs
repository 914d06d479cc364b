use std::{fmt, marker::PhantomData};

use super::{
    index::Index,
    kind::{InTable, Ordered, Paged, Partitioned, Ranged},
    range::{Prefix, SortBounds},
    token::Secret,
};
use crate::{
    expression::Condition,
    key::{AsKey, IndexAttribute, KeyValue},
    model::{IndexModel, Projection, Versioned},
};

/// The description of a query, for [`Store::page`](crate::store::Store::page). A `QuerySpec`
/// contains the partition, the range, the direction, the filter and the limit of the query.
///
/// [`in_table`](Self::in_table) and [`in_index`](Self::in_index) return a builder, and
/// [`build`](QuerySpecBuilder::build) returns the query. A query from a `QuerySpec` always returns
/// whole items. If an index does not hold all attributes, the query reads the items from the table,
/// as with [`fetch`](super::Query::fetch). A query of the table is strongly consistent.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
/// # use shop::Order;
/// use dynalock::query::QuerySpec;
///
/// let newest: QuerySpec<Order> = QuerySpec::in_table("alice").sort(100..).descending().limit(20).build();
/// let open: QuerySpec<Order> = QuerySpec::in_index(Order::INDEX.by_status, "open").build();
/// assert_eq!((newest.index(), open.index()), (None, Some("by_status")));
/// ```
pub struct QuerySpec<T> {
    pub(super) index: Option<&'static IndexModel>,
    pub(super) partition: KeyValue,
    pub(super) bounds: SortBounds,
    pub(super) forward: bool,
    pub(super) filter: Option<Condition<T>>,
    pub(super) limit: Option<usize>,
    pub(super) secret: Option<Secret>,
}

/// A builder of a [`QuerySpec`]. The type parameter `K` of a `QuerySpecBuilder` is the kind of the
/// read: a query of the table or of an index. The kind of the read decides which ranges of sort
/// keys the builder accepts.
#[must_use = "it is no query until `build` is called"]
pub struct QuerySpecBuilder<T, K> {
    spec: QuerySpec<T>,
    kind: PhantomData<fn() -> K>,
}

impl<T: Versioned> QuerySpec<T> {
    /// Begins a query of the items with one partition key, like
    /// [`Repository::query`](crate::Repository::query).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let all: QuerySpec<Order> = QuerySpec::in_table("alice").build();
    /// ```
    pub fn in_table<P>(partition: P) -> QuerySpecBuilder<T, InTable>
    where
        T: Partitioned<P>,
    {
        QuerySpecBuilder::new(T::partition(partition), None)
    }

    /// Begins a query of one partition of an index, like
    /// [`Repository::query_index`](crate::Repository::query_index).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let large = QuerySpec::in_index(Order::INDEX.by_status, "open").sort(10_000..).build();
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "the partition is passed as in `query_index`")]
    pub fn in_index<P, K, V>(index: Index<T, P, K>, partition: V) -> QuerySpecBuilder<T, K>
    where
        P: IndexAttribute,
        V: AsKey<P::Key>,
    {
        QuerySpecBuilder::new(partition.as_key(), Some(index.model()))
    }
}

impl<T> QuerySpec<T> {
    /// Returns the name of the index, or `None` if the query reads the table itself.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let query: QuerySpec<Order> = QuerySpec::in_table("alice").build();
    /// assert_eq!(query.index(), None);
    /// ```
    pub fn index(&self) -> Option<&'static str> {
        self.index.map(|index| index.name)
    }

    /// Returns the value of the partition key of the query.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// use dynalock::table::KeyValue;
    ///
    /// let query: QuerySpec<Order> = QuerySpec::in_table("alice").build();
    /// assert_eq!(query.partition(), &KeyValue::S("alice".to_owned()));
    /// ```
    pub fn partition(&self) -> &KeyValue {
        &self.partition
    }

    /// Returns the range of sort keys that the query reads.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// use dynalock::table::KeyValue;
    ///
    /// let query: QuerySpec<Order> = QuerySpec::in_table("alice").sort(100..).build();
    /// assert!(query.range().contains(&KeyValue::N("250".to_owned())));
    /// ```
    pub fn range(&self) -> &SortBounds {
        &self.bounds
    }

    /// Returns `true` if the query returns the item with the largest sort key first.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let query: QuerySpec<Order> = QuerySpec::in_table("alice").descending().build();
    /// assert!(query.is_descending());
    /// ```
    pub fn is_descending(&self) -> bool {
        !self.forward
    }

    /// Returns the condition of the filter, or `None` if the query has no filter.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let query: QuerySpec<Order> = QuerySpec::in_table("alice").filter(Order::ATTR.total_cents.ge(10_000)).build();
    /// assert!(query.filter().is_some());
    /// ```
    pub fn filter(&self) -> Option<&Condition<T>> {
        self.filter.as_ref()
    }

    /// Returns the maximum number of items in a page, or `None` if the query has no limit.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let query: QuerySpec<Order> = QuerySpec::in_table("alice").limit(20).build();
    /// assert_eq!(query.limit(), Some(20));
    /// ```
    pub fn limit(&self) -> Option<usize> {
        self.limit
    }

    pub(super) fn fetches(&self) -> bool {
        self.index.is_some_and(|index| index.projection != Projection::All)
    }
}

impl<T, K> QuerySpecBuilder<T, K> {
    fn new(partition: KeyValue, index: Option<&'static IndexModel>) -> Self {
        let (bounds, forward) = (SortBounds::All, true);
        let spec = QuerySpec { index, partition, bounds, forward, filter: None, limit: None, secret: None };
        Self { spec, kind: PhantomData }
    }

    /// Limits the query to the items in a range of the sort key, like
    /// [`Query::sort`](super::Query::sort).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let some: QuerySpec<Order> = QuerySpec::in_table("alice").sort(100..200).build();
    /// ```
    pub fn sort<R, M>(mut self, range: R) -> Self
    where
        K: Ranged<T, R, M>,
    {
        self.spec.bounds = K::bounds(range);
        self
    }

    /// Limits the query to the items whose sort key begins with a prefix, like
    /// [`Query::sort_prefix`](super::Query::sort_prefix).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let november = QuerySpec::in_index(Order::INDEX.by_time, "alice").sort_prefix("2026-11").build();
    /// ```
    pub fn sort_prefix<P, M>(self, prefix: P) -> Self
    where
        K: Ranged<T, Prefix<P>, M>,
    {
        self.sort(Prefix(prefix))
    }

    /// Reverses the order of the items, like [`Query::descending`](super::Query::descending).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let newest: QuerySpec<Order> = QuerySpec::in_table("alice").descending().build();
    /// ```
    pub fn descending(mut self) -> Self
    where
        K: Ordered,
    {
        self.spec.forward = false;
        self
    }

    /// Limits the result to the items that meet a condition, like
    /// [`Query::filter`](super::Query::filter).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let large = QuerySpec::in_table("alice").filter(Order::ATTR.total_cents.ge(10_000)).build();
    /// ```
    pub fn filter(mut self, condition: Condition<T>) -> Self {
        self.spec.filter = Some(match self.spec.filter {
            Some(filter) => filter.and(condition),
            None => condition,
        });
        self
    }

    /// Limits the number of items in a page, like [`Query::limit`](super::Query::limit).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let twenty: QuerySpec<Order> = QuerySpec::in_table("alice").limit(20).build();
    /// assert_eq!(twenty.limit(), Some(20));
    /// ```
    pub fn limit(mut self, items: usize) -> Self {
        self.spec.limit = Some(items);
        self
    }

    /// Signs the page tokens with a secret, like [`Query::with_key`](super::Query::with_key).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let secret = [7; 32]; // from the configuration of the program
    /// let signed: QuerySpec<Order> = QuerySpec::in_table("alice").with_key(secret).build();
    /// ```
    pub fn with_key(mut self, secret: impl AsRef<[u8]>) -> Self
    where
        K: Paged,
    {
        self.spec.secret = Some(Secret::new(secret.as_ref()));
        self
    }

    /// Returns the finished query.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::query::QuerySpec;
    /// let all: QuerySpec<Order> = QuerySpec::in_table("alice").build();
    /// ```
    pub fn build(self) -> QuerySpec<T> {
        self.spec
    }
}

impl<T> Clone for QuerySpec<T> {
    fn clone(&self) -> Self {
        Self {
            index: self.index,
            partition: self.partition.clone(),
            bounds: self.bounds.clone(),
            forward: self.forward,
            filter: self.filter.clone(),
            limit: self.limit,
            secret: self.secret.clone(),
        }
    }
}

impl<T, K> Clone for QuerySpecBuilder<T, K> {
    fn clone(&self) -> Self {
        Self { spec: self.spec.clone(), kind: PhantomData }
    }
}

// The `Debug` output of a `QuerySpec` shows no key, and no operand of the filter.
debug_fields!([T] QuerySpec<T>, self => {
    index: self.index(),
    descending: self.is_descending(),
    filter: self.filter,
    limit: self.limit,
});

impl<T, K> fmt::Debug for QuerySpecBuilder<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec.fmt(f)
    }
}

use std::{marker::PhantomData, sync::Arc};

use super::{
    feed::{self, Feed},
    kind::{Consistent, InSegments, InTable, Ordered, Paged, Partitioned, Ranged, Reads, WholeTable},
    page::{self, Page},
    plan::{Partition, ReadPlan},
    range::{Prefix, SortBounds},
    spec::QuerySpec,
    stream::ItemStream,
    token::{PageToken, Secret},
};
use crate::{
    codec::ExpiredItems,
    error::{Error, InvalidSetting, Result},
    explain::Explained,
    expression::{Condition, Placeholders},
    key::{KeyValue, MAX_PARTITION_BYTES},
    model::{IndexModel, IndexScope, KeyModel, Model, Projection, Versioned},
    operation::{Access, PageRequest, Selection},
    repository::Repository,
    retry::{CallCost, Limits, limit_methods},
    telemetry::observe,
};

/// A builder of a query or a scan. The caller first chooses the settings, and then calls a method
/// that sends the query or scan.
///
/// | method | result |
/// |---|---|
/// | [`stream`](Self::stream) | the items one after the other; the stream requests the next page before the caller needs the next page |
/// | [`collect`](Self::collect) | all items |
/// | [`first`](Self::first) | the first item |
/// | [`count`](Self::count) | the number of items |
/// | [`page`](Self::page) | the items of one page, and a token for the next page |
///
/// [`Repository::query`] reads one partition, [`Repository::query_index`] reads one partition of an
/// index, and [`Repository::scan`] reads the whole table. The type parameter `K` of a [`Query`] is
/// the kind of the read: a query of the table, a query of an index, or a scan. The available
/// settings depend on the kind of the read.
///
/// # What a read of many items promises
///
/// - A read neither returns nor counts expired items, unless
///   [`including_expired`](Self::including_expired) is set. If an index does not hold the field
///   with `#[dynalock(expires)]`, a query of the index may return or count the keys of expired
///   items.
/// - Each item in the result is a [`Stored`](crate::Stored) value. When the caller writes a value
///   from a query, the library checks the version of the stored item, as for a value from
///   [`Repository::get`].
/// - A query does not read all items at one moment. If two writes happen during a query, the query
///   may show the later write and miss the earlier write. A query may show or miss an item that is
///   created or deleted during the query. A unit of work ([`transact`](crate::transact)) cannot
///   send queries.
/// - A read neither returns nor counts the rows of [separate leases](crate::Lockable), and lease
///   rows do not count towards a limit.
/// - Reads of a table or a local secondary index are strongly consistent, unless
///   [`eventually_consistent`](Self::eventually_consistent) is set. Reads of global secondary
///   indexes are always eventually consistent.
/// - The library retries a lost or throttled read request. The deadline of a query limits the time
///   for each page, not for the whole read.
#[must_use = "nothing is read until it is ended with `stream`, `collect`, `first`, `count` or `page`"]
pub struct Query<T, K> {
    repository: Repository<T>,
    filter: Option<Condition<T>>,
    settings: QuerySettings,
    kind: PhantomData<fn() -> K>,
}

#[derive(Clone)]
struct QuerySettings {
    limits: Limits,
    index: Option<&'static IndexModel>,
    fetches: bool,
    /// The partition that the query reads, or `None` for a scan.
    partition: Option<KeyValue>,
    bounds: SortBounds,
    forward: bool,
    consistent: bool,
    limit: Option<usize>,
    segments: u32,
    secret: Option<Secret>,
    expired: ExpiredItems,
}

impl<T: Versioned> Repository<T> {
    /// Makes a query of the items with the given partition key. The query returns the items in the
    /// order of the sort keys. If the table has no sort key, the partition has at most one item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let newest = orders.query("alice").sort(100..).descending().limit(20).collect().await?;
    /// println!("{} orders", newest.len());
    /// # Ok(())
    /// # }
    /// ```
    pub fn query<P>(&self, partition: P) -> Query<T, InTable>
    where
        T: Partitioned<P>,
    {
        Query::new(self, Some(T::partition(partition)))
    }

    /// Makes a scan of all items of the table, in no particular order. For a scan, DynamoDB reads
    /// the whole table and charges for all read items.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let mut all = orders.scan().eventually_consistent().stream();
    /// while let Some(order) = all.next().await {
    ///     println!("{}", order?.number);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn scan(&self) -> Query<T, WholeTable> {
        Query::new(self, None)
    }
}

impl<T, K> Query<T, K> {
    fn new(repository: &Repository<T>, partition: Option<KeyValue>) -> Self {
        let settings = QuerySettings {
            limits: repository.limits,
            index: None,
            fetches: false,
            partition,
            bounds: SortBounds::All,
            forward: true,
            consistent: true,
            limit: None,
            segments: 1,
            secret: None,
            expired: ExpiredItems::Absent,
        };
        Self { repository: repository.clone(), filter: None, settings, kind: PhantomData }
    }

    pub(super) fn in_index(repository: &Repository<T>, index: &'static IndexModel, partition: KeyValue) -> Self {
        let mut query = Self::new(repository, Some(partition));
        query.settings.index = Some(index);
        // DynamoDB refuses a strongly consistent read of a global index.
        query.settings.consistent = index.scope == IndexScope::Local;
        query
    }

    pub(super) fn fetching<F>(mut self) -> Query<T, F> {
        self.settings.fetches = true;
        self.of_kind()
    }

    fn of_kind<F>(self) -> Query<T, F> {
        Query { repository: self.repository, filter: self.filter, settings: self.settings, kind: PhantomData }
    }

    /// Limits the query to the items in a range of the sort key: a single value, `a..`, `a..=b`,
    /// `..=b`, `..b` or `..`. The range `a..b` is possible only for sort keys that are whole
    /// numbers. With an empty range, for example `9..=7`, the query returns no items and sends no
    /// request. If the caller sets several ranges, the last range applies.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let order = orders.query("alice").sort(7).first().await?;
    /// let some = orders.query("alice").sort(100..200).collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn sort<R, M>(mut self, range: R) -> Self
    where
        K: Ranged<T, R, M>,
    {
        self.settings.bounds = K::bounds(range);
        self
    }

    /// Limits the query to the items whose sort key begins with a prefix. A prefix is possible only
    /// if the sort key is a string or bytes. The prefix replaces a range that the caller set
    /// earlier.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let november = orders.query_index(Order::INDEX.by_time, "alice").sort_prefix("2026-11").collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn sort_prefix<P, M>(self, prefix: P) -> Self
    where
        K: Ranged<T, Prefix<P>, M>,
    {
        self.sort(Prefix(prefix))
    }

    /// Reverses the order of the items: the query returns the item with the largest sort key first.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let last = orders.query("alice").descending().first().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn descending(mut self) -> Self
    where
        K: Ordered,
    {
        self.settings.forward = false;
        self
    }

    /// Limits the number of items in the result. Items that the filter leaves out do not count
    /// towards the limit. For [`page`](Self::page), the limit is the maximum number of items in a
    /// page.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let three = orders.query("alice").limit(3).collect().await?;
    /// assert!(three.len() <= 3);
    /// # Ok(())
    /// # }
    /// ```
    pub fn limit(mut self, items: usize) -> Self {
        self.settings.limit = Some(items);
        self
    }

    /// Limits the result to the items that meet a condition. DynamoDB first reads the items, and
    /// then applies the filter. A filter reduces the bytes that DynamoDB sends, but not the read
    /// units of the query. If the caller sets several filters, the result contains only items that
    /// meet all conditions.
    ///
    /// DynamoDB refuses a query whose filter names a key attribute. To limit a query to a range of
    /// sort keys, use [`sort`](Self::sort).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let large = orders.query("alice").filter(Order::ATTR.total_cents.ge(10_000)).collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(mut self, condition: Condition<T>) -> Self {
        self.filter = Some(match self.filter {
            Some(filter) => filter.and(condition),
            None => condition,
        });
        self
    }

    /// Makes the read eventually consistent: the read may miss the most recent writes, and costs
    /// half the read units.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let count = orders.query("alice").eventually_consistent().count().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn eventually_consistent(mut self) -> Self
    where
        K: Consistent,
    {
        self.settings.consistent = false;
        self
    }

    /// Includes expired items in the result. The time in the field with `#[dynalock(expires)]`
    /// decides whether an item has expired. By default, a read neither returns nor counts expired
    /// items, and expired items do not count towards a limit.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let all = orders.query("alice").including_expired().collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn including_expired(mut self) -> Self {
        self.settings.expired = ExpiredItems::Included;
        self
    }

    limit_methods! {
        self, [self.settings.limits], {
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
            /// # use shop::Order;
            /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
            r#"let all = orders.query("alice")"# ".collect().await?;"
            /// # Ok(())
            /// # }
            /// ```
        },
        /// The deadline applies to each page of a query. The default deadline is the deadline of
        /// the repository.
        deadline;
        /// The limit of attempts applies separately to each page that the library reads from
        /// DynamoDB. The default limit is the number of attempts that the repository allows.
        attempts;
        /// The default timeout is the timeout of the repository.
        attempt_timeout;
        ///
        /// The capacity budget applies to all pages of the read together. The default capacity
        /// budget is the capacity budget of the repository.
        ///
        /// Before a request for a further page, the library assumes that the page consumes as many
        /// read units as the previous page. If the next request would exceed the budget, a
        /// [`stream`](Self::stream) first returns the items of the earlier pages, and then returns
        /// [`Error::BudgetExceeded`](crate::Error::BudgetExceeded). A [`page`](Self::page) contains
        /// fewer items than its [`limit`](Self::limit), and a token of the next page, if the budget
        /// does not allow a further request. For each page, [`fetch`](Self::fetch) sends extra
        /// requests that read the complete items. If the budget is too small for these requests,
        /// the call returns [`Error::BudgetExceeded`](crate::Error::BudgetExceeded) instead of the
        /// page.
        budget;
    }

    /// Signs the page tokens with a secret of the program, and refuses tokens without a valid
    /// signature. Without a secret, a client of the program can edit a page token, so that the
    /// query continues at another key. An edited page token cannot change the query itself. The
    /// signature is HMAC-SHA-256, so use 32 random bytes as the secret. A signed page token still
    /// contains the key of an item of the query in readable form.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let secret = [7; 32]; // from the configuration of the program
    /// let page = orders.query("alice").with_key(secret).page(None).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_key(mut self, secret: impl AsRef<[u8]>) -> Self
    where
        K: Paged,
    {
        self.settings.secret = Some(Secret::new(secret.as_ref()));
        self
    }
}

impl<T> Query<T, InTable> {
    pub(crate) fn of_spec(repository: &Repository<T>, spec: QuerySpec<T>) -> Self {
        let fetches = spec.fetches();
        let QuerySpec { index, partition, bounds, forward, filter, limit, secret } = spec;
        let query = match index {
            Some(index) => Self::in_index(repository, index, partition),
            None => Self::new(repository, Some(partition)),
        };
        let settings = QuerySettings { fetches, bounds, forward, limit, secret, ..query.settings };
        Self { filter, settings, ..query }
    }
}

impl<T> Query<T, WholeTable> {
    /// Divides the table into segments, which the scan reads in parallel. A parallel scan has at
    /// most one request in flight for each segment. The number of segments must be 1 to 1,000,000.
    /// With 0 segments or more than 1,000,000 segments, the scan fails with
    /// [`Error::InvalidSetting`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let count = orders.scan().segments(4).count().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn segments(mut self, segments: u32) -> Query<T, InSegments> {
        self.settings.segments = segments;
        self.of_kind()
    }
}

impl<T: Versioned, K: Reads<T>> Query<T, K> {
    /// Returns a stream of the items. While the caller handles the items of one page, the stream
    /// already requests the next page.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let mut all = orders.query("alice").stream();
    /// while let Some(order) = all.next().await {
    ///     println!("{}", order?.number);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The stream returns the same errors as [`collect`](Self::collect). The documentation of
    /// [`ItemStream`] says which errors end the stream.
    ///
    /// # Cancel safety
    ///
    /// The caller can drop the stream at any time. A dropped stream sends no more requests.
    pub fn stream(self) -> ItemStream<K::Output> {
        let (table, wanted) = (Arc::clone(&self.repository.table), self.settings.limit);
        ItemStream::new(table, self.feed(Selection::Attributes), wanted, K::decode)
    }

    /// Returns all items that the query or scan finds.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let all = orders.query("alice").collect().await?;
    /// println!("{} orders", all.len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Decode`]: an item cannot be decoded into a `T`. A [`stream`](Self::stream)
    ///   continues after an item that cannot be decoded.
    /// - [`Error::Corrupt`]: an attribute of the library in an item, for example `_writes`, is
    ///   invalid.
    /// - [`Error::Encode`]: an operand of the filter cannot be stored.
    /// - [`Error::IndexNotFound`]: the table does not have the index.
    /// - [`Error::Rejected`]: DynamoDB refused the query, for example because its filter names a
    ///   key attribute.
    /// - Any of the [errors of every call](Repository#errors-of-every-call).
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `collect` at any time: a read changes nothing.
    pub async fn collect(self) -> Result<Vec<K::Output>> {
        let mut stream = self.stream();
        let mut items = Vec::new();
        while let Some(item) = stream.next().await {
            items.push(item?);
        }
        Ok(items)
    }

    /// Returns the first item, or `None` if the read finds no item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// if let Some(order) = orders.query("alice").descending().first().await? {
    ///     println!("the last order is {}", order.number);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors are the same as for [`collect`](Self::collect).
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `first` at any time: a read changes nothing.
    pub async fn first(self) -> Result<Option<K::Output>> {
        // A limit of 0 from the caller stays 0, so that `first` returns `None`.
        let limit = self.settings.limit.map_or(1, |limit| limit.min(1));
        self.limit(limit).stream().next().await.transpose()
    }

    /// Returns the number of items that the query or scan finds, at most the
    /// [`limit`](Self::limit). DynamoDB charges for a count by the size of the read items, but
    /// transfers at most the keys and the expiry times of the items. The count includes items that
    /// cannot be decoded.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let count = orders.query("alice").count().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors are the same as for [`collect`](Self::collect), except [`Error::Decode`] and
    /// [`Error::Corrupt`].
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `count` at any time: a read changes nothing.
    pub async fn count(self) -> Result<usize> {
        let limit = self.settings.limit;
        let mut feed = self.feed(Selection::Count);
        let mut count: usize = 0;
        while let Some(page) = feed.next(limit.map(|limit| limit - count)).await {
            // DynamoDB can return more items than the caller wants, because each further request
            // evaluates twice as many items as the request before.
            count = count.saturating_add(page?.count).min(limit.unwrap_or(usize::MAX));
            if Some(count) == limit {
                break;
            }
        }
        Ok(count)
    }

    /// Returns one page of items, and the token of the next page. If `token` comes from an earlier
    /// page, the new page begins where the earlier page ended. If `token` is `None`, the page
    /// begins at the first item.
    ///
    /// [`limit`](Self::limit) is the maximum number of items in a page. Without a limit, a page
    /// contains the items of one DynamoDB response, for which DynamoDB reads up to 1 MB. If the
    /// filter leaves out many items, the page ends after ten requests, even if the page contains
    /// fewer items than the limit. A page of a query with a filter can be empty although a later
    /// page contains items.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # use dynalock::Repository;
    /// /// The numbers of one page, and the text of the token of the next page.
    /// async fn numbers(orders: &Repository<Order>, token: Option<String>) -> dynalock::Result<(Vec<u64>, Option<String>)> {
    ///     let page = orders.query("alice").limit(20).page(token.map(Into::into)).await?;
    ///     let numbers = page.items.into_iter().map(|order| Ok(order?.number)).collect::<dynalock::Result<_>>()?;
    ///     Ok((numbers, page.next.map(|token| token.to_string())))
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::PageToken`]: the page token is the token of another query, or the library did not
    ///   make the token.
    /// - All errors of [`collect`](Self::collect), except [`Error::Decode`] and [`Error::Corrupt`],
    ///   which the page contains in place of items that cannot be decoded.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `page` at any time: a read changes nothing. After a
    /// dropped call, the caller can use the same page token again.
    pub async fn page(self, token: Option<PageToken>) -> Result<Page<K::Output>>
    where
        K: Paged,
    {
        let Some(plan) = self.plan(Selection::Attributes)? else { return Ok(Page::new([], None)) };
        let read = page::read(&plan, token, self.settings.limit, self.settings.secret.as_ref());
        let (items, next) = observe(plan.operation(), Arc::clone(plan.table()), read).await?;
        let items = items.into_iter().map(|item| K::decode(plan.table(), item)).collect();
        Ok(Page { items, next })
    }

    /// Returns the request for the first page, as [`collect`](Self::collect),
    /// [`stream`](Self::stream) and [`page`](Self::page) send it. For a scan in segments, `explain`
    /// returns one request for each segment. `explain` sends no request. If the range or the limit
    /// allows no item, the explanation contains no request.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let newest = orders.query("alice").sort(100..).descending().limit(20);
    /// assert_eq!(
    ///     newest.explain()?.to_string(),
    ///     "Query orders (strongly consistent, descending, limit 20)\n  key        customer = <S> AND number >= <N>"
    /// );
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidKey`]: the partition key is empty.
    /// - [`Error::InvalidSetting`]: the number of segments is out of range.
    /// - [`Error::Encode`]: an operand of the filter cannot be stored.
    pub fn explain(&self) -> Result<Explained> {
        self.explain_pages(Selection::Attributes)
    }

    /// Returns the request for the first page, as [`count`](Self::count) sends it. Like
    /// [`explain`](Self::explain), `explain_count` sends no request.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// println!("{}", orders.query("alice").explain_count()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors are the same as for [`explain`](Self::explain).
    pub fn explain_count(&self) -> Result<Explained> {
        self.explain_pages(Selection::Count)
    }

    fn explain_pages(&self, selection: Selection) -> Result<Explained> {
        let Some(plan) = self.plan(selection)? else { return Ok(Explained::of(Vec::new())) };
        let requests = feed::segments(self.settings.segments).map(|segment| plan.explain(segment, self.settings.limit));
        Ok(Explained::of(requests.collect()))
    }

    fn feed(self, selection: Selection) -> Feed {
        match self.plan(selection) {
            Ok(Some(plan)) => Feed::new(plan, self.settings.segments),
            Ok(None) => Feed::default(),
            Err(error) => Feed::failed(error),
        }
    }

    /// Returns the settings of the read, or `None` if the range or the limit allows no item.
    fn plan(&self, selection: Selection) -> Result<Option<ReadPlan>> {
        const MOST_SEGMENTS: u32 = 1_000_000;
        let QuerySettings { limits, index, fetches, forward, consistent, limit, segments, .. } = self.settings;
        if !(1..=MOST_SEGMENTS).contains(&segments) {
            return Err(Error::InvalidSetting(InvalidSetting::Segments { segments }));
        }
        let (model, table) = (T::MODEL, &self.repository.table);
        let (partition_key, sort_key) = match index {
            Some(index) => (index.partition_key, index.sort_key),
            None => (model.partition_key, model.sort_key),
        };
        // An empty range leads to an empty result, and not to an error from DynamoDB.
        let bounds = self.settings.bounds.clone().without_empty();
        let mut to = Placeholders::default();
        let access = match &self.settings.partition {
            Some(partition) => {
                if let Some(reason) = partition_key.refusal_of(partition, MAX_PARTITION_BYTES) {
                    let (table, attribute) = (Arc::clone(table), partition_key.name);
                    return Err(Error::InvalidKey { table, attribute, reason });
                }
                let condition = key_condition(partition_key, partition, sort_key, &bounds, &mut to);
                Access::Query { condition, forward }
            }
            None => Access::Scan,
        };
        // The code checks the partition key before the range, so that an invalid partition key is
        // an error even if the range is empty.
        if bounds == SortBounds::Nothing || limit == Some(0) {
            return Ok(None);
        }
        let filter = self.filter.as_ref().map(|filter| filter.render(table, &mut to)).transpose()?;
        let keys = place_keys(model, index);
        let expires = model.times.expires.map(|expires| expires.name);
        let expires = expires.filter(|name| self.settings.expired == ExpiredItems::Absent && self.holds(name));
        let selection = match selection {
            // DynamoDB's own count would include lease rows and expired items, so the library reads
            // the keys of the items and counts them.
            Selection::Count if model.lock_in_row().is_some() || expires.is_some() => {
                Selection::Projection(projection(&keys, expires, &mut to))
            }
            selection => selection,
        };
        let partition = self.settings.partition.clone();
        let partition = partition.map(|value| Partition { key: partition_key, value: value.canonical() });
        let (names, values) = to.finish();
        let (table, index) = (Arc::clone(table), index.map(|index| index.name));
        // A count needs only the entries of the index, so a count does not read the items from the
        // table.
        let fetches = fetches && !matches!(selection, Selection::Count | Selection::Projection(_));
        let request = PageRequest { table, index, access, filter, names, values, selection, consistent };
        let connection = Arc::clone(&self.repository.connection);
        let hides_expired = (self.settings.expired == ExpiredItems::Absent).then(|| self.repository.item_expiry());
        let call_cost = CallCost::begin_call(connection.meter.as_ref(), limits.budget);
        Ok(Some(ReadPlan { connection, limits, call_cost, model, request, partition, keys, hides_expired, fetches }))
    }

    fn holds(&self, name: &str) -> bool {
        self.settings.index.is_none_or(|index| match index.projection {
            Projection::All => true,
            _ if index.key_attributes().any(|key| key.name == name) => true,
            Projection::KeysOnly => false,
            Projection::Include(names) => names.contains(&name),
        })
    }
}

fn place_keys(model: &Model, index: Option<&IndexModel>) -> Vec<KeyModel> {
    // An index can hold several items with the same index key, so DynamoDB identifies a position in
    // an index by the key attributes of the index and of the table. An attribute may be part of both
    // the index key and the table key.
    let of_index = index.into_iter().flat_map(IndexModel::key_attributes);
    model.key_attributes().chain(of_index.filter(|key| !model.is_key(key.name))).collect()
}

fn key_condition(
    partition_key: KeyModel,
    partition: &KeyValue,
    sort_key: Option<KeyModel>,
    bounds: &SortBounds,
    to: &mut Placeholders,
) -> String {
    let in_partition = format!("{} = {}", to.name(partition_key.name), to.value(partition.into()));
    let (Some(sort_key), false) = (sort_key, matches!(bounds, SortBounds::All | SortBounds::Nothing)) else {
        return in_partition;
    };
    let name = to.name(sort_key.name);
    let mut value = |value: &KeyValue| to.value(value.into());
    let in_range = match bounds {
        SortBounds::All | SortBounds::Nothing => return in_partition,
        SortBounds::Is(one) => format!("{name} = {}", value(one)),
        SortBounds::AtLeast(from) => format!("{name} >= {}", value(from)),
        SortBounds::AtMost(to) => format!("{name} <= {}", value(to)),
        SortBounds::Below(end) => format!("{name} < {}", value(end)),
        SortBounds::Between(from, to) => format!("{name} BETWEEN {} AND {}", value(from), value(to)),
        SortBounds::Prefix(prefix) => format!("begins_with({name}, {})", value(prefix)),
    };
    format!("{in_partition} AND {in_range}")
}

fn projection(keys: &[KeyModel], expires: Option<&str>, to: &mut Placeholders) -> String {
    let further = expires.filter(|name| keys.iter().all(|key| key.name != *name));
    let names = keys.iter().map(|key| key.name).chain(further);
    let names: Vec<_> = names.map(|name| to.name(name).to_string()).collect();
    names.join(", ")
}

impl<T, K> Clone for Query<T, K> {
    fn clone(&self) -> Self {
        let (repository, filter) = (self.repository.clone(), self.filter.clone());
        Self { repository, filter, settings: self.settings.clone(), kind: PhantomData }
    }
}

// The `Debug` output of a query contains no key and no operand, because keys and operands are user
// data.
debug_fields!([T, K] Query<T, K>, self => {
    kind: std::any::type_name::<K>(),
    repository: self.repository,
    filter: self.filter,
    limit: self.settings.limit,
});

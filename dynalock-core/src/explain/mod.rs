//! The requests of a call, as values that a program can print instead of sending the requests.

mod action;
mod expression;
mod request;
mod value;

pub use action::ExplainedAction;
pub(crate) use action::ExplainedRow;
pub use expression::ExplainedExpression;
pub use request::ExplainedRequest;
pub(crate) use request::RequestToken;

use std::fmt;

use crate::cost::Units;

/// The requests that a call would send. The method `explain` of a builder returns an `Explained`,
/// and sends nothing.
///
/// The method `explain` and the call itself use the same code to make the requests. The format `{}`
/// shows the names of tables, indexes and attributes. Instead of a value, the format `{}` shows the
/// DynamoDB type of the value, for example `<S>` for a string. A log line with the format `{}`
/// contains no content of an item. The format `{:#}` shows the values, the keys of maps and the
/// token of a transaction.
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
/// let request = products.get("85123A").explain()?;
/// assert_eq!(
///     request.to_string(),
///     "GetItem products (strongly consistent)\n  key        sku = <S>"
/// );
/// assert!(format!("{request:#}").ends_with("sku = \"85123A\""));
/// # Ok(())
/// # }
/// ```
///
/// # What is left out
///
/// - An explanation does not contain requests that a call sends only after a lost reply, a
///   throttled request or a conflict. An explanation does not contain the additional requests that
///   an expired item, an expired lease or an unprocessed part of a batch causes.
/// - An explanation of a query or scan contains only the request for the first page. An explanation
///   does not contain the reads of items whose keys a query finds in an index.
/// - The method `explain` leaves out a write that depends on an item that the call reads first. If
///   an explanation leaves out a write, [`is_complete`](Self::is_complete) returns `false`.
///
/// The random bytes and the times of a write differ between the explanation and the sent request.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    requests: Vec<ExplainedRequest>,
    rest: Rest,
}

/// The requests that the explanation of a call leaves out.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Rest {
    Nothing,
    /// A write that depends on the items that the call reads first.
    DependentWrite,
}

impl Explained {
    pub(crate) fn of(requests: Vec<ExplainedRequest>) -> Self {
        Self { requests, rest: Rest::Nothing }
    }

    pub(crate) fn before_write(reads: Vec<ExplainedRequest>) -> Self {
        Self { requests: reads, rest: Rest::DependentWrite }
    }

    pub(crate) fn after(mut self, first: ExplainedRequest) -> Self {
        self.requests.insert(0, first);
        self
    }

    /// Returns the requests in the order in which the call would send them. The returned list is
    /// empty if the call sends no request, for example for an update without changes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let explained = products.get("85123A").explain()?;
    /// assert_eq!(explained.requests()[0].operation(), "GetItem");
    /// # Ok(())
    /// # }
    /// ```
    pub fn requests(&self) -> &[ExplainedRequest] {
        &self.requests
    }

    /// Returns `true` if [`requests`](Self::requests) contains all requests of a call that succeeds
    /// at the first attempt. If an explanation leaves out a write that depends on an item that the
    /// call reads first, `is_complete` returns `false`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(
    /// #     products: &dynalock::Repository<Product>, product: Product, etag: dynalock::Etag,
    /// # ) -> dynalock::Result<()> {
    /// // DynamoDB cannot compare an item with an etag, so the item is read first.
    /// let assumed = dynalock::Stored::assume(product, etag);
    /// assert!(!products.update(assumed).explain()?.is_complete());
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_complete(&self) -> bool {
        self.rest == Rest::Nothing
    }

    /// Returns the write units that the requests consume if each item has a size of `item_bytes`
    /// bytes. The size of an item includes the attribute names and the attributes of the library.
    /// If a write changes the size of an item, DynamoDB bills the larger of the old size and the
    /// new size. The size of a separate lease row counts as one kilobyte. The row of a named lock
    /// in a transaction counts as an item of `item_bytes` bytes.
    ///
    /// For each started kilobyte, DynamoDB bills one write unit outside a transaction, and two
    /// write units in a transaction. `write_units` does not count the write units of indexes. A
    /// write that changes an entry of an index costs at least one additional write unit for the
    /// index.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let sale = products.patch("85123A").add(Product::ATTR.stock, -3);
    /// assert_eq!(sale.explain()?.write_units(1500).to_string(), "2");
    /// assert_eq!(sale.exactly_once().explain()?.write_units(1500).to_string(), "4");
    /// # Ok(())
    /// # }
    /// ```
    pub fn write_units(&self, item_bytes: usize) -> Units {
        self.actions().map(|action| action.write_units(item_bytes)).sum()
    }

    /// Returns the read units that the requests consume if each item has a size of `item_bytes`
    /// bytes. For a query or scan, `item_bytes` is the size of all items that the first page reads,
    /// including the items that the filter leaves out.
    ///
    /// For each started 4 KB of a strongly consistent read, DynamoDB bills one read unit. An
    /// eventually consistent read costs half as much as a strongly consistent read. A read in a
    /// transaction costs twice as much as a strongly consistent read.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// assert_eq!(products.get("85123A").explain()?.read_units(5000).to_string(), "2");
    /// assert_eq!(products.get("85123A").eventually_consistent().explain()?.read_units(5000).to_string(), "1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn read_units(&self, item_bytes: usize) -> Units {
        self.actions().map(|action| action.read_units(item_bytes)).sum()
    }

    fn actions(&self) -> impl Iterator<Item = &ExplainedAction> {
        self.requests.iter().flat_map(ExplainedRequest::actions)
    }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.requests.is_empty() {
            return f.write_str("no request");
        }
        for (index, request) in self.requests.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fmt::Display::fmt(request, f)?;
        }
        match self.rest {
            Rest::Nothing => Ok(()),
            Rest::DependentWrite => f.write_str("\nthen a write that depends on what was read"),
        }
    }
}

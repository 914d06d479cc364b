use std::{fmt, sync::Arc};

use super::{expression::ExplainedExpression, value::ItemText};
use crate::{
    codec::Item,
    cost::{Units, read_blocks, write_blocks},
    operation::{Access, Action, GetItem, PageRequest, PageStart, Selection, Write},
};

/// One action of a request: the part of the request for one item, or for the items of one page.
/// [`ExplainedRequest::actions`](super::ExplainedRequest::actions) returns the actions of a
/// request.
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
/// let explained = products.patch("85123A").add(Product::ATTR.stock, -3).explain()?;
/// let update = &explained.requests()[0].actions()[0];
/// println!("{} in {}: {}", update.operation(), update.table(), update.update().expect("an update"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq)]
pub struct ExplainedAction {
    operation: &'static str,
    table: Arc<str>,
    index: Option<&'static str>,
    key: Option<Item>,
    item: Option<Item>,
    key_condition: Option<ExplainedExpression>,
    condition: Option<ExplainedExpression>,
    update: Option<ExplainedExpression>,
    filter: Option<ExplainedExpression>,
    projection: Option<ExplainedExpression>,
    /// Short texts that the printed action contains, for example `strongly consistent` or `lease
    /// row`.
    settings: Vec<String>,
    rate: UnitRate,
}

/// The units that DynamoDB bills for each started block: a block has 4 KB for a read, and 1 KB for
/// a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitRate {
    Read(Units),
    Write(Units),
    LeaseRow(Units),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExplainedRow {
    Item,
    /// A separate lease row, whose size counts as one kilobyte.
    Lease,
}

impl UnitRate {
    const IN_TRANSACTION: Units = Units::whole(2);

    fn of_read(consistent: bool) -> Self {
        Self::Read(if consistent { Units::whole(1) } else { Units::HALF })
    }
}

impl ExplainedAction {
    fn new(operation: &'static str, table: Arc<str>, rate: UnitRate) -> Self {
        Self {
            operation,
            table,
            index: None,
            key: None,
            item: None,
            key_condition: None,
            condition: None,
            update: None,
            filter: None,
            projection: None,
            settings: Vec::new(),
            rate,
        }
    }

    pub(super) fn of_write(write: Write) -> Self {
        Self::write(operation(&write.action), write, UnitRate::Write(Units::whole(1)))
    }

    pub(crate) fn in_transaction(write: Write, row: ExplainedRow) -> Self {
        // DynamoDB calls the actions of a transaction `Put`, `Update`, `Delete` and
        // `ConditionCheck`.
        let operation = operation(&write.action).trim_end_matches("Item");
        let (rate, settings) = match row {
            ExplainedRow::Item => (UnitRate::Write(UnitRate::IN_TRANSACTION), Vec::new()),
            ExplainedRow::Lease => (UnitRate::LeaseRow(UnitRate::IN_TRANSACTION), vec!["lease row".to_owned()]),
        };
        Self { settings, ..Self::write(operation, write, rate) }
    }

    fn write(operation: &'static str, write: Write, rate: UnitRate) -> Self {
        let Write { table, key, action, condition, names, values } = write;
        let resolve = |text: String| ExplainedExpression::new(&text, names.as_ref(), values.as_ref());
        let (item, update) = match action {
            Action::Put(item) => (Some(item), None),
            Action::Update(text) | Action::Patch(text) | Action::RowUpdate(text) => (None, Some(resolve(text))),
            Action::Delete | Action::Check => (None, None),
        };
        Self { key: Some(key), item, condition: condition.map(resolve), update, ..Self::new(operation, table, rate) }
    }

    pub(super) fn get(operation: &'static str, GetItem { table, key, consistent }: GetItem) -> Self {
        let settings = vec![consistency(consistent).to_owned()];
        Self { key: Some(key), settings, ..Self::new(operation, table, UnitRate::of_read(consistent)) }
    }

    pub(super) fn get_in_transaction(table: Arc<str>, key: Item) -> Self {
        Self { key: Some(key), ..Self::new("Get", table, UnitRate::Read(UnitRate::IN_TRANSACTION)) }
    }

    pub(super) fn of_page(request: &PageRequest, start: &PageStart) -> Self {
        let PageRequest { table, index, access, filter, names, values, selection, consistent } = request;
        let resolve = |text: &String| ExplainedExpression::new(text, names.as_ref(), values.as_ref());
        let mut settings = vec![consistency(*consistent).to_owned()];
        let (operation, key_condition) = match access {
            Access::Query { condition, forward } => {
                settings.extend((!forward).then(|| "descending".to_owned()));
                ("Query", Some(resolve(condition)))
            }
            Access::Scan => ("Scan", None),
        };
        let projection = match selection {
            Selection::Attributes => None,
            Selection::Projection(text) => Some(resolve(text)),
            Selection::Count => {
                settings.push("count only".to_owned());
                None
            }
        };
        settings.extend(start.limit.map(|limit| format!("limit {limit}")));
        settings.extend(start.segment.map(|segment| format!("segment {} of {}", segment.number, segment.of)));
        Self {
            index: *index,
            key_condition,
            filter: filter.as_ref().map(resolve),
            projection,
            settings,
            ..Self::new(operation, Arc::clone(table), UnitRate::of_read(*consistent))
        }
    }

    /// Returns DynamoDB's name of the operation. For an action of a transaction, returns the name
    /// of the action, for example `Update` or `ConditionCheck`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let patch = products.patch("85123A").add(Product::ATTR.stock, -3);
    /// assert_eq!(patch.explain()?.requests()[0].actions()[0].operation(), "UpdateItem");
    /// assert_eq!(patch.exactly_once().explain()?.requests()[0].actions()[0].operation(), "Update");
    /// # Ok(())
    /// # }
    /// ```
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Returns the name of the table that the action reads or writes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// assert_eq!(products.get("85123A").explain()?.requests()[0].actions()[0].table(), "products");
    /// # Ok(())
    /// # }
    /// ```
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Returns the name of the index that a query reads, or `None` if the action names no index.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let open = orders.query_index(Order::INDEX.by_status, "open").explain()?;
    /// assert_eq!(open.requests()[0].actions()[0].index(), Some("by_status"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn index(&self) -> Option<&str> {
        self.index
    }

    /// Returns the key of the item that the action reads or writes, or `None` for a query or scan.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let explained = products.get("85123A").explain()?;
    /// let key = explained.requests()[0].actions()[0].key().expect("a key");
    /// assert_eq!(key["sku"].as_s(), Ok(&"85123A".to_owned()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn key(&self) -> Option<&Item> {
        self.key.as_ref()
    }

    /// Returns the item that a put writes, or `None` if the action is not a put.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let explained = products.create(Product { sku: "85123A".into(), stock: 10 }).explain()?;
    /// let item = explained.requests()[0].actions()[0].item().expect("an item");
    /// assert_eq!(item["stock"].as_n(), Ok(&"10".to_owned()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn item(&self) -> Option<&Item> {
        self.item.as_ref()
    }

    /// Returns the condition on the keys of a query: the partition, and the range of sort keys.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let newest = orders.query("alice").sort(100..).explain()?;
    /// let range = newest.requests()[0].actions()[0].key_condition().expect("a range");
    /// assert_eq!(range.to_string(), "customer = <S> AND number >= <N>");
    /// # Ok(())
    /// # }
    /// ```
    pub fn key_condition(&self) -> Option<&ExplainedExpression> {
        self.key_condition.as_ref()
    }

    /// Returns the condition of a write or a check, including the conditions that the library adds.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let explained = products.create(Product { sku: "85123A".into(), stock: 10 }).explain()?;
    /// let condition = explained.requests()[0].actions()[0].condition().expect("a condition");
    /// assert_eq!(condition.to_string(), "attribute_not_exists(sku)");
    /// # Ok(())
    /// # }
    /// ```
    pub fn condition(&self) -> Option<&ExplainedExpression> {
        self.condition.as_ref()
    }

    /// Returns the update expression of an update or a patch.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let explained = products.patch("85123A").add(Product::ATTR.stock, -3).explain()?;
    /// let update = explained.requests()[0].actions()[0].update().expect("an update");
    /// assert!(update.to_string().ends_with("stock = stock + <N>"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn update(&self) -> Option<&ExplainedExpression> {
        self.update.as_ref()
    }

    /// Returns the filter of a query or scan.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let large = orders.query("alice").filter(Order::ATTR.total_cents.ge(10_000)).explain()?;
    /// let filter = large.requests()[0].actions()[0].filter().expect("a filter");
    /// assert_eq!(filter.to_string(), "total_cents >= <N>");
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter(&self) -> Option<&ExplainedExpression> {
        self.filter.as_ref()
    }

    /// Returns the projection expression of a count, if the count must leave out lease rows or
    /// expired items. Returns `None` for any other action.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let count = orders.query("alice").explain_count()?;
    /// assert_eq!(count.requests()[0].actions()[0].projection(), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn projection(&self) -> Option<&ExplainedExpression> {
        self.projection.as_ref()
    }

    /// Returns the write units of the action for an item of `item_bytes` bytes, like
    /// [`Explained::write_units`](super::Explained::write_units). With
    /// `ExplainedAction::write_units`, a program can add up the units of a transaction whose items
    /// have different sizes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let explained = products.delete_unchecked("85123A").explain()?;
    /// assert_eq!(explained.requests()[0].actions()[0].write_units(1025).to_string(), "2");
    /// # Ok(())
    /// # }
    /// ```
    pub fn write_units(&self, item_bytes: usize) -> Units {
        match self.rate {
            UnitRate::Read(_) => Units::ZERO,
            UnitRate::Write(each) => each.times(write_blocks(item_bytes)),
            UnitRate::LeaseRow(each) => each,
        }
    }

    /// Returns the read units of the action for an item of `item_bytes` bytes, like
    /// [`Explained::read_units`](super::Explained::read_units).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let explained = products.get("85123A").explain()?;
    /// assert_eq!(explained.requests()[0].actions()[0].read_units(4097).to_string(), "2");
    /// # Ok(())
    /// # }
    /// ```
    pub fn read_units(&self, item_bytes: usize) -> Units {
        match self.rate {
            UnitRate::Read(each) => each.times(read_blocks(item_bytes)),
            UnitRate::Write(_) | UnitRate::LeaseRow(_) => Units::ZERO,
        }
    }

    pub(super) fn write_lines(&self, indent: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{indent}{} {}", self.operation, self.table)?;
        if let Some(index) = self.index {
            write!(f, ", index {index}")?;
        }
        if !self.settings.is_empty() {
            write!(f, " ({})", self.settings.join(", "))?;
        }
        let (key, item) = (self.key.as_ref().map(ItemText), self.item.as_ref().map(ItemText));
        // The item of a put already contains the key, so the output needs no separate key.
        let key = key.filter(|_| item.is_none());
        let parts: [(&str, Option<&dyn fmt::Display>); 7] = [
            ("key", key.as_ref().map(|key| key as _)),
            ("item", item.as_ref().map(|item| item as _)),
            ("key", self.key_condition.as_ref().map(|condition| condition as _)),
            ("condition", self.condition.as_ref().map(|condition| condition as _)),
            ("update", self.update.as_ref().map(|update| update as _)),
            ("filter", self.filter.as_ref().map(|filter| filter as _)),
            ("projection", self.projection.as_ref().map(|projection| projection as _)),
        ];
        for (label, part) in parts {
            let Some(part) = part else { continue };
            write!(f, "\n{indent}  {label:<10} ")?;
            part.fmt(f)?;
        }
        Ok(())
    }
}

fn operation(action: &Action) -> &'static str {
    match action {
        Action::Put(_) => "PutItem",
        Action::Update(_) | Action::Patch(_) | Action::RowUpdate(_) => "UpdateItem",
        Action::Delete => "DeleteItem",
        Action::Check => "ConditionCheck",
    }
}

fn consistency(consistent: bool) -> &'static str {
    if consistent { "strongly consistent" } else { "eventually consistent" }
}

// The `Debug` output of an action contains no key and no values, because keys and values are user
// data.
debug_fields!(ExplainedAction, self => {
    operation: self.operation,
    table: self.table,
    condition: self.condition,
    update: self.update,
});

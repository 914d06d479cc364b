//! Orders: the stored parts of invoices. The number of parts of an invoice follows from DynamoDB's
//! limits.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

use crate::{failure::Failure, invoices::Line, money::Money};

/// The maximum number of products that an order can change. A transaction has at most 100 items,
/// and the order is one of these items.
pub(crate) const MOST_PRODUCTS: usize = 99;

/// The maximum size of an item.
const LARGEST_ITEM: usize = 400 * 1024;

/// An upper bound for the size in bytes of an order without its lines and texts: the names of its
/// attributes, its numbers, and the attributes of the library.
const FRAME: usize = 1024;

/// The size of one line without its texts: a map and the names in it.
const LINE_FRAME: usize = 32;

/// One part of an invoice: one item in the table. Most invoices have one part.
///
/// The parts of an invoice are in one partition, in the order of their numbers. The existence of an
/// order proves that its lines are booked, because one transaction creates the order and books the
/// lines. If the program posts the order again, nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "dynalock-orders", index(name = "by_customer", partition_key = "customer"))]
pub(crate) struct Order {
    #[dynalock(partition_key)]
    pub(crate) invoice: String,
    /// The number of this part of the invoice, counted from 1.
    #[dynalock(sort_key)]
    pub(crate) part: u32,
    pub(crate) parts: u32,
    /// The first customer that a line of the invoice names. An order without a customer is not in
    /// the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) customer: Option<String>,
    pub(crate) lines: Vec<OrderLine>,
    /// The total of the lines of this part.
    pub(crate) total: Money,
    /// The total of the lines of all parts.
    pub(crate) invoice_total: Money,
}

/// One line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OrderLine {
    /// The line of the CSV file on which this order line begins.
    pub(crate) number: u64,
    pub(crate) sku: String,
    pub(crate) quantity: i64,
    pub(crate) price: Option<Money>,
}

impl Order {
    pub(crate) fn key(&self) -> OrderKey {
        OrderKey::from((self.invoice.as_str(), self.part))
    }

    /// Returns the lines of each product, by its stock code.
    pub(crate) fn by_product(&self) -> BTreeMap<&str, Vec<&OrderLine>> {
        let mut products: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for line in &self.lines {
            products.entry(line.sku.as_str()).or_default().push(line);
        }
        products
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { invoice, part, parts, .. } = self;
        match parts {
            1 => write!(f, "invoice {invoice:?}"),
            _ => write!(f, "part {part} of {parts} of invoice {invoice:?}"),
        }
    }
}

/// Returns the orders of all invoices, in the order in which the invoices begin in the file. The
/// lines of an invoice may be anywhere in the file.
pub(crate) fn of(lines: &[Line]) -> Result<Vec<Order>, Failure> {
    let mut orders = Vec::new();
    for lines in grouped(lines, |line| &line.invoice) {
        let invoice = &lines[0].invoice;
        let customer = lines.iter().find_map(|line| line.customer.as_ref());
        let room = room(invoice, customer);
        let parts = split(&lines, room).map_err(|(sku, lines)| Failure::TooManyLines {
            invoice: invoice.clone(),
            sku: sku.to_owned(),
            lines,
        })?;
        let count = number(parts.len());
        for (index, part) in parts.into_iter().enumerate() {
            orders.push(Order {
                invoice: invoice.clone(),
                part: number(index + 1),
                parts: count,
                customer: customer.cloned(),
                total: total(&part),
                invoice_total: total(&lines),
                lines: part.into_iter().map(OrderLine::of).collect(),
            });
        }
    }
    Ok(orders)
}

impl OrderLine {
    fn of(line: &Line) -> Self {
        Self { number: line.number, sku: line.sku.clone(), quantity: line.quantity, price: line.price }
    }
}

/// Splits an invoice into parts of up to 99 products that fit into an item. All lines of a product
/// are in the same part. If 99 products always fit into an item, the number of parts is minimal.
///
/// If the lines of one product are too large for an item, returns this product and the number of
/// its lines.
fn split<'l>(lines: &[&'l Line], room: usize) -> Result<Vec<Vec<&'l Line>>, (&'l str, usize)> {
    let mut parts: Vec<Vec<&Line>> = Vec::new();
    let (mut products, mut left) = (MOST_PRODUCTS, 0);
    for product in grouped(lines.iter().copied(), |line| &line.sku) {
        let size: usize = product.iter().map(|line| size(line)).sum();
        if size > room {
            return Err((&product[0].sku, product.len()));
        }
        if products == MOST_PRODUCTS || size > left {
            parts.push(Vec::new());
            (products, left) = (0, room);
        }
        products += 1;
        left -= size;
        parts.last_mut().into_iter().for_each(|part| part.extend(&product));
    }
    for part in &mut parts {
        part.sort_by_key(|line| line.number);
    }
    Ok(parts)
}

/// Returns the maximum size of all lines of an order.
fn room(invoice: &str, customer: Option<&String>) -> usize {
    LARGEST_ITEM.saturating_sub(FRAME + invoice.len() + customer.map_or(0, String::len))
}

/// Returns the size of a line in an item, by DynamoDB's rules. A number takes one byte for each two
/// digits, one more byte, and one for a sign.
fn size(line: &Line) -> usize {
    let number = |number: u64| number.checked_ilog10().map_or(1, |log| log as usize + 1).div_ceil(2) + 2;
    let price = line.price.map_or(0, Money::millionths);
    LINE_FRAME
        + line.sku.len()
        + [line.number, line.quantity.unsigned_abs(), price.unsigned_abs()].map(number).iter().sum::<usize>()
}

/// Groups lines with a common property, in the order in which each property first appears.
fn grouped<'l>(
    lines: impl IntoIterator<Item = &'l Line>,
    common: impl Fn(&'l Line) -> &'l String,
) -> Vec<Vec<&'l Line>> {
    let mut places = HashMap::new();
    let mut groups: Vec<Vec<&Line>> = Vec::new();
    for line in lines {
        let place = *places.entry(common(line)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(line),
            None => groups.push(vec![line]),
        }
    }
    groups
}

fn total(lines: &[&Line]) -> Money {
    lines.iter().map(|line| line.amount).sum()
}

/// Converts a number of lines into a `u32`. A file in memory has fewer lines than a `u32` can
/// count.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

//! Compares the orders after the run with the orders in the file.

use std::{path::Path, sync::Arc};

use dynalock::{Repository, Stored};
use serde::Serialize;

use crate::{
    failure::Failure,
    money::Money,
    orders::{MOST_PRODUCTS, Order, OrderLine},
    report, workers,
};

/// The columns of the CSV file to which the audit writes the orders that it found.
const DUMPED: [&str; 10] =
    ["invoice", "part", "parts", "customer", "total", "invoice_total", "line", "sku", "quantity", "price"];

/// The maximum number of wrong orders that the report names.
const NAMED: usize = 10;

/// The orders of one run.
#[derive(Debug)]
pub(crate) struct Audit {
    orders: Vec<Filed>,
    /// The number of orders that this run has posted.
    posted: u64,
}

/// The order that the file requires, and the order that was found.
#[derive(Debug)]
struct Filed {
    expected: Arc<Order>,
    found: Option<Stored<Order>>,
}

/// The figures of the audit in the JSON report.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    orders: usize,
    order_lines: usize,
    total: String,
    posted: u64,
    already_posted: u64,
    wrong_orders: u64,
    split_invoices: u64,
    largest_invoice: Option<String>,
    largest_invoice_products: usize,
    largest_invoice_parts: u32,
}

impl Filed {
    /// Returns whether the order was created once, never written again, and equals the file in each
    /// line.
    fn is_complete(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.version() == 1 && **found == *self.expected)
    }
}

impl Audit {
    /// Reads all orders.
    pub(crate) async fn take(
        repository: &Repository<Order>,
        orders: Vec<Arc<Order>>,
        posted: u64,
        workers: u16,
    ) -> Result<Self, Failure> {
        let repository = repository.clone();
        let read = move |expected| read(repository.clone(), expected);
        let mut orders = workers::drain("auditing", orders, workers, read).await?;
        orders.sort_by(|a, b| (&a.expected.invoice, a.expected.part).cmp(&(&b.expected.invoice, b.expected.part)));
        Ok(Self { orders, posted })
    }

    pub(crate) fn len(&self) -> u64 {
        self.orders.len() as u64
    }

    pub(crate) fn posted(&self) -> u64 {
        self.posted
    }

    /// Returns the number of orders that are missing or differ from the file.
    pub(crate) fn wrong(&self) -> u64 {
        self.wrong_orders().count() as u64
    }

    fn wrong_orders(&self) -> impl Iterator<Item = &Filed> {
        self.orders.iter().filter(|filed| !filed.is_complete())
    }

    /// Prints the wrong orders on stderr.
    pub(crate) fn report_wrong(&self) {
        for Filed { expected, found } in self.wrong_orders().take(NAMED) {
            match found {
                None => eprintln!("{expected} is missing"),
                Some(_) => eprintln!("{expected} is not as the file says"),
            }
        }
    }

    pub(crate) fn figures(&self) -> Figures {
        let largest = self.largest();
        Figures {
            orders: self.orders.len(),
            order_lines: self.lines(),
            total: self.total().to_string(),
            posted: self.posted,
            already_posted: self.len() - self.posted,
            wrong_orders: self.wrong(),
            split_invoices: self.split(),
            largest_invoice: largest.map(|(order, _)| order.invoice.clone()),
            largest_invoice_products: largest.map_or(0, |(_, products)| products),
            largest_invoice_parts: largest.map_or(0, |(order, _)| order.parts),
        }
    }

    /// Returns the part of the report about orders: a name, a figure, and an explanation.
    pub(crate) fn rows(&self) -> [(&'static str, u64, String); 4] {
        let split = match self.largest() {
            Some((Order { invoice, parts, .. }, products)) if *parts > 1 => format!(
                "invoices in several parts, of {MOST_PRODUCTS} products at most; the largest, {}, has {products} in {parts}",
                report::shortened(invoice)
            ),
            _ => format!("invoices in several parts: none has more than {MOST_PRODUCTS} products"),
        };
        let wrong = match self.wrong() {
            0 => "nothing: each has all its lines, its customer and its total",
            _ => "orders that are missing, or not as the file says",
        };
        let already = self.len() - self.posted;
        [
            ("orders", self.len(), format!("with {} lines, worth {}", self.lines(), self.total())),
            ("posted", self.posted, format!("of them in this run; {already} were there already")),
            ("wrong orders", self.wrong(), wrong.to_owned()),
            ("split", self.split(), split),
        ]
    }

    fn complete(&self) -> impl Iterator<Item = &Order> {
        self.orders.iter().filter(|filed| filed.is_complete()).map(|filed| &*filed.expected)
    }

    fn lines(&self) -> usize {
        self.complete().map(|order| order.lines.len()).sum()
    }

    fn total(&self) -> Money {
        self.complete().map(|order| order.total).sum()
    }

    /// Returns the number of invoices with several parts.
    fn split(&self) -> u64 {
        self.orders.iter().filter(|filed| filed.expected.part == 2).count() as u64
    }

    /// Returns an order of the largest invoice, and the number of products in this invoice. The
    /// largest invoice has the most parts. Among invoices with equally many parts, the largest
    /// invoice has the most products.
    fn largest(&self) -> Option<(&Order, usize)> {
        let of_invoice = |orders: &[Filed]| orders.iter().map(|filed| filed.expected.by_product().len()).sum();
        let invoices = self.orders.chunk_by(|a, b| a.expected.invoice == b.expected.invoice);
        invoices
            .map(|orders| (&*orders[0].expected, of_invoice(orders)))
            .max_by_key(|&(order, products)| (order.parts, products))
    }

    /// Writes one row for each line of the orders that were found. Prices and totals are decimals.
    pub(crate) fn dump(&self, path: &Path) -> Result<(), Failure> {
        let write = || {
            let mut file = csv::Writer::from_path(path)?;
            file.write_record(DUMPED)?;
            for order in self.orders.iter().filter_map(|filed| filed.found.as_ref()) {
                let Order { invoice, part, parts, customer, lines, total, invoice_total } = &**order;
                for OrderLine { number, sku, quantity, price } in lines {
                    let [total, invoice_total] = [total, invoice_total].map(Money::to_string);
                    let price = price.map(|price| price.to_string());
                    file.serialize((
                        (invoice, part, parts, customer, total, invoice_total),
                        (number, sku, quantity, price),
                    ))?;
                }
            }
            file.flush().map_err(csv::Error::from)
        };
        write().map_err(|source| Failure::Dump { path: path.to_owned(), source })
    }
}

async fn read(orders: Repository<Order>, expected: Arc<Order>) -> Result<Filed, Failure> {
    let found = orders.get(expected.key()).await.map_err(Failure::Auditing)?;
    Ok(Filed { expected, found })
}

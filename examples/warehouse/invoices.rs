//! A file of invoices, and the stock that must result from its lines.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    ops::RangeInclusive,
    path::Path,
};

use crate::{
    args::{Args, Mode},
    columns::{Columns, Row},
    failure::Failure,
    money::Money,
    records::Records,
    stock::OPENING_STOCK,
};

const SAMPLE: &[u8] = include_bytes!("../data/invoices.csv");

/// A file of invoices.
#[derive(Debug)]
pub(crate) struct Invoices {
    pub(crate) name: String,
    pub(crate) lines: Vec<Line>,
    /// The number of different invoices in the file.
    pub(crate) count: usize,
    /// The expected figures of each product, by its stock code.
    pub(crate) products: BTreeMap<String, Expected>,
    pub(crate) skipped: Vec<Skipped>,
    /// The sum of the absolute amounts of all lines. If the sum of absolute amounts fits into 64
    /// bits, the sum of any lines fits, too.
    worth: Money,
}

/// One line of an invoice.
#[derive(Debug)]
pub(crate) struct Line {
    /// The line of the file on which this invoice line begins.
    pub(crate) number: u64,
    pub(crate) invoice: String,
    pub(crate) sku: String,
    pub(crate) quantity: i64,
    /// Only the mode that posts orders needs the price, the amount and the customer. In a mode
    /// without orders, the line has no price and no customer, and the amount is zero.
    pub(crate) price: Option<Money>,
    pub(crate) amount: Money,
    pub(crate) customer: Option<String>,
}

/// A line that cannot be read.
#[derive(Debug)]
pub(crate) struct Skipped {
    number: u64,
    reason: String,
}

/// The sum of the lines of one product.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    pub(crate) description: Option<String>,
    pub(crate) lines: u64,
    /// The numbers of the invoices that contain the product.
    invoices: HashSet<String>,
    sold: i64,
    returned: i64,
}

impl Invoices {
    /// Reads a file of invoices, or the sample file if `path` is `None`.
    pub(crate) fn open(path: Option<&Path>, mode: Mode) -> Result<Self, Failure> {
        match path {
            None => Self::read("examples/data/invoices.csv".to_owned(), SAMPLE, mode),
            Some(path) => {
                let file = fs::read(path).map_err(|source| Failure::Read { path: path.to_owned(), source })?;
                Self::read(path.display().to_string(), &file, mode)
            }
        }
    }

    fn read(name: String, file: &[u8], mode: Mode) -> Result<Self, Failure> {
        let mut invoices = Self {
            name,
            lines: Vec::new(),
            count: 0,
            products: BTreeMap::new(),
            skipped: Vec::new(),
            worth: Money::default(),
        };
        let mut records = Records::new(file);
        let Some(header) = records.header() else { return Ok(invoices) };
        let columns = Columns::find(&invoices.name, &header, mode)?;

        for (number, record) in records {
            let booked = record.and_then(|record| columns.row(&record)).and_then(|row| invoices.book(number, row));
            if let Err(reason) = booked {
                invoices.skipped.push(Skipped { number, reason });
            }
        }
        invoices.count = invoices.lines.iter().map(|line| &line.invoice).collect::<HashSet<_>>().len();
        invoices.products.retain(|_, expected| expected.lines > 0);
        Ok(invoices)
    }

    /// Adds a line to the invoices.
    fn book(&mut self, number: u64, row: Row) -> Result<(), String> {
        let Row { invoice, sku, quantity, description, price, customer } = row;
        let amount = price.map_or(Some(Money::default()), |price| price.times(quantity));
        let worth = amount.and_then(|amount| self.worth.beside(amount));
        let (Some(amount), Some(worth)) = (amount, worth) else {
            return Err(format!(
                "Quantity {quantity} at its UnitPrice would take the amounts of the file beyond 64 bits"
            ));
        };
        let expected = self.products.entry(sku.clone()).or_default();
        expected.add(quantity)?;
        expected.description = expected.description.take().or(description);
        expected.invoices.insert(invoice.clone());
        self.worth = worth;
        self.lines.push(Line { number, invoice, sku, quantity, price, amount, customer });
        Ok(())
    }

    /// Prints on stderr the lines of the file that are not booked.
    pub(crate) fn report_skipped(&self) {
        for Skipped { number, reason } in &self.skipped {
            eprintln!("{}:{number}: skipped: {reason}", self.name);
        }
        if self.lines.is_empty() {
            eprintln!("{} has no line to book", self.name);
        }
    }
}

impl Expected {
    /// Returns the stock after all lines are booked.
    pub(crate) fn stock(&self) -> i64 {
        OPENING_STOCK - self.sold - self.returned
    }

    /// Returns the minimum and the maximum number of writes of the product after all lines are
    /// booked.
    pub(crate) fn writes(&self, args: &Args) -> RangeInclusive<u64> {
        let most = match args.mode {
            Mode::Update | Mode::Patch | Mode::Naive => self.lines,
            Mode::Transaction => self.invoices.len() as u64,
        };
        // A combined write books at least one line.
        if args.combining { most.min(1)..=most } else { most..=most }
    }

    /// Adds a line, if the stock fits into 64 bits whatever the order in which the lines are
    /// booked.
    fn add(&mut self, quantity: i64) -> Result<(), String> {
        let total = if quantity > 0 { &mut self.sold } else { &mut self.returned };
        let sum = total.checked_add(quantity).filter(|sum| OPENING_STOCK.checked_sub(*sum).is_some());
        *total = sum.ok_or_else(|| format!("Quantity {quantity} would take the stock beyond 64 bits"))?;
        self.lines += 1;
        Ok(())
    }
}

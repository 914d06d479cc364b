//! The output at the end of a run: a table for people, or one line of JSON for programs.

use std::{
    cmp::Reverse,
    fmt,
    io::{self, Write},
    time::Duration,
};

use serde::Serialize;

use crate::{
    args::Mode,
    audit::{self, Audit},
    failure::Failure,
    sales::Sales,
    stock::{Counted, OPENING_STOCK},
    traffic::Totals,
};

/// The number of products in the table.
const SHOWN: usize = 6;

/// The result of one run.
#[derive(Debug)]
pub(crate) struct Report<'r> {
    pub(crate) file: String,
    pub(crate) mode: Mode,
    pub(crate) combining: bool,
    pub(crate) workers: u16,
    pub(crate) invoices: usize,
    pub(crate) skipped: usize,
    pub(crate) stock: &'r [Counted],
    /// The orders, if the invoices were posted as orders.
    pub(crate) audit: Option<&'r Audit>,
    pub(crate) sales: &'r Sales,
    pub(crate) traffic: Totals,
    pub(crate) elapsed: Duration,
}

#[derive(Serialize)]
struct Figures {
    mode: Mode,
    combining: bool,
    workers: u16,
    invoices: usize,
    lines: u64,
    products: usize,
    skipped: usize,
    writes: u64,
    requests: u64,
    conflicts: u64,
    retries: u64,
    lost_updates: u64,
    elapsed_ms: u64,
    #[serde(flatten)]
    audit: Option<audit::Figures>,
}

impl Report<'_> {
    pub(crate) fn lost_updates(&self) -> u64 {
        self.stock.iter().map(Counted::lost).sum()
    }

    /// Returns whether the run has the expected result. A booking without dynalock is expected to
    /// lose updates.
    pub(crate) fn verdict(&self) -> Result<(), Failure> {
        let foreign = self.stock.iter().filter(|counted| counted.holds_more()).count();
        let wrong = self.audit.map_or(0, Audit::wrong);
        match (self.mode, self.lost_updates()) {
            (Mode::Transaction, _) if foreign > 0 => Err(Failure::Foreign(foreign)),
            (Mode::Transaction, _) if wrong > 0 => Err(Failure::Orders(wrong)),
            (Mode::Naive, _) | (_, 0) => Ok(()),
            (Mode::Update | Mode::Patch | Mode::Transaction, lost) => Err(Failure::Lost(lost)),
        }
    }

    pub(crate) fn json(&self) -> Result<String, Failure> {
        let figures = Figures {
            mode: self.mode,
            combining: self.combining,
            workers: self.workers,
            invoices: self.invoices,
            lines: self.lines(),
            products: self.stock.len(),
            skipped: self.skipped,
            writes: self.traffic.writes,
            requests: self.traffic.requests,
            conflicts: self.traffic.conflicts,
            retries: self.retries(),
            lost_updates: self.lost_updates(),
            elapsed_ms: self.milliseconds(),
            audit: self.audit.map(Audit::figures),
        };
        serde_json::to_string(&figures).map_err(|error| Failure::Print(error.into()))
    }

    fn lines(&self) -> u64 {
        self.stock.iter().map(|counted| counted.expected.lines).sum()
    }

    fn milliseconds(&self) -> u64 {
        u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the word for one unit of work (`update` or `order`), the number of units, and the
    /// number of writes that the units needed.
    fn unit(&self) -> (&'static str, u64, u64) {
        match self.audit {
            None => ("update", self.lines(), self.lines()),
            Some(audit) => ("order", audit.len(), audit.posted()),
        }
    }

    /// Returns the number of attempted writes beyond one write for each line or order.
    fn retries(&self) -> u64 {
        let (_, _, needed) = self.unit();
        self.traffic.attempted_writes().saturating_sub(needed)
    }

    /// Returns the first products, sorted by the number of lost updates and then by the number of
    /// lines.
    fn shown(&self) -> Vec<&Counted> {
        let mut products: Vec<_> = self.stock.iter().collect();
        products.sort_by_key(|counted| Reverse((counted.lost(), counted.expected.lines)));
        products.truncate(SHOWN);
        products
    }

    fn write_stock(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, [lines, opening, asked, expected, found, lost]: [i128; 6]| {
            let [lines, opening, asked] = [lines, opening, asked].map(grouped);
            let [expected, found, lost] = [expected, found, lost].map(grouped);
            writeln!(f, "  {name:<22}  {lines:>7}  {opening:>11}  {asked:>9}  {expected:>11}  {found:>11}  {lost:>5}")
        };
        let mut all = [0; 6];
        for counted in self.stock {
            all.iter_mut().zip(figures(counted)).for_each(|(sum, figure)| *sum += figure);
        }
        for counted in self.shown() {
            row(&shortened(&counted.product.sku), figures(counted))?;
        }
        row(&format!("all {} products", self.stock.len()), all)
    }

    fn write_outcome(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, figure: u64, meaning: &str| {
            writeln!(f, "  {name:<16}{:>10}   {meaning}", grouped(figure.into()))
        };
        for (name, figure, meaning) in self.audit.into_iter().flat_map(Audit::rows) {
            row(name, figure, &meaning)?;
        }
        let wrong = self.stock.iter().filter(|counted| counted.lost() > 0).count();
        let lost = match wrong {
            0 => "nothing: every line is in the stock".to_owned(),
            _ => format!("lines that are not in the stock, on {wrong} products"),
        };
        row("lost updates", self.lost_updates(), &lost)?;
        let Totals { requests, reads, conflicts, .. } = self.traffic;
        row("conflicts", conflicts, "writes that were refused, since another worker had been first")?;
        row("retries", self.retries(), "writes that were sent again")?;
        let (unit, units, _) = self.unit();
        let (each, writes) = (ratio(requests, units), self.traffic.attempted_writes());
        row("requests", requests, &format!("{each:.2} for each {unit}: {reads} reads, {writes} writes"))?;
        let pace = grouped(i128::from(units) * 1000 / i128::from(self.milliseconds().max(1)));
        row("milliseconds", self.milliseconds(), &format!("{pace} {unit}s a second"))?;
        row("skipped", self.skipped as u64, "lines that could not be read")
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.mode {
            Mode::Update if self.combining => "with dynalock's update_with, the calls of a product combined",
            Mode::Patch if self.combining => "with dynalock's patch, the calls of a product combined",
            Mode::Update => "with dynalock's update_with",
            Mode::Patch => "with dynalock's patch, without a read",
            Mode::Naive => "by get and put, without a condition",
            Mode::Transaction => "with dynalock's transact, each order as one unit of work",
        };
        let (lines, invoices) = (self.lines(), self.invoices);
        writeln!(f, "{}: {lines} lines of {invoices} invoices,", self.file)?;
        writeln!(f, "booked by {} workers at the same time {how}", self.workers)?;
        writeln!(f)?;
        let [lines, opening, asked] = ["lines", "opening", "asked for"];
        let [expected, found, lost] = ["expected", "stock", "lost"];
        let name = "product";
        writeln!(f, "  {name:<22}  {lines:>7}  {opening:>11}  {asked:>9}  {expected:>11}  {found:>11}  {lost:>5}")?;
        self.write_stock(f)?;
        writeln!(f)?;
        self.write_outcome(f)?;
        self.sales.fmt(f)
    }
}

fn figures(counted: &Counted) -> [i128; 6] {
    let (opening, expected) = (i128::from(OPENING_STOCK), i128::from(counted.expected.stock()));
    let found = i128::from(counted.product.stock);
    [counted.expected.lines.into(), opening, opening - expected, expected, found, counted.lost().into()]
}

/// Returns the beginning of a stock code or invoice number that fits on the line.
pub(crate) fn shortened(sku: &str) -> String {
    const WIDTH: usize = 22;
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    let mut name: String = sku.chars().map(printable).take(WIDTH).collect();
    if sku.chars().count() > WIDTH {
        name.pop();
        name.push('…');
    }
    name
}

/// Formats 1234567 as 1,234,567.
pub(crate) fn grouped(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::from(if number < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// A closed output is not an error, because the reader of the output has stopped reading.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout().lock(), "{}", text.trim_end()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::Print(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

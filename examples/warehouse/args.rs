//! The command line.

use std::path::PathBuf;

use clap::{CommandFactory, Parser, ValueEnum, error::ErrorKind, value_parser};
use serde::Serialize;

/// Books the lines of invoices in a stock of products, by many workers at once, and counts the lost
/// updates.
#[derive(Debug, Parser)]
#[command(name = "warehouse", after_help = NOTES)]
pub(crate) struct Args {
    /// A CSV file of invoices. Without this option, the program uses a small sample
    pub(crate) file: Option<PathBuf>,

    /// The way in which the lines are booked
    #[arg(long, value_enum, default_value = "update")]
    pub(crate) mode: Mode,

    /// Write the concurrent bookings of a product together; with --mode update or patch
    #[arg(long)]
    pub(crate) combining: bool,

    /// The number of workers that book at the same time
    #[arg(long, value_name = "N", default_value = "16", value_parser = value_parser!(u16).range(1..))]
    pub(crate) workers: u16,

    /// Write the final stock to this file, as CSV: sku,stock,version
    #[arg(long, value_name = "FILE")]
    pub(crate) dump: Option<PathBuf>,

    /// Write the lines of the orders to this file, as CSV; with --mode transaction
    #[arg(long, value_name = "FILE")]
    pub(crate) dump_orders: Option<PathBuf>,

    /// Print the figures as one JSON object, on the last line
    #[arg(long)]
    pub(crate) json: bool,

    /// The address of a DynamoDB to use instead of the one inside the process
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) endpoint: Option<String>,

    /// A file that stores the database of the DynamoDB inside the process. A missing file is
    /// created
    #[arg(long, value_name = "FILE", conflicts_with = "endpoint")]
    pub(crate) database: Option<PathBuf>,
}

impl Args {
    /// Reads the command line. If the command line is invalid, ends the program.
    pub(crate) fn read() -> Self {
        let args = Self::parse();
        if args.dump_orders.is_some() && args.mode != Mode::Transaction {
            let message = "--dump-orders needs --mode transaction: the other modes make no orders";
            Self::command().error(ErrorKind::ArgumentConflict, message).exit();
        }
        if args.combining && !matches!(args.mode, Mode::Update | Mode::Patch) {
            let message = "--combining needs --mode update or patch: the other modes book in another way";
            Self::command().error(ErrorKind::ArgumentConflict, message).exit();
        }
        args
    }
}

/// The way in which the lines are booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// With dynalock: `update_with`, one call for each line
    Update,
    /// With dynalock: `patch`, one request a line, without a read
    Patch,
    /// With the SDK alone: get, change, and put without a condition
    Naive,
    /// With dynalock: `transact`, one unit of work for each invoice, which creates an order and
    /// updates its products
    Transaction,
}

/// Checks the address of an endpoint, because the SDK would check the address only at the first
/// request.
fn url(text: &str) -> Result<String, &'static str> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")).unwrap_or_default();
    match host.starts_with(|c: char| c.is_alphanumeric() || c == '[') {
        true => Ok(text.to_owned()),
        false => Err("an address like http://127.0.0.1:8000 is needed"),
    }
}

const NOTES: &str = "\
The file needs the columns InvoiceNo, StockCode and Quantity, found by name; Description is used if it is there, and with
--mode transaction UnitPrice and CustomerID; others are ignored. Stock codes are taken exactly as they are written. A line
that cannot be read is reported and skipped.

Every stock code is a product with an opening stock of 100000. With --endpoint or --database the products are kept in the
table `dynalock-warehouse`, which is created if it is missing. Each run deletes the products of its file there and starts
them again from the opening stock, so two runs at the same time disturb each other; --mode transaction deletes nothing.
Region and credentials for --endpoint come from AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
AWS_SESSION_TOKEN; without them, us-east-1 and any key, which is what local engines expect.

--mode transaction keeps its products in the table `dynalock-warehouse-posted` and an order for each invoice in
`dynalock-orders`: its lines, its customer (the first that a line names) and its total. An order is posted as a whole: it is
created and each of its products is updated once, or nothing happens. An invoice with more than 99 products is posted in
several orders, its parts, each product in one of them: DynamoDB takes 100 items in a transaction. So is one whose lines are
larger than the 400 KB of an item. An order that is there is not posted again: a run can be repeated, also after one that was
ended in the middle or by several processes at the same time. What is in the database is expected to come from this file:
orders of another file with the same products or invoices are reported as wrong.

Prices are decimal numbers with a point and up to 6 decimals, and nothing is rounded. A line without a price counts nothing
in the total. A line with one that cannot be read is skipped, with --mode transaction; the other modes do not look at it.

Each line also counts up a number in its product. The lines that are missing there in the end are the lost updates, and a
product whose stock or version is not exactly what its lines say counts as one at least. The version is that of one write
for each line, or with --mode transaction for each invoice that holds the product. With --combining, a write has one line or
several lines, so the version may be lower.

The report ends with the products that were sold most and, with --mode transaction, the orders of the customer who has the most.
Both are read by queries over indexes, which are created with the tables. A table of an earlier version of this program has no
index: delete it first.

The requests that are reported are those of the bookings: creating the products, counting them and querying what was sold are
not among them.
The exit code is not zero if anything failed, if --mode update, patch or transaction lost an update, or if an order is not as the
file says.";

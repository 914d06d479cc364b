//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum, value_parser};
use serde::Serialize;

/// Books the lines of invoices against a stock of products, by many workers at once, and counts what was lost.
#[derive(Debug, Parser)]
#[command(name = "warehouse", after_help = NOTES)]
pub(crate) struct Args {
    /// A CSV file of invoices; without one, a small sample
    pub(crate) file: Option<PathBuf>,

    /// How a line is booked
    #[arg(long, value_enum, default_value = "update")]
    pub(crate) mode: Mode,

    /// How many workers book at the same time
    #[arg(long, value_name = "N", default_value = "16", value_parser = value_parser!(u16).range(1..))]
    pub(crate) workers: u16,

    /// Write the final stock to this file, as CSV: sku,stock,version
    #[arg(long, value_name = "FILE")]
    pub(crate) dump: Option<PathBuf>,

    /// Print the figures as one JSON object, on the last line
    #[arg(long)]
    pub(crate) json: bool,

    /// The address of a DynamoDB to use instead of the one inside the process
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) endpoint: Option<String>,
}

/// How a line is booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    /// With dynalock: `update_with`, one call a line
    Update,
    /// With the SDK alone: get, change, put without a condition
    Naive,
}

/// The SDK looks at an address only when it sends the first request.
fn url(text: &str) -> Result<String, &'static str> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://")).unwrap_or_default();
    match host.starts_with(|c: char| c.is_alphanumeric() || c == '[') {
        true => Ok(text.to_owned()),
        false => Err("an address like http://127.0.0.1:8000 is needed"),
    }
}

const NOTES: &str = "\
The file needs the columns InvoiceNo, StockCode and Quantity, found by name; Description is used if it is there, others
are ignored. Stock codes are taken exactly as they are written. A line that cannot be read is reported and skipped.

Every stock code is a product with an opening stock of 100000. With --endpoint the products are kept in the table
`dynalock-warehouse`, which is created if it is missing. Each run deletes the products of its file there and starts them
again from the opening stock, so two runs at the same time disturb each other. Region and credentials come from
AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; without them, us-east-1 and any key, which is
what local engines expect.

Each line also counts up a number in its product. The lines that are missing there in the end are the lost updates, and a
product whose stock or version is not exactly what its lines say counts as one at least.

The requests that are reported are those of the bookings: creating the products and counting them are not among them.
The exit code is not zero if anything failed, or if --mode update lost an update.";

//! A warehouse that books the lines of invoices against its stock, many at a time, and can prove that none was lost.
//!
//! ```text
//! cargo run --example warehouse                                          a small sample, on a DynamoDB inside the process
//! cargo run --example warehouse -- --mode naive                          the same without dynalock: what gets lost
//! cargo run --example warehouse -- invoices.csv --workers 32 --json      your own invoices
//! cargo run --example warehouse -- --endpoint http://127.0.0.1:8000      a DynamoDB behind an address
//! ```
//!
//! Every stock code of the file is a [`Product`] with 100,000 pieces; every line takes its quantity out of the stock, or
//! puts it back if it is negative. Many lines name the same products, and many workers book them at the same time.
//!
//! How lost updates are counted: each booking adds one to [`Product::booked`], so the bookings that are missing in the end,
//! product by product, are those that were overwritten. Quantities that cancel each other out cannot hide them. A product
//! whose stock or version is not what its lines say counts as one lost update at least.

mod args;
mod columns;
mod connection;
mod failure;
mod invoices;
mod naive;
mod records;
mod report;
mod stock;
mod traffic;
mod workers;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use dynalock::{Repository, Versioned};
use serde::{Deserialize, Serialize};

use crate::{
    args::{Args, Mode},
    failure::Failure,
    invoices::{Invoices, Line},
    report::Report,
    stock::OPENING_STOCK,
    traffic::Traffic,
};

/// A product and its stock: one item in the table.
#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "dynalock-warehouse")]
struct Product {
    /// The stock code, exactly as the invoices have it: case and blanks count.
    #[dynalock(partition_key)]
    sku: String,
    description: Option<String>,
    stock: i64,
    /// How many lines are in the stock.
    booked: u64,
}

impl Product {
    fn new(sku: String, description: Option<String>) -> Self {
        Self { sku, description, stock: OPENING_STOCK, booked: 0 }
    }

    /// Takes goods out of the stock; a negative quantity brings them back.
    fn book(&mut self, quantity: i64) {
        self.stock -= quantity;
        self.booked += 1;
    }
}

/// Books one line: the heart of the program. However many workers book the same product, each line counts once.
async fn book(products: Repository<Product>, line: Line) -> Result<(), Failure> {
    let Line { number, sku, quantity } = line;
    products
        .update_with(sku, |product| product.book(quantity))
        .await
        .map_err(|source| Failure::Booking { number, source })?;
    Ok(())
}

/// How long one line may take while others are first.
const PATIENCE: Duration = Duration::from_mins(1);

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("warehouse: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<(), Failure> {
    let invoices = Invoices::open(args.file.as_deref())?;
    invoices.report_skipped();

    let client = connection::client(args.endpoint.as_deref()).await?;
    let products = Product::repository(&client).deadline(PATIENCE);
    connection::open_table(&products, args.endpoint.as_deref()).await?;
    stock::open(&products, &invoices.products, args.workers).await?;

    let traffic = Traffic::default();
    let elapsed = replay(args, &traffic.counted(&client), invoices.lines).await?;

    let stock = stock::take(&products, invoices.products, args.workers).await?;
    let report = Report {
        file: invoices.name,
        mode: args.mode,
        workers: args.workers,
        invoices: invoices.count,
        skipped: invoices.skipped.len(),
        stock: &stock,
        traffic: traffic.totals(),
        elapsed,
    };
    report::print(&report.to_string())?;
    if let Some(path) = &args.dump {
        stock::dump(&stock, path)?;
    }
    if args.json {
        report::print(&report.json()?)?;
    }
    match report.lost_updates() {
        lost @ 1.. if args.mode == Mode::Update => Err(Failure::Lost(lost)),
        _ => Ok(()),
    }
}

/// Books all lines, and says how long that took.
#[expect(clippy::disallowed_methods, reason = "a program may look at the clock; the library's tests may not")]
async fn replay(args: &Args, client: &aws_sdk_dynamodb::Client, lines: Vec<Line>) -> Result<Duration, Failure> {
    let started = Instant::now();
    match args.mode {
        Mode::Update => {
            let products = Product::repository(client).deadline(PATIENCE);
            workers::drain("booking", lines, args.workers, move |line| book(products.clone(), line)).await?;
        }
        Mode::Naive => {
            let client = client.clone();
            workers::drain("booking", lines, args.workers, move |line| naive::book(client.clone(), line)).await?;
        }
    }
    Ok(started.elapsed())
}

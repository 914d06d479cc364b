//! A warehouse that books the lines of invoices against its stock, many at a time, and can prove that none was lost.
//!
//! ```text
//! cargo run --example warehouse                                          a small sample, on a DynamoDB inside the process
//! cargo run --example warehouse -- --mode naive                          the same without dynalock: what gets lost
//! cargo run --example warehouse -- --mode transaction                    each invoice as one unit of work
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
//!
//! In the mode `transaction` an invoice becomes an [`Order`]: it is created and all its products are updated, or nothing
//! happens. The order says that the invoice is in the stock, so posting it again does nothing.

mod args;
mod audit;
mod columns;
mod connection;
mod failure;
mod invoices;
mod money;
mod naive;
mod orders;
mod posting;
mod records;
mod report;
mod sales;
mod stock;
mod traffic;
mod workers;

use std::{
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use aws_sdk_dynamodb::Client;
use dynalock::{KeyAttribute, Repository, Versioned};
use serde::{Deserialize, Serialize};

use crate::{
    args::{Args, Mode},
    audit::Audit,
    connection::{Place, open_table},
    failure::Failure,
    invoices::{Invoices, Line},
    orders::Order,
    posting::{Ledger, Posting},
    report::Report,
    sales::Sales,
    stock::OPENING_STOCK,
    traffic::Traffic,
};

/// A product and its stock: one item in the table.
#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "dynalock-warehouse", index(name = "by_stock", partition_key = "shelf", sort_key = "stock"))]
struct Product {
    /// The stock code, exactly as the invoices have it: case and blanks count.
    #[dynalock(partition_key)]
    sku: String,
    description: Option<String>,
    stock: i64,
    /// How many lines are in the stock.
    booked: u64,
    /// The partition of the index: all products are in one, so that one query has them in the order of their stock. DynamoDB takes
    /// 1,000 writes a second in a partition. A larger warehouse has several shelves, and a query for each.
    shelf: Shelf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, KeyAttribute)]
enum Shelf {
    All,
}

impl Product {
    fn new(sku: String, description: Option<String>) -> Self {
        Self { sku, description, stock: OPENING_STOCK, booked: 0, shelf: Shelf::All }
    }

    /// Takes goods out of the stock; a negative quantity brings them back.
    fn book(&mut self, quantity: i64) {
        self.stock -= quantity;
        self.booked += 1;
    }
}

/// Books one line: the heart of the program. However many workers book the same product, each line counts once.
async fn book(products: Repository<Product>, line: Line) -> Result<(), Failure> {
    let Line { number, sku, quantity, .. } = line;
    products
        .update_with(sku, |product| product.book(quantity))
        .await
        .map_err(|source| Failure::Booking { number, source })?;
    Ok(())
}

/// How long one line or order may take while others are first.
const PATIENCE: Duration = Duration::from_mins(1);

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Args::read()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("warehouse: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<(), Failure> {
    let invoices = Invoices::open(args.file.as_deref(), args.mode)?;
    invoices.report_skipped();
    let work = Work::of(args.mode, invoices.lines)?;

    let place = Place::of(args);
    let client = place.client()?;
    let products = stock::repository(&client, args.mode);
    open_table(place, &products, "is anybody there?").await?;
    stock::open(&products, &invoices.products, args.mode, args.workers).await?;

    let traffic = Traffic::default();
    let counted = traffic.counted(&client);
    let (audit, elapsed, sales) = match work {
        Work::Lines(lines) => {
            let elapsed = book_all(args, &counted, lines).await?;
            (None, elapsed, Sales::of_products(&products).await?)
        }
        Work::Orders(orders) => {
            let repository = Order::repository(&client).deadline(PATIENCE);
            open_table(place, &repository, ("is anybody there?", 1)).await?;
            let (posted, elapsed) = post_all(args, &counted, orders.clone()).await?;
            let sales = Sales::of_products(&products).await?.and_orders(&repository, &orders).await?;
            (Some(Audit::take(&repository, orders, posted, args.workers).await?), elapsed, sales)
        }
    };
    let stock = stock::take(&products, invoices.products, args.mode, args.workers).await?;
    let report = Report {
        file: invoices.name,
        mode: args.mode,
        workers: args.workers,
        invoices: invoices.count,
        skipped: invoices.skipped.len(),
        stock: &stock,
        audit: audit.as_ref(),
        sales: &sales,
        traffic: traffic.totals(),
        elapsed,
    };
    show(args, &report)?;
    report.verdict()
}

/// What the workers take from their queue.
enum Work {
    Lines(Vec<Line>),
    Orders(Vec<Arc<Order>>),
}

impl Work {
    fn of(mode: Mode, lines: Vec<Line>) -> Result<Self, Failure> {
        match mode {
            Mode::Update | Mode::Naive => Ok(Self::Lines(lines)),
            Mode::Transaction => Ok(Self::Orders(orders::of(&lines)?.into_iter().map(Arc::new).collect())),
        }
    }
}

/// Books all lines, and says how long that took.
#[expect(clippy::disallowed_methods, reason = "a program may look at the clock; the library's tests may not")]
async fn book_all(args: &Args, client: &Client, lines: Vec<Line>) -> Result<Duration, Failure> {
    let started = Instant::now();
    if args.mode == Mode::Naive {
        let client = client.clone();
        workers::drain("booking", lines, args.workers, move |line| naive::book(client.clone(), line)).await?;
    } else {
        let products = stock::repository(client, args.mode);
        workers::drain("booking", lines, args.workers, move |line| book(products.clone(), line)).await?;
    }
    Ok(started.elapsed())
}

/// Posts all orders, and says how many were not there yet, and how long that took.
#[expect(clippy::disallowed_methods, reason = "a program may look at the clock; the library's tests may not")]
async fn post_all(args: &Args, client: &Client, orders: Vec<Arc<Order>>) -> Result<(u64, Duration), Failure> {
    let ledger = Ledger::new(client);
    let started = Instant::now();
    let postings = workers::drain("posting", orders, args.workers, move |order| ledger.clone().post(order)).await?;
    let posted = postings.into_iter().filter(|&posting| posting == Posting::Posted).count();
    Ok((posted as u64, started.elapsed()))
}

/// Prints and writes what was asked for.
fn show(args: &Args, report: &Report<'_>) -> Result<(), Failure> {
    report::print(&report.to_string())?;
    report.audit.into_iter().for_each(Audit::report_wrong);
    if let Some(path) = &args.dump {
        stock::dump(report.stock, path)?;
    }
    if let (Some(path), Some(audit)) = (&args.dump_orders, report.audit) {
        audit.dump(path)?;
    }
    if args.json {
        report::print(&report.json()?)?;
    }
    Ok(())
}

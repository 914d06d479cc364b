//! A warehouse that books the lines of invoices in its stock, many lines at the same time. The
//! program counts the lost lines.
//!
//! ```text
//! cargo run --example warehouse                                          a small sample, on a DynamoDB inside the process
//! cargo run --example warehouse -- --mode patch                          one request a line, without a read
//! cargo run --example warehouse -- --combining                           several lines of a product in one write
//! cargo run --example warehouse -- --mode naive                          the same without dynalock: what gets lost
//! cargo run --example warehouse -- --mode transaction                    each invoice as one unit of work
//! cargo run --example warehouse -- invoices.csv --workers 32 --json      your own invoices
//! cargo run --example warehouse -- --endpoint http://127.0.0.1:8000      a DynamoDB behind an address
//! ```
//!
//! Each stock code of the file is a [`Product`] with 100,000 pieces. Each line of an invoice
//! subtracts its quantity from the stock. A negative quantity increases the stock. Many lines name
//! the same products, and many workers book lines at the same time.
//!
//! Each booking adds one to [`Product::booked`]. If a product has fewer bookings than lines, the
//! missing bookings were overwritten, and each of them counts as a lost update. The count finds an
//! overwritten booking even if the quantities cancel each other out. If the stock or the version of
//! a product does not agree with its lines, the product counts as at least one lost update.
//!
//! In the mode `transaction`, an invoice becomes an [`Order`]. One transaction creates the order
//! and updates all its products. If the order already exists, the invoice was booked before, and is
//! not booked again.

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
use dynalock::{KeyAttribute, Repository, Versioned, request::Combining};
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
    /// The stock code, exactly as in the invoices: case and blanks matter.
    #[dynalock(partition_key)]
    sku: String,
    description: Option<String>,
    stock: i64,
    /// The number of lines that are booked in this stock.
    booked: u64,
    /// The partition key of the index. All products have the same shelf, so that one query returns
    /// all products in the order of their stock. DynamoDB accepts 1,000 writes a second in a
    /// partition. A larger warehouse needs several shelves, and one query for each shelf.
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

    /// Removes goods from the stock. A negative quantity returns goods.
    fn book(&mut self, quantity: i64) {
        self.stock -= quantity;
        self.booked += 1;
    }
}

/// Books one line by one call of `update_with`. Each line counts once, even if many workers book
/// the same product.
async fn book(products: Repository<Product>, line: Line) -> Result<(), Failure> {
    let Line { number, sku, quantity, .. } = line;
    products
        .update_with(sku, |product| product.book(quantity))
        .await
        .map_err(|source| Failure::Booking { number, source })?;
    Ok(())
}

/// Books one line by a patch: one request without a read, which never conflicts with another
/// booking.
async fn patch(products: Repository<Product>, line: Line) -> Result<(), Failure> {
    let Line { number, sku, quantity, .. } = line;
    let a = Product::ATTR;
    let patch = products.patch(sku).add(a.stock, -i128::from(quantity)).add(a.booked, 1);
    patch.await.map(drop).map_err(|source| Failure::Booking { number, source })
}

/// Books one line together with the lines of other workers on the same product.
async fn combine(products: Combining<Product>, line: Line) -> Result<(), Failure> {
    let Line { number, sku, quantity, .. } = line;
    let booking = products.update_with(sku, move |product| product.book(quantity));
    booking.await.map(drop).map_err(|source| Failure::Booking { number, source })
}

/// Books one line by a patch, together with the lines of other workers on the same product.
async fn combine_patch(products: Combining<Product>, line: Line) -> Result<(), Failure> {
    let Line { number, sku, quantity, .. } = line;
    let a = Product::ATTR;
    let patch = products.patch(sku).add(a.stock, -i128::from(quantity)).add(a.booked, 1);
    patch.await.map(drop).map_err(|source| Failure::Booking { number, source })
}

/// The maximum time for one line or order under contention.
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
    let stock = stock::take(&products, invoices.products, args).await?;
    let report = Report {
        file: invoices.name,
        mode: args.mode,
        combining: args.combining,
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

/// The jobs that the workers take from their queue.
enum Work {
    Lines(Vec<Line>),
    Orders(Vec<Arc<Order>>),
}

impl Work {
    fn of(mode: Mode, lines: Vec<Line>) -> Result<Self, Failure> {
        match mode {
            Mode::Update | Mode::Patch | Mode::Naive => Ok(Self::Lines(lines)),
            Mode::Transaction => Ok(Self::Orders(orders::of(&lines)?.into_iter().map(Arc::new).collect())),
        }
    }
}

/// Books all lines, and returns the duration.
#[expect(clippy::disallowed_methods, reason = "a program may look at the clock; the library's tests may not")]
async fn book_all(args: &Args, client: &Client, lines: Vec<Line>) -> Result<Duration, Failure> {
    let started = Instant::now();
    let products = stock::repository(client, args.mode);
    let combining = products.combining();
    match args.mode {
        Mode::Update if args.combining => {
            workers::drain("booking", lines, args.workers, move |line| combine(combining.clone(), line)).await?;
        }
        Mode::Patch if args.combining => {
            workers::drain("booking", lines, args.workers, move |line| combine_patch(combining.clone(), line)).await?;
        }
        Mode::Naive => {
            let client = client.clone();
            workers::drain("booking", lines, args.workers, move |line| naive::book(client.clone(), line)).await?;
        }
        Mode::Patch => {
            workers::drain("booking", lines, args.workers, move |line| patch(products.clone(), line)).await?;
        }
        Mode::Update | Mode::Transaction => {
            workers::drain("booking", lines, args.workers, move |line| book(products.clone(), line)).await?;
        }
    }
    Ok(started.elapsed())
}

/// Posts all orders. Returns the number of new orders, and the duration.
#[expect(clippy::disallowed_methods, reason = "a program may look at the clock; the library's tests may not")]
async fn post_all(args: &Args, client: &Client, orders: Vec<Arc<Order>>) -> Result<(u64, Duration), Failure> {
    let ledger = Ledger::new(client);
    let started = Instant::now();
    let postings = workers::drain("posting", orders, args.workers, move |order| ledger.clone().post(order)).await?;
    let posted = postings.into_iter().filter(|&posting| posting == Posting::Posted).count();
    Ok((posted as u64, started.elapsed()))
}

/// Prints and writes the requested results.
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

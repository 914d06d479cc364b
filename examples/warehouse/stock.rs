//! The stock: its creation, its check and its output.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal},
    ops::RangeInclusive,
    path::Path,
};

use aws_sdk_dynamodb::Client;
use dynalock::{Error, Repository, Stored};

use crate::{
    PATIENCE, Product,
    args::{Args, Mode},
    failure::Failure,
    invoices::Expected,
    workers,
};

/// The quantity of each product before the first line is booked.
pub(crate) const OPENING_STOCK: i64 = 100_000;

/// The table of products whose lines are posted as orders. The products of posted orders are never
/// deleted, so they have their own table.
const POSTED: &str = "dynalock-warehouse-posted";

/// The state of a product after all lines are booked, and its expected state.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) expected: Expected,
    /// The minimum and the maximum number of required writes.
    writes: RangeInclusive<u64>,
    pub(crate) product: Stored<Product>,
}

impl Counted {
    /// The number of lines that are not booked.
    pub(crate) fn lost(&self) -> u64 {
        let missing = self.expected.lines.saturating_sub(self.product.booked);
        missing.max(u64::from(!self.is_exact()))
    }

    /// Returns whether the stock contains lines that are not in the file.
    pub(crate) fn holds_more(&self) -> bool {
        self.product.booked > self.expected.lines
    }

    fn is_exact(&self) -> bool {
        let Self { expected, writes, product } = self;
        let found = (product.stock, product.booked);
        found == (expected.stock(), expected.lines) && writes.contains(&product.version().saturating_sub(1))
    }
}

/// Returns the product table for a mode of booking.
pub(crate) fn repository(client: &Client, mode: Mode) -> Repository<Product> {
    let products = Product::repository(client).deadline(PATIENCE);
    match mode {
        Mode::Update | Mode::Patch | Mode::Naive => products,
        Mode::Transaction => products.table(POSTED),
    }
}

/// Creates the products, and resets products of an earlier run. In the mode that posts orders,
/// keeps the products of an earlier run.
pub(crate) async fn open(
    products: &Repository<Product>,
    expected: &BTreeMap<String, Expected>,
    mode: Mode,
    workers: u16,
) -> Result<(), Failure> {
    let product = |(sku, expected): (&String, &Expected)| Product::new(sku.clone(), expected.description.clone());
    let opening: Vec<_> = expected.iter().map(product).collect();
    let mut left_over = Vec::new();
    let bar = workers::progress_bar("opening", opening.len());
    let mut created = products.create_many(opening.iter().cloned()).concurrency(workers.into()).stream();
    while let Some(item) = created.next().await {
        match item.result {
            Ok(_) => {}
            Err(Error::AlreadyExists(_)) => left_over.push(opening[item.index].clone()),
            Err(error) => return Err(Failure::Opening(error)),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if !io::stderr().is_terminal() {
        eprintln!("{} products opened, {} of them were there already", opening.len(), left_over.len());
    }
    match mode {
        Mode::Transaction => Ok(()),
        Mode::Update | Mode::Patch | Mode::Naive => {
            let products = products.clone();
            workers::drain("opening", left_over, workers, move |product| start_anew(products.clone(), product))
                .await
                .map(drop)
        }
    }
}

async fn start_anew(products: Repository<Product>, product: Product) -> Result<(), Failure> {
    products.delete_unchecked(product.sku.as_str()).await.map_err(Failure::Opening)?;
    products.create(product).await.map(drop).map_err(Failure::Opening)
}

/// Reads all products, in the order of the stock codes.
pub(crate) async fn take(
    products: &Repository<Product>,
    expected: BTreeMap<String, Expected>,
    args: &Args,
) -> Result<Vec<Counted>, Failure> {
    let products = products.clone();
    let jobs = expected.into_iter().map(|(sku, expected)| (sku, expected.writes(args), expected)).collect();
    let count = move |(sku, writes, expected)| count(products.clone(), sku, writes, expected);
    let mut stock = workers::drain("counting", jobs, args.workers, count).await?;
    stock.sort_by(|a, b| a.product.sku.cmp(&b.product.sku));
    Ok(stock)
}

async fn count(
    products: Repository<Product>,
    sku: String,
    writes: RangeInclusive<u64>,
    expected: Expected,
) -> Result<Counted, Failure> {
    match products.get(sku.as_str()).await.map_err(Failure::Counting)? {
        Some(product) => Ok(Counted { expected, writes, product }),
        None => Err(Failure::Gone(sku)),
    }
}

/// Writes `sku,stock,version` for each product.
pub(crate) fn dump(stock: &[Counted], path: &Path) -> Result<(), Failure> {
    let write = || {
        let mut file = csv::Writer::from_path(path)?;
        file.write_record(["sku", "stock", "version"])?;
        for Counted { product, .. } in stock {
            file.write_record([&product.sku, &product.stock.to_string(), &product.version().to_string()])?;
        }
        file.flush().map_err(csv::Error::from)
    };
    write().map_err(|source| Failure::Dump { path: path.to_owned(), source })
}

//! The stock: how it is opened, counted and written down.

use std::{collections::BTreeMap, path::Path};

use dynalock::{Error, Repository, Stored};

use crate::{Product, failure::Failure, invoices::Expected, workers};

/// What is there of each product before the first line.
pub(crate) const OPENING_STOCK: i64 = 100_000;

/// A product as it was found after the last line, beside what it should be.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) expected: Expected,
    pub(crate) product: Stored<Product>,
}

impl Counted {
    /// How many lines are not in the stock.
    pub(crate) fn lost(&self) -> u64 {
        let missing = self.expected.lines.saturating_sub(self.product.booked);
        missing.max(u64::from(!self.is_exact()))
    }

    fn is_exact(&self) -> bool {
        let Self { expected, product } = self;
        let found = (product.stock, product.booked, product.version());
        found == (expected.stock(), expected.lines, 1 + expected.lines)
    }
}

/// Creates the products, anew if an earlier run has left them.
pub(crate) async fn open(
    products: &Repository<Product>,
    expected: &BTreeMap<String, Expected>,
    workers: u16,
) -> Result<(), Failure> {
    let product = |(sku, expected): (&String, &Expected)| Product::new(sku.clone(), expected.description.clone());
    let opening = expected.iter().map(product).collect();
    let products = products.clone();
    workers::drain("opening", opening, workers, move |product| create(products.clone(), product)).await?;
    Ok(())
}

async fn create(products: Repository<Product>, product: Product) -> Result<(), Failure> {
    let created = match products.create(product.clone()).await {
        Err(Error::AlreadyExists(_)) => {
            products.delete_unchecked(product.sku.as_str()).await.map_err(Failure::Opening)?;
            products.create(product).await
        }
        created => created,
    };
    created.map_err(Failure::Opening)?;
    Ok(())
}

/// Reads every product, in the order of the stock codes.
pub(crate) async fn take(
    products: &Repository<Product>,
    expected: BTreeMap<String, Expected>,
    workers: u16,
) -> Result<Vec<Counted>, Failure> {
    let products = products.clone();
    let jobs = expected.into_iter().collect();
    let count = move |(sku, expected)| count(products.clone(), sku, expected);
    let mut stock = workers::drain("counting", jobs, workers, count).await?;
    stock.sort_by(|a, b| a.product.sku.cmp(&b.product.sku));
    Ok(stock)
}

async fn count(products: Repository<Product>, sku: String, expected: Expected) -> Result<Counted, Failure> {
    match products.get(sku.as_str()).await.map_err(Failure::Counting)? {
        Some(product) => Ok(Counted { expected, product }),
        None => Err(Failure::Gone(sku)),
    }
}

/// Writes `sku,stock,version` for every product.
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

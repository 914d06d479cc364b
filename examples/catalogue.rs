//! A catalogue, page by page, as a web page would show it.
//!
//! ```text
//! cargo run --example catalogue
//! ```
//!
//! The products are created by `create_many`, with a progress bar on a terminal. A visitor then
//! pages through one category, in the order of the prices. The browser gets the token of the next
//! page as a text, and sends it back. The program makes no tokens of previous pages, so the browser
//! keeps the tokens of the pages that it has seen. The tokens are signed: the program refuses a
//! token that was changed, or that was made for another category or another filter.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{collections::BTreeMap, error::Error as StdError, process::ExitCode};

use dynalock::{
    Error, KeyAttribute, Repository, Versioned,
    local::{Database, Faults},
    query::PageToken,
};
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

const PRODUCTS: u32 = 120;
const PAGE: usize = 8;

/// The secret that signs page tokens. All processes that serve the pages have the same secret.
const SECRET: [u8; 32] = [7; 32];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, KeyAttribute)]
enum Category {
    Mugs,
    Plates,
    Teapots,
}

#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "dynalock-catalogue", index(name = "by_category", partition_key = "category", sort_key = "cents"))]
struct Product {
    #[dynalock(partition_key)]
    sku: String,
    category: Category,
    cents: u64,
    stock: u32,
}

impl Product {
    /// Returns products of each category in turn. Every fourth product of a category is sold out.
    fn sample(number: u32) -> Self {
        let category = [Category::Mugs, Category::Plates, Category::Teapots][number as usize % 3];
        let stock = if number / 3 % 4 == 3 { 0 } else { number % 5 + 1 };
        Self { sku: format!("{category:?}-{number:03}"), category, cents: u64::from(number * 37 % 1_000) + 100, stock }
    }
}

/// The request of a visitor, as the query parameters in the address of a web page.
#[derive(Debug, Clone)]
struct Address {
    category: Category,
    in_stock: bool,
    /// The token of the page as text, or `None` for the first page.
    token: Option<String>,
}

/// The content of the page.
#[derive(Debug)]
struct Shown {
    skus: Vec<String>,
    next: Option<String>,
}

/// Answers one request of a browser.
async fn serve(products: &Repository<Product>, address: Address) -> dynalock::Result<Shown> {
    let Address { category, in_stock, token } = address;
    let mut query = products.query_index(Product::INDEX.by_category, category).limit(PAGE).with_key(SECRET);
    if in_stock {
        query = query.filter(Product::ATTR.stock.ge(1));
    }
    let page = query.page(token.map(PageToken::from)).await?;
    let skus = page.items.into_iter().map(|product| Ok(product?.sku.clone())).collect::<dynalock::Result<_>>()?;
    Ok(Shown { skus, next: page.next.map(|token| token.to_string()) })
}

/// A browser, with the tokens of the pages from the first page to the current page.
struct Browser<'p> {
    products: &'p Repository<Product>,
    address: Address,
    seen: Vec<Option<String>>,
    shown: Shown,
}

impl<'p> Browser<'p> {
    async fn open(products: &'p Repository<Product>, category: Category) -> dynalock::Result<Self> {
        let address = Address { category, in_stock: true, token: None };
        let shown = serve(products, address.clone()).await?;
        Ok(Self { products, address, seen: vec![None], shown })
    }

    /// Follows the link "next", unless the current page is the last page.
    async fn next(&mut self) -> dynalock::Result<bool> {
        let Some(next) = self.shown.next.clone() else { return Ok(false) };
        self.shown = self.load(Some(next.clone())).await?;
        self.seen.push(Some(next));
        Ok(true)
    }

    /// Follows the link "previous", unless the current page is the first page.
    async fn previous(&mut self) -> dynalock::Result<bool> {
        let [.., previous, _] = &self.seen[..] else { return Ok(false) };
        self.shown = self.load(previous.clone()).await?;
        self.seen.pop();
        Ok(true)
    }

    async fn load(&self, token: Option<String>) -> dynalock::Result<Shown> {
        serve(self.products, Address { token, ..self.address.clone() }).await
    }

    fn print(&self) {
        println!("  page {}: {}", self.seen.len(), self.shown.skus.join(" "));
    }
}

/// Creates the products, and shows the progress.
async fn fill(products: &Repository<Product>) -> Result<(), Box<dyn StdError>> {
    let style = ProgressStyle::with_template("{msg} {bar:40} {pos} of {len}")?;
    let bar = ProgressBar::new(PRODUCTS.into()).with_message("creating").with_style(style);
    let mut results = products.create_many((0..PRODUCTS).map(Product::sample)).concurrency(8).stream();
    let mut created = BTreeMap::new();
    while let Some(item) = results.next().await {
        let product = item.result?;
        *created.entry(format!("{:?}", product.category)).or_insert(0) += 1;
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!("{PRODUCTS} products were created: {created:?}\n");
    Ok(())
}

/// Pages through a category to the last page, and back to the first. Returns the products of each
/// page.
async fn walk(products: &Repository<Product>, category: Category) -> Result<Vec<Vec<String>>, Box<dyn StdError>> {
    let mut browser = Browser::open(products, category).await?;
    println!("{category:?} in stock, the cheapest first:");
    let mut there = Vec::new();
    loop {
        browser.print();
        there.push(browser.shown.skus.clone());
        if !browser.next().await? {
            break;
        }
    }
    let mut back = vec![browser.shown.skus.clone()];
    while browser.previous().await? {
        back.push(browser.shown.skus.clone());
    }
    println!("  and back to page {}: {}\n", browser.seen.len(), browser.shown.skus.join(" "));
    back.reverse();
    if there != back {
        return Err("the pages differ on the way back".into());
    }
    Ok(there)
}

/// Shows that the program refuses a changed page token, and a page token of another category or
/// filter.
async fn refuse(products: &Repository<Product>) -> Result<(), Box<dyn StdError>> {
    let mugs = Address { category: Category::Mugs, in_stock: true, token: None };
    let token = serve(products, mugs.clone()).await?.next.ok_or("there is a second page of mugs")?;
    let changed = token.chars().rev().collect();
    let cases = [
        ("of another category", Address { category: Category::Plates, token: Some(token.clone()), ..mugs.clone() }),
        ("of another filter", Address { in_stock: false, token: Some(token), ..mugs.clone() }),
        ("that the visitor changed", Address { token: Some(changed), ..mugs }),
    ];
    for (which, address) in cases {
        match serve(products, address).await {
            Err(error @ Error::PageToken { .. }) => println!("A token {which}: {error}"),
            other => return Err(format!("a token {which} was not refused: {other:?}").into()),
        }
    }
    Ok(())
}

async fn run() -> Result<(), Box<dyn StdError>> {
    let faults = Faults::none(); // they also count the requests
    let products = Product::repository(&Database::in_memory()?.client_with(&faults));
    products.create_table().await?;
    fill(&products).await?;

    let pages = walk(&products, Category::Teapots).await?;
    assert_eq!(pages.concat().len(), 30, "a quarter of the 40 teapots is sold out");
    assert!(pages.iter().all(|page| page.len() <= PAGE));

    // A teapot that was sold is no longer on the pages, and the pages skip no other teapot.
    let sold = pages[0][0].clone();
    products.update_with(sold.as_str(), |product| product.stock = 0).await?;
    let left = walk(&products, Category::Teapots).await?.concat();
    assert_eq!(left, pages.concat()[1..]);

    refuse(&products).await?;
    assert_eq!(faults.count("Scan"), 0, "no page reads the whole table");
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("catalogue: {error}");
            ExitCode::FAILURE
        }
    }
}

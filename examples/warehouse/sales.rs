//! The best-selling products and the orders of one customer: two queries over indexes.

use std::{collections::BTreeMap, fmt, sync::Arc};

use dynalock::{Repository, Stored};

use crate::{
    Product, Shelf,
    failure::Failure,
    orders::Order,
    report::{grouped, shortened},
    stock::OPENING_STOCK,
};

/// The number of products and orders in the output.
const SHOWN: usize = 10;

/// The sales of one run.
#[derive(Debug)]
pub(crate) struct Sales {
    /// The best-selling products, with the best one first.
    best: Vec<Stored<Product>>,
    /// The orders of the customer with the most orders.
    customer: Option<Customer>,
}

#[derive(Debug)]
struct Customer {
    name: String,
    orders: Vec<Stored<Order>>,
}

impl Sales {
    /// Reads the products that were sold most.
    ///
    /// Every product starts with the same stock, so the index by stock begins with the products
    /// that were sold most. On DynamoDB itself, a read of a global index may miss the last writes.
    pub(crate) async fn of_products(products: &Repository<Product>) -> Result<Self, Failure> {
        let sold = products.query_index(Product::INDEX.by_stock, Shelf::All).sort(..OPENING_STOCK);
        let best = sold.limit(SHOWN).collect().await.map_err(Failure::Selling)?;
        Ok(Self { best, customer: None })
    }

    /// Reads the orders of the customer with the most orders in the file.
    pub(crate) async fn and_orders(self, orders: &Repository<Order>, expected: &[Arc<Order>]) -> Result<Self, Failure> {
        let mut counts = BTreeMap::new();
        for customer in expected.iter().filter_map(|order| order.customer.as_deref()) {
            *counts.entry(customer).or_insert(0) += 1;
        }
        let Some((name, _)) = counts.into_iter().rev().max_by_key(|&(_, count)| count) else { return Ok(self) };
        let found = orders.query_index(Order::INDEX.by_customer, name);
        let mut orders = found.collect().await.map_err(Failure::Selling)?;
        orders.sort_by(|a, b| (&a.invoice, a.part).cmp(&(&b.invoice, b.part)));
        Ok(Self { customer: Some(Customer { name: name.to_owned(), orders }), ..self })
    }
}

impl fmt::Display for Sales {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.best.is_empty() {
            writeln!(f, "\n  best-selling products, by a query over an index")?;
        }
        for product in &self.best {
            let description = product.description.as_deref().map(shortened).unwrap_or_default();
            let sold = grouped(i128::from(OPENING_STOCK) - i128::from(product.stock));
            writeln!(f, "  {:<22}  {sold:>9}   {description}", shortened(&product.sku))?;
        }
        let Some(Customer { name, orders }) = &self.customer else { return Ok(()) };
        writeln!(f, "\n  orders of customer {}, by a query over an index: {}", shortened(name), orders.len())?;
        for order in orders.iter().take(SHOWN) {
            let (invoice, total) = (shortened(&order.invoice), order.total.to_string());
            writeln!(f, "  {invoice:<22}  {total:>9}   {} lines", order.lines.len())?;
        }
        match orders.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "  and {more} more"),
        }
    }
}

//! Posts an order: one unit of work creates the order and books its lines, or does neither.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use dynalock::{Error, Repository};

use crate::{PATIENCE, Product, args::Mode, failure::Failure, orders::Order, stock};

/// The repositories that a posting needs. A clone is cheap.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    client: Client,
    products: Repository<Product>,
    orders: Repository<Order>,
}

/// The result of a posting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Posting {
    Posted,
    /// An earlier run has posted the order. Nothing was written.
    AlreadyThere,
}

/// The reason why an order was not posted.
enum Refused {
    Gone(String),
    Database(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl Ledger {
    pub(crate) fn new(client: &Client) -> Self {
        Self {
            client: client.clone(),
            products: stock::repository(client, Mode::Transaction),
            orders: Order::repository(client).deadline(PATIENCE),
        }
    }

    /// Posts one order. The lines of an order are booked once, even if many workers write its
    /// products, and even if the order is posted several times.
    pub(crate) async fn post(self, order: Arc<Order>) -> Result<Posting, Failure> {
        let (products, orders, order) = (&self.products, &self.orders, &*order);
        let by_product = &order.by_product();

        let posting = dynalock::transact(&self.client, |tx| async move {
            if tx.get(orders, order.key()).await?.is_some() {
                return Ok(Posting::AlreadyThere);
            }
            let found = tx.get_many(products, by_product.keys().copied()).await?;
            for (product, (&sku, lines)) in found.into_iter().zip(by_product) {
                let mut product = product.ok_or_else(|| Refused::Gone(sku.to_owned()))?;
                for line in lines {
                    product.book(line.quantity);
                }
                tx.update(products, product);
            }
            tx.create(orders, order.clone());
            Ok(Posting::Posted)
        });
        posting.deadline(PATIENCE).await.map_err(|refused| match refused {
            Refused::Gone(sku) => Failure::Gone(sku),
            Refused::Database(source) => Failure::Posting { order: order.to_string(), source },
        })
    }
}

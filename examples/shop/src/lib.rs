//! A shop: a web service, a worker and a Lambda function, which share one set of tables.
//!
//! ```text
//! cargo run -p shop
//! ```
//!
//! The chapter "A service" of the guide explains the calls of dynalock. The table lists the modules
//! that use dynalock:
//!
//! | module | what it shows |
//! |---|---|
//! | [`product`], [`order`], [`job`] | the items |
//! | [`order::place`](order::place()) | a unit of work with an idempotency key |
//! | `http::products` | etags, `If-Match`, pages with signed tokens |
//! | `http::leases` | a lease that a client holds from request to request |
//! | `http::problem` | errors of dynalock as answers of HTTP |
//! | [`worker`] | jobs that are taken, renewed, finished and released under a lease |
//! | [`lambda`] | messages that are applied once, however often they are delivered |

pub mod connection;
pub mod http;
pub mod id;
pub mod job;
pub mod lambda;
pub mod order;
pub mod product;
pub mod samples;
pub mod stop;
pub mod telemetry;
pub mod worker;

use aws_sdk_dynamodb::Client;
use dynalock::Repository;

use crate::{job::Job, order::Order, product::Product};

/// The tables of the shop. Clones are cheap, and share connections and retry budgets.
#[derive(Debug, Clone)]
pub struct Shop {
    /// The DynamoDB client for units of work.
    pub client: Client,
    /// The products.
    pub products: Repository<Product>,
    /// The orders.
    pub orders: Repository<Order>,
    /// The jobs of the worker.
    pub jobs: Repository<Job>,
}

impl Shop {
    /// Makes the repositories, and sends no request.
    pub fn new(client: &Client) -> Self {
        Self {
            client: client.clone(),
            products: Product::repository(client),
            orders: Order::repository(client),
            jobs: Job::repository(client),
        }
    }

    /// Creates the tables that are missing.
    ///
    /// # Errors
    ///
    /// The errors of [`Repository::create_table`].
    pub async fn create_tables(&self) -> dynalock::Result<()> {
        self.products.create_table().await?;
        self.orders.create_table().await?;
        self.jobs.create_table().await
    }
}

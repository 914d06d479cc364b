//! The types and the databases that the tests use.

use aws_sdk_dynamodb::Client;
use dynalock::{Repository, Versioned, local::{Database, Faults}};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
pub(crate) struct Product {
    #[dynalock(partition_key)]
    pub(crate) sku: String,
    pub(crate) stock: i64,
    pub(crate) note: Option<String>,
}

impl Product {
    pub(crate) fn new(sku: &str, stock: i64) -> Self {
        Self { sku: sku.to_owned(), stock, note: None }
    }
}

/// A database with a `products` table, and one client with faults in front of it.
pub(crate) struct Shop {
    pub(crate) database: Database,
    pub(crate) faults: Faults,
    pub(crate) client: Client,
    pub(crate) products: Repository<Product>,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::with(Faults::none()).await
    }

    pub(crate) async fn with(faults: Faults) -> Self {
        let database = Database::in_memory().expect("a database in memory");
        Product::repository(&database.client()).create_table().await.expect("a table");
        let client = database.client_with(&faults);
        let products = Product::repository(&client);
        Self { database, faults, client, products }
    }
}

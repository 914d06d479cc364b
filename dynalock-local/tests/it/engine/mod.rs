//! The rows of the table in the crate's documentation. The expected answers are those of the
//! DynamoDB documentation.
//!
//! The tests run on the engine in the process. `DYNALOCK_ENDPOINT` can name the URL of another
//! engine.

use std::env;

use aws_sdk_dynamodb::{
    Client, Config,
    config::{BehaviorVersion, Credentials, Region},
};
use aws_smithy_http_client::Builder;

use crate::table::Table;

pub(crate) mod orders;

mod batches;
mod capacity;
mod conditions;
mod indexes;
mod limits;
mod queries;
mod scans;
mod service;
mod settings;
mod tables;
mod transactions;
mod updates;
mod values;

/// Returns a fresh table with the name of the calling test.
async fn table(name: &str) -> Table {
    Table::create(client(), name).await
}

fn client() -> Client {
    match env::var("DYNALOCK_ENDPOINT") {
        Ok(url) => {
            let credentials = Credentials::new("local", "local", None, None, "test");
            let config = Config::builder()
                .behavior_version(BehaviorVersion::v2026_01_12())
                .region(Region::new("us-east-1"))
                .credentials_provider(credentials)
                .http_client(Builder::new().build_http())
                .endpoint_url(url);
            Client::from_conf(config.build())
        }
        Err(_) => dynalock_local::Database::in_memory().unwrap().client(),
    }
}

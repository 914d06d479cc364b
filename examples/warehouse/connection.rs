//! A client, on the DynamoDB inside the process or on one behind an address.

use std::{env, time::Duration};

use aws_sdk_dynamodb::{
    Client, Config,
    config::{BehaviorVersion, Credentials, Region},
};
use dynalock::{Error, Repository};

use crate::{Product, failure::Failure};

/// How long the first request may take.
const FIRST_ANSWER: Duration = Duration::from_secs(3);

pub(crate) async fn client(endpoint: Option<&str>) -> Result<Client, Failure> {
    let Some(endpoint) = endpoint else { return Ok(dynalock::local::client().await?) };
    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .endpoint_url(endpoint)
        .region(Region::new(variable("AWS_REGION").unwrap_or_else(|| "us-east-1".to_owned())))
        .credentials_provider(credentials())
        .build();
    Ok(Client::from_conf(config))
}

/// Those of the environment, or any: local engines do not check them.
fn credentials() -> Credentials {
    let key = variable("AWS_ACCESS_KEY_ID").zip(variable("AWS_SECRET_ACCESS_KEY"));
    let (id, secret) = key.unwrap_or_else(|| ("local".to_owned(), "local".to_owned()));
    Credentials::new(id, secret, variable("AWS_SESSION_TOKEN"), None, "environment")
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Creates the table if it is missing.
///
/// That may take a minute, and so long it would go on trying. Whether anybody answers at all is asked first.
pub(crate) async fn open_table(products: &Repository<Product>, endpoint: Option<&str>) -> Result<(), Failure> {
    let unusable = |source| match endpoint {
        Some(endpoint) => Failure::Endpoint { endpoint: endpoint.to_owned(), source: Box::new(source) },
        None => Failure::Opening(source),
    };
    match products.get("is anybody there?").deadline(FIRST_ANSWER).await {
        Ok(_) | Err(Error::TableNotFound { .. }) => products.create_table().await.map_err(unusable),
        Err(error) => Err(unusable(error)),
    }
}

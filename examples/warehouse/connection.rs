//! Makes a client of the DynamoDB inside the process, in memory or in a file, or of a DynamoDB at
//! an address.

use std::{env, path::Path, time::Duration};

use aws_sdk_dynamodb::{
    Client, Config,
    config::{BehaviorVersion, Credentials, Region},
};
use dynalock::{Error, Repository, Versioned, local::Database};

use crate::{args::Args, failure::Failure};

/// The maximum time for the first request.
const FIRST_ANSWER: Duration = Duration::from_secs(3);

/// Where the items are stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    Memory,
    File(&'a Path),
    Endpoint(&'a str),
}

impl<'a> Place<'a> {
    pub(crate) fn of(args: &'a Args) -> Self {
        match (&args.endpoint, &args.database) {
            (Some(endpoint), _) => Self::Endpoint(endpoint),
            (None, Some(path)) => Self::File(path),
            (None, None) => Self::Memory,
        }
    }

    pub(crate) fn client(self) -> Result<Client, Failure> {
        match self {
            Self::Memory => Ok(Database::in_memory()?.client()),
            Self::File(path) => Ok(Database::open(path)?.client()),
            Self::Endpoint(endpoint) => Ok(remote(endpoint)),
        }
    }
}

fn remote(endpoint: &str) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .endpoint_url(endpoint)
        .region(Region::new(variable("AWS_REGION").unwrap_or_else(|| "us-east-1".to_owned())))
        .credentials_provider(credentials())
        .build();
    Client::from_conf(config)
}

/// Returns the credentials of the environment. Without credentials in the environment, returns any
/// credentials, because local engines do not check credentials.
fn credentials() -> Credentials {
    let key = variable("AWS_ACCESS_KEY_ID").zip(variable("AWS_SECRET_ACCESS_KEY"));
    let (id, secret) = key.unwrap_or_else(|| ("local".to_owned(), "local".to_owned()));
    Credentials::new(id, secret, variable("AWS_SESSION_TOKEN"), None, "environment")
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Creates a table if it is missing.
///
/// Before the creation, a read checks whether the server answers. Without the read, the program
/// would retry the creation for up to a minute before it reports that the server does not answer.
pub(crate) async fn open_table<T: Versioned>(
    place: Place<'_>,
    repository: &Repository<T>,
    key: impl Into<T::Key>,
) -> Result<(), Failure> {
    let unusable = |source| match place {
        Place::Endpoint(endpoint) => Failure::Endpoint { endpoint: endpoint.to_owned(), source: Box::new(source) },
        Place::Memory | Place::File(_) => Failure::Opening(source),
    };
    match repository.get(key).deadline(FIRST_ANSWER).await {
        Ok(_) | Err(Error::TableNotFound { .. }) => repository.create_table().await.map_err(unusable),
        Err(error) => Err(unusable(error)),
    }
}

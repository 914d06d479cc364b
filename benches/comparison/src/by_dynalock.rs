//! The counter with dynalock: by `update_with`, by a patch, and by a patch that is applied exactly once.

use std::error::Error;

use aws_sdk_dynamodb::Client;
use dynalock::{Repository, Versioned};
use serde::{Deserialize, Serialize};

use crate::program::{Counter, Failed};

#[derive(Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "counters")]
struct Views {
    #[dynalock(partition_key)]
    page: String,
    count: u64,
}

async fn open(client: &Client) -> Result<Repository<Views>, Box<dyn Error>> {
    let counters = Views::repository(client);
    counters.create_table().await?;
    counters.create(Views { page: "home".to_owned(), count: 0 }).await?;
    Ok(counters)
}

async fn count(counters: &Repository<Views>) -> Result<usize, Box<dyn Error>> {
    let counter = counters.get("home").await?.ok_or("no counter")?;
    Ok(usize::try_from(counter.count)?)
}

#[derive(Clone)]
pub(crate) struct Dynalock(Repository<Views>);

impl Counter for Dynalock {
    const NAME: &str = "dynalock, `update_with`";

    async fn open(client: Client) -> Result<Self, Box<dyn Error>> {
        Ok(Self(open(&client).await?))
    }

    async fn add(&self) -> Result<(), Failed> {
        self.0.update_with("home", |counter| counter.count += 1).await.map(drop).map_err(|_| Failed)
    }

    async fn count(&self) -> Result<usize, Box<dyn Error>> {
        count(&self.0).await
    }
}

#[derive(Clone)]
pub(crate) struct Patching(Repository<Views>);

impl Counter for Patching {
    const NAME: &str = "dynalock, `patch`";

    async fn open(client: Client) -> Result<Self, Box<dyn Error>> {
        Ok(Self(open(&client).await?))
    }

    async fn add(&self) -> Result<(), Failed> {
        self.0.patch("home").add(Views::ATTR.count, 1).await.map(drop).map_err(|_| Failed)
    }

    async fn count(&self) -> Result<usize, Box<dyn Error>> {
        count(&self.0).await
    }
}

#[derive(Clone)]
pub(crate) struct PatchingOnce(Repository<Views>);

impl Counter for PatchingOnce {
    const NAME: &str = "dynalock, `patch` with `exactly_once`";

    async fn open(client: Client) -> Result<Self, Box<dyn Error>> {
        Ok(Self(open(&client).await?))
    }

    async fn add(&self) -> Result<(), Failed> {
        self.0.patch("home").add(Views::ATTR.count, 1).exactly_once().await.map(drop).map_err(|_| Failed)
    }

    async fn count(&self) -> Result<usize, Box<dyn Error>> {
        count(&self.0).await
    }
}

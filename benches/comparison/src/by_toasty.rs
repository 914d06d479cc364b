//! The counter with toasty: a model with `#[version]`, and an update of a loaded instance.

use std::error::Error;

use aws_sdk_dynamodb::Client;
use toasty::Db;
use toasty_driver_dynamodb::DynamoDb;

use crate::program::{Attempt, Counter, Failed, repeat};

#[derive(Debug, toasty::Model)]
struct Views {
    #[key]
    page: String,
    count: u64,
    #[version]
    version: u64,
}

#[derive(Clone)]
pub(crate) struct Toasty(Db);

impl Toasty {
    async fn attempt(&self) -> Attempt {
        let mut db = self.0.clone();
        let Ok(mut views) = Views::get_by_page(&mut db, "home").await else { return Attempt::Failed };
        let next = views.count + 1;
        match views.update().count(next).exec(&mut db).await {
            Ok(_) => Attempt::Added,
            Err(error) if error.is_condition_failed() => Attempt::Conflict,
            Err(_) => Attempt::Failed,
        }
    }
}

impl Counter for Toasty {
    const NAME: &str = "toasty";

    async fn open(client: Client) -> Result<Self, Box<dyn Error>> {
        let driver = DynamoDb::new("dynamodb://local".to_owned(), client);
        let mut db = Db::builder().models(toasty::models!(Views)).build(driver).await?;
        db.push_schema().await?;
        toasty::create!(Views { page: "home", count: 0_u64 }).exec(&mut db).await?;
        Ok(Self(db))
    }

    async fn add(&self) -> Result<(), Failed> {
        repeat(|| self.attempt()).await
    }

    async fn count(&self) -> Result<usize, Box<dyn Error>> {
        let mut db = self.0.clone();
        Ok(usize::try_from(Views::get_by_page(&mut db, "home").await?.count)?)
    }
}

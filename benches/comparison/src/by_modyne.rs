//! The counter with modyne: a typed read, and a replacement on a condition that the program writes.

use std::error::Error;

use aws_sdk_dynamodb::{
    Client,
    types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType},
};
use modyne::{Entity, EntityDef, EntityExt, ProjectionExt, Table, expr, keys};
use serde::{Deserialize, Serialize};

use crate::program::{Attempt, Counter, Failed, repeat};

#[derive(Clone)]
pub(crate) struct Modyne(Client);

impl Table for Modyne {
    type PrimaryKey = keys::Primary;
    type IndexKeys = ();

    fn table_name(&self) -> &str {
        "counters"
    }

    fn client(&self) -> &Client {
        &self.0
    }
}

#[derive(Debug, EntityDef, Serialize, Deserialize)]
struct Views {
    page: String,
    count: u64,
    rev: u64,
}

impl Entity for Views {
    type KeyInput<'a> = &'a str;
    type Table = Modyne;
    type IndexKeys = ();

    fn primary_key(page: &str) -> keys::Primary {
        keys::Primary { hash: format!("PAGE#{page}"), range: "VIEWS".to_owned() }
    }

    fn full_key(&self) -> keys::FullKey<keys::Primary, ()> {
        keys::FullKey { primary: Self::primary_key(&self.page), indexes: () }
    }
}

impl Modyne {
    async fn read(&self) -> Option<Views> {
        let found = Views::get("home").execute(self).await.ok()?;
        Views::from_item(found.item?).ok()
    }

    async fn attempt(&self) -> Attempt {
        let Some(mut views) = self.read().await else { return Attempt::Failed };
        let unchanged = expr::Condition::new("rev = :rev").value(":rev", views.rev);
        views.count += 1;
        views.rev += 1;
        let sent = views.put().condition(unchanged).execute(self).await;
        match sent.map_err(modyne::Error::from) {
            Ok(_) => Attempt::Added,
            Err(error) if error.is_conditional_check_failed_exception() => Attempt::Conflict,
            Err(_) => Attempt::Failed,
        }
    }
}

impl Counter for Modyne {
    const NAME: &str = "modyne";

    async fn open(client: Client) -> Result<Self, Box<dyn Error>> {
        let mut create = client.create_table().table_name("counters").billing_mode(BillingMode::PayPerRequest);
        for (name, kind) in [("PK", KeyType::Hash), ("SK", KeyType::Range)] {
            let text = AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S);
            let key = KeySchemaElement::builder().attribute_name(name).key_type(kind);
            create = create.attribute_definitions(text.build()?).key_schema(key.build()?);
        }
        create.send().await?;
        let table = Self(client);
        Views { page: "home".to_owned(), count: 0, rev: 1 }.create().execute(&table).await?;
        Ok(table)
    }

    async fn add(&self) -> Result<(), Failed> {
        repeat(|| self.attempt()).await
    }

    async fn count(&self) -> Result<usize, Box<dyn Error>> {
        Ok(usize::try_from(self.read().await.ok_or("no counter")?.count)?)
    }
}

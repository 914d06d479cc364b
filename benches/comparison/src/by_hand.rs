//! The counter with the SDK alone: a read, and an update on the condition of a revision.

use std::{collections::HashMap, error::Error};

use aws_sdk_dynamodb::{
    Client,
    types::{AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType},
};

use crate::program::{Attempt, Counter, Failed, repeat};

const TABLE: &str = "counters";

#[derive(Clone)]
pub(crate) struct ByHand(Client);

impl ByHand {
    async fn read(&self) -> Option<HashMap<String, AttributeValue>> {
        let get = self.0.get_item().table_name(TABLE).key("page", AttributeValue::S("home".into()));
        get.consistent_read(true).send().await.ok()?.item
    }

    async fn attempt(&self) -> Attempt {
        let Some(item) = self.read().await else { return Attempt::Failed };
        let (Some(count), Some(revision)) = (number(&item, "count"), number(&item, "rev")) else {
            return Attempt::Failed;
        };
        let update = self.0.update_item().table_name(TABLE).key("page", AttributeValue::S("home".into()));
        let update = update.update_expression("SET #count = :new, rev = :next").condition_expression("rev = :read");
        let update = update.expression_attribute_names("#count", "count");
        let update = update.expression_attribute_values(":new", AttributeValue::N((count + 1).to_string()));
        let update = update.expression_attribute_values(":next", AttributeValue::N((revision + 1).to_string()));
        let update = update.expression_attribute_values(":read", AttributeValue::N(revision.to_string()));
        match update.send().await {
            Ok(_) => Attempt::Added,
            Err(error) => match error.as_service_error() {
                Some(error) if error.is_conditional_check_failed_exception() => Attempt::Conflict,
                _ => Attempt::Failed,
            },
        }
    }
}

fn number(item: &HashMap<String, AttributeValue>, name: &str) -> Option<u64> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

impl Counter for ByHand {
    const NAME: &str = "the SDK";

    async fn open(client: Client) -> Result<Self, Box<dyn Error>> {
        let page = AttributeDefinition::builder().attribute_name("page").attribute_type(ScalarAttributeType::S);
        let key = KeySchemaElement::builder().attribute_name("page").key_type(KeyType::Hash);
        let create = client.create_table().table_name(TABLE).billing_mode(BillingMode::PayPerRequest);
        create.attribute_definitions(page.build()?).key_schema(key.build()?).send().await?;
        let put = client.put_item().table_name(TABLE).item("page", AttributeValue::S("home".into()));
        let put = put.item("count", AttributeValue::N("0".into())).item("rev", AttributeValue::N("1".into()));
        put.send().await?;
        Ok(Self(client))
    }

    async fn add(&self) -> Result<(), Failed> {
        repeat(|| self.attempt()).await
    }

    async fn count(&self) -> Result<usize, Box<dyn Error>> {
        let item = self.read().await.ok_or("no counter")?;
        Ok(usize::try_from(number(&item, "count").ok_or("no count")?)?)
    }
}

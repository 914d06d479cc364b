use std::{
    collections::HashMap,
    error::Error as StdError,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use aws_sdk_dynamodb::{
    Client,
    operation::delete_item::DeleteItemError,
    types::{AttributeValue, ReturnValue},
};

use crate::{Database, Error};

type Failure = Box<dyn StdError + Send + Sync>;

type Key = HashMap<String, AttributeValue>;

/// The condition that an item has expired. The condition leaves out items whose time to live ended
/// more than five years ago, because DynamoDB does not delete these items.
const DUE: &str = "#ttl BETWEEN :oldest AND :last";

const FIVE_YEARS: Duration = Duration::from_hours(5 * 365 * 24);

impl Database {
    /// Deletes all items that have expired at the time `now`, in all tables with time to live
    /// enabled. Returns the number of deleted items.
    ///
    /// The local engine deletes expired items only in a call of `sweep_ttl`. As in DynamoDB, an
    /// expired item can stay in the table for a long time. If a program sets a later time to live
    /// in an expired item while `sweep_ttl` runs, the item stays.
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// # use aws_sdk_dynamodb::types::{AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType};
    /// # use aws_sdk_dynamodb::types::{ScalarAttributeType, TimeToLiveSpecification};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let database = dynalock_local::Database::in_memory()?;
    /// let client = database.client();
    /// # let id = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S).build()?;
    /// # let key = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash).build()?;
    /// # let create = client.create_table().table_name("sessions").billing_mode(BillingMode::PayPerRequest);
    /// # create.attribute_definitions(id).key_schema(key).send().await?;
    /// # let ttl = TimeToLiveSpecification::builder().attribute_name("expires").enabled(true).build()?;
    /// # client.update_time_to_live().table_name("sessions").time_to_live_specification(ttl).send().await?;
    /// # let now = SystemTime::now();
    /// # let in_one_hour = now + Duration::from_hours(1);
    /// # let expires = in_one_hour.duration_since(SystemTime::UNIX_EPOCH)?.as_secs().to_string();
    /// # let put = client.put_item().table_name("sessions").item("id", AttributeValue::S("s-1".to_owned()));
    /// # put.item("expires", AttributeValue::N(expires)).send().await?;
    /// // .. create the table "sessions" with time to live, and an item that expires in one hour, then:
    /// assert_eq!(database.sweep_ttl(now).await?, 0);
    /// assert_eq!(database.sweep_ttl(now + Duration::from_hours(2)).await?, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Sweep`] if a request of the sweep fails. The items that `sweep_ttl` has deleted
    /// before the error stay deleted.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `sweep_ttl`, the items that `sweep_ttl` has deleted stay
    /// deleted. A later call of `sweep_ttl` deletes the other expired items.
    pub async fn sweep_ttl(&self, now: SystemTime) -> Result<usize, Error> {
        let client = self.client();

        sweep(&client, now).await.map_err(Error::Sweep)
    }
}

async fn sweep(client: &Client, now: SystemTime) -> Result<usize, Failure> {
    let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let window = Window {
        oldest: seconds(since_epoch.saturating_sub(FIVE_YEARS)),
        last: seconds(since_epoch.saturating_sub(Duration::from_secs(1))),
    };

    let mut deleted = 0;
    let mut tables = client.list_tables().into_paginator().items().send();
    while let Some(table) = tables.try_next().await? {
        if let Some(ttl) = enabled(client, &table).await? {
            deleted += sweep_table(client, &table, &ttl, &window).await?;
        }
    }

    Ok(deleted)
}

struct Window {
    oldest: AttributeValue,
    last: AttributeValue,
}

/// Returns the attribute that contains the time to live, or `None` if time to live is disabled for
/// the table.
async fn enabled(client: &Client, table: &str) -> Result<Option<String>, Failure> {
    let answer = client.describe_time_to_live().table_name(table).send().await?;

    Ok(answer.time_to_live_description.and_then(|ttl| ttl.attribute_name))
}

async fn sweep_table(client: &Client, table: &str, ttl: &str, window: &Window) -> Result<usize, Failure> {
    let names = key_names(client, table).await?;
    let mut scan = client
        .scan()
        .table_name(table)
        .filter_expression(DUE)
        .expression_attribute_names("#ttl", ttl)
        .expression_attribute_values(":oldest", window.oldest.clone())
        .expression_attribute_values(":last", window.last.clone())
        .into_paginator()
        .items()
        .send();

    let mut deleted = 0;
    while let Some(mut item) = scan.try_next().await? {
        item.retain(|name, _| names.contains(name));
        deleted += usize::from(delete_if_due(client, table, item, ttl, window).await?);
    }

    Ok(deleted)
}

async fn key_names(client: &Client, table: &str) -> Result<Vec<String>, Failure> {
    let answer = client.describe_table().table_name(table).send().await?;
    let schema = answer.table.and_then(|table| table.key_schema).unwrap_or_default();

    Ok(schema.into_iter().map(|element| element.attribute_name).collect())
}

async fn delete_if_due(client: &Client, table: &str, key: Key, ttl: &str, window: &Window) -> Result<bool, Failure> {
    let answer = client
        .delete_item()
        .table_name(table)
        .set_key(Some(key))
        .condition_expression(DUE)
        .expression_attribute_names("#ttl", ttl)
        .expression_attribute_values(":oldest", window.oldest.clone())
        .expression_attribute_values(":last", window.last.clone())
        .return_values(ReturnValue::AllOld)
        .send()
        .await;

    match answer {
        Ok(answer) => Ok(answer.attributes.is_some()),
        Err(error) if error.as_service_error().is_some_and(DeleteItemError::is_conditional_check_failed_exception) => {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

fn seconds(since_epoch: Duration) -> AttributeValue {
    AttributeValue::N(since_epoch.as_secs().to_string())
}

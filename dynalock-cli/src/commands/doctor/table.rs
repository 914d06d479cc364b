//! The checks of one table.

use aws_sdk_dynamodb::{
    Client,
    error::{ProvideErrorMetadata, SdkError},
    operation::describe_table::{DescribeTableError, DescribeTableOutput},
    types::{KeyType, ScalarAttributeType, TableDescription, TableStatus},
};
use dynalock::private::LockModel;

use super::check::Check;
use crate::{commands::table::attribute_that_is_on, failure::describe};

const TABLE: &str = "table";
const TIME_TO_LIVE: &str = "time to live";
const PROTECTION: &str = "deletion";

pub(super) async fn check<R: std::fmt::Debug>(
    client: &Client,
    table: &str,
    described: Result<DescribeTableOutput, SdkError<DescribeTableError, R>>,
) -> Vec<Check> {
    let described = match described {
        Ok(described) => described.table.unwrap_or_else(|| TableDescription::builder().build()),
        Err(error) if error.code() == Some("ResourceNotFoundException") => {
            let advice = "create it with `dynalock table create`, or check --region and --profile";
            return vec![Check::failed(TABLE, format!("table `{table}` does not exist"), advice)];
        }
        Err(error) => return vec![Check::failed(TABLE, describe(&error), "allow `dynamodb:DescribeTable`")],
    };
    let time_to_live = match client.describe_time_to_live().table_name(table).send().await {
        Ok(answer) => time_to_live(answer.time_to_live_description.and_then(attribute_that_is_on).as_deref()),
        Err(error) => Check::warning(TIME_TO_LIVE, describe(&error), "allow `dynamodb:DescribeTimeToLive`"),
    };
    vec![status(table, &described), time_to_live, protection(&described)]
}

fn status(name: &str, table: &TableDescription) -> Check {
    let key = table.key_schema().iter().map(|key| {
        let kind = table.attribute_definitions().iter().find(|defined| defined.attribute_name == key.attribute_name);
        format!("{}:{}", key.attribute_name, kind.map_or("?", |kind| kind.attribute_type.as_str()))
    });
    let key = key.collect::<Vec<_>>().join(", ");
    let kind = if can_contain_locks(table) { ", fits locks by name" } else { "" };
    match &table.table_status {
        Some(TableStatus::Active | TableStatus::Updating) => {
            Check::ok(TABLE, format!("table `{name}` is active, its key is {key}{kind}"))
        }
        status => {
            let status = status.as_ref().map_or("unknown", TableStatus::as_str);
            Check::failed(TABLE, format!("table `{name}` has the status {status}"), "wait until it is ACTIVE")
        }
    }
}

/// Returns whether the table has the key that locks by name need: the string attribute `name`.
fn can_contain_locks(table: &TableDescription) -> bool {
    let [key] = table.key_schema() else { return false };
    let is_string = |defined: &&aws_sdk_dynamodb::types::AttributeDefinition| {
        defined.attribute_name == key.attribute_name && defined.attribute_type == ScalarAttributeType::S
    };
    key.attribute_name == "name"
        && key.key_type == KeyType::Hash
        && table.attribute_definitions().iter().any(|defined| is_string(&defined))
}

fn time_to_live(attribute: Option<&str>) -> Check {
    match attribute {
        None => Check::ok(TIME_TO_LIVE, "off"),
        Some(name) if LockModel::DEFAULT.names().contains(&name) => Check::failed(
            TIME_TO_LIVE,
            format!("on for `{name}`, an attribute of leases, so it deletes fences"),
            "switch it off with UpdateTimeToLive",
        ),
        Some(name) => Check::ok(TIME_TO_LIVE, format!("on for `{name}`")),
    }
}

fn protection(table: &TableDescription) -> Check {
    match table.deletion_protection_enabled {
        Some(true) => Check::ok(PROTECTION, "the table is protected from deletion"),
        Some(false) | None => Check::warning(
            PROTECTION,
            "the table is not protected from deletion",
            "switch the deletion protection on with UpdateTable, if this is a table in production",
        ),
    }
}

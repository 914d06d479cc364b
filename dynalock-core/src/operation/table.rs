use std::{collections::BTreeMap, pin::pin, sync::Arc};

use aws_sdk_dynamodb::{
    Client,
    error::{BuildError, SdkError},
    operation::{
        create_table::{CreateTableError, builders::CreateTableFluentBuilder},
        describe_table::DescribeTableError,
        describe_time_to_live::DescribeTimeToLiveError,
        update_time_to_live::UpdateTimeToLiveError,
    },
    types::{
        AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType as KeyRole,
        LocalSecondaryIndex, Projection, ProjectionType, ProvisionedThroughput, TableDescription,
        TimeToLiveSpecification, TimeToLiveStatus,
    },
};

use super::classify::{Failure, ServiceFailure, classify};
use crate::{
    model::{self, IndexModel, IndexScope, KeyModel, Model},
    telemetry,
};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TableSettings {
    pub(crate) billing: Billing,
    pub(crate) protection: DeletionProtection,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Billing {
    #[default]
    OnDemand,
    /// The read and write units per second, for the table and for each global index.
    Provisioned { read: u32, write: u32 },
}

/// The protection of a table against deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeletionProtection {
    /// A DeleteTable request deletes the table.
    #[default]
    Off,
    /// DynamoDB refuses a DeleteTable request until an administrator switches the protection off.
    On,
}

/// Sends a CreateTable request. Returns `false` if the table already exists.
pub(crate) async fn create_table(
    client: &Client,
    table: &Arc<str>,
    model: &Model,
    settings: TableSettings,
) -> Result<bool, Failure> {
    let request = request(client, table, model, settings).map_err(|error| Failure::not_constructed(&error))?;
    match telemetry::request("CreateTable", table, pin!(request.send())).await {
        Ok(_) => Ok(true),
        Err(SdkError::ServiceError(context)) if context.err().is_resource_in_use_exception() => Ok(false),
        Err(error) => Err(classify(error)),
    }
}

fn request(
    client: &Client,
    table: &Arc<str>,
    model: &Model,
    TableSettings { billing, protection }: TableSettings,
) -> Result<CreateTableFluentBuilder, BuildError> {
    let (mode, throughput) = match billing {
        Billing::OnDemand => (BillingMode::PayPerRequest, None),
        Billing::Provisioned { read, write } => {
            let units = ProvisionedThroughput::builder().read_capacity_units(read.into());
            (BillingMode::Provisioned, Some(units.write_capacity_units(write.into()).build()?))
        }
    };
    let mut request = client
        .create_table()
        .table_name(&**table)
        .billing_mode(mode)
        .set_provisioned_throughput(throughput.clone())
        .set_deletion_protection_enabled((protection == DeletionProtection::On).then_some(true))
        .set_key_schema(Some(key_schema(model.key_attributes())?));
    // One attribute may be part of several keys, but DynamoDB refuses a CreateTable that defines an
    // attribute twice.
    let of_indexes = model.indexes.iter().flat_map(IndexModel::key_attributes);
    let defined: BTreeMap<_, _> =
        model.key_attributes().chain(of_indexes).map(|key| (key.name, key.key_type)).collect();
    for (name, key_type) in defined {
        let definition = AttributeDefinition::builder().attribute_name(name).attribute_type(key_type.into());
        request = request.attribute_definitions(definition.build()?);
    }
    for index in model.indexes {
        let (schema, projection) = (Some(key_schema(index.key_attributes())?), projection(index.projection));
        request = match index.scope {
            IndexScope::Global => {
                let global = GlobalSecondaryIndex::builder().index_name(index.name).set_key_schema(schema);
                let global = global.set_provisioned_throughput(throughput.clone());
                request.global_secondary_indexes(global.projection(projection).build()?)
            }
            IndexScope::Local => {
                let local = LocalSecondaryIndex::builder().index_name(index.name).set_key_schema(schema);
                request.local_secondary_indexes(local.projection(projection).build()?)
            }
        };
    }
    Ok(request)
}

fn key_schema(keys: impl Iterator<Item = KeyModel>) -> Result<Vec<KeySchemaElement>, BuildError> {
    let element =
        |(key, role): (KeyModel, _)| KeySchemaElement::builder().attribute_name(key.name).key_type(role).build();
    // DynamoDB requires the partition key before the sort key.
    keys.zip([KeyRole::Hash, KeyRole::Range]).map(element).collect()
}

fn projection(projection: model::Projection) -> Projection {
    let (kind, names) = match projection {
        model::Projection::All => (ProjectionType::All, None),
        model::Projection::KeysOnly => (ProjectionType::KeysOnly, None),
        model::Projection::Include(names) => {
            (ProjectionType::Include, Some(names.iter().map(|&name| name.to_owned()).collect()))
        }
    };
    Projection::builder().projection_type(kind).set_non_key_attributes(names).build()
}

pub(crate) async fn describe_table(client: &Client, table: &Arc<str>) -> Result<Option<TableDescription>, Failure> {
    let request = client.describe_table().table_name(&**table);
    telemetry::request("DescribeTable", table, pin!(request.send())).await.map(|output| output.table).map_err(classify)
}

/// Returns the attribute that contains the time to live, or `None` if time to live is off.
pub(crate) async fn describe_time_to_live(client: &Client, table: &Arc<str>) -> Result<Option<String>, Failure> {
    let request = client.describe_time_to_live().table_name(&**table);
    let described = telemetry::request("DescribeTimeToLive", table, pin!(request.send())).await.map_err(classify)?;
    Ok(described.time_to_live_description.and_then(|described| {
        let is_on =
            matches!(described.time_to_live_status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling));
        described.attribute_name.filter(|_| is_on)
    }))
}

pub(crate) async fn switch_time_to_live_on(
    client: &Client,
    table: &Arc<str>,
    attribute: &'static str,
) -> Result<(), Failure> {
    let specification = TimeToLiveSpecification::builder().enabled(true).attribute_name(attribute).build();
    let specification = specification.map_err(|error| Failure::not_constructed(&error))?;
    let request = client.update_time_to_live().table_name(&**table).time_to_live_specification(specification);
    telemetry::request("UpdateTimeToLive", table, pin!(request.send())).await.map(drop).map_err(classify)
}

impl ServiceFailure for CreateTableError {}
impl ServiceFailure for DescribeTableError {}
impl ServiceFailure for DescribeTimeToLiveError {}
impl ServiceFailure for UpdateTimeToLiveError {}

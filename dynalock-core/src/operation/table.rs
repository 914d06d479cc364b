use std::{collections::BTreeMap, sync::Arc};

use aws_sdk_dynamodb::{
    Client,
    error::{BuildError, SdkError},
    operation::{
        create_table::{CreateTableError, builders::CreateTableFluentBuilder},
        describe_table::DescribeTableError,
    },
    types::{
        AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType as KeyRole,
        LocalSecondaryIndex, Projection, ProjectionType, TableDescription,
    },
};

use super::classify::{Failure, ServiceFailure, classify};
use crate::model::{self, IndexModel, IndexScope, KeyModel, Model};

/// Sends a CreateTable with the keys and the indexes of the model, and with on-demand billing.
/// Returns `false` if the table already exists.
pub(crate) async fn create_table(client: &Client, table: &Arc<str>, model: &Model) -> Result<bool, Failure> {
    let request = request(client, table, model).map_err(|error| Failure::not_constructed(&error))?;
    match request.send().await {
        Ok(_) => Ok(true),
        Err(SdkError::ServiceError(context)) if context.err().is_resource_in_use_exception() => Ok(false),
        Err(error) => Err(classify(error)),
    }
}

fn request(client: &Client, table: &Arc<str>, model: &Model) -> Result<CreateTableFluentBuilder, BuildError> {
    let mut request = client
        .create_table()
        .table_name(&**table)
        .billing_mode(BillingMode::PayPerRequest)
        .set_key_schema(Some(key_schema(model.key_attributes())?));
    // DynamoDB refuses an attribute that is defined twice. One attribute may be part of several
    // keys.
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
    let built = Projection::builder();
    match projection {
        model::Projection::All => built.projection_type(ProjectionType::All),
        model::Projection::KeysOnly => built.projection_type(ProjectionType::KeysOnly),
        model::Projection::Include(names) => {
            let names = names.iter().map(|&name| name.to_owned()).collect();
            built.projection_type(ProjectionType::Include).set_non_key_attributes(Some(names))
        }
    }
    .build()
}

/// Sends a DescribeTable, and returns the description of the table.
pub(crate) async fn describe_table(client: &Client, table: &Arc<str>) -> Result<Option<TableDescription>, Failure> {
    client.describe_table().table_name(&**table).send().await.map(|output| output.table).map_err(classify)
}

impl ServiceFailure for CreateTableError {
    fn modelled(&mut self) -> Option<Failure> {
        None
    }
}

impl ServiceFailure for DescribeTableError {
    fn modelled(&mut self) -> Option<Failure> {
        None
    }
}

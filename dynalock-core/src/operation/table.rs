use std::sync::Arc;

use aws_sdk_dynamodb::{
    Client,
    error::{BuildError, SdkError},
    operation::{
        create_table::{CreateTableError, builders::CreateTableFluentBuilder},
        describe_table::DescribeTableError,
    },
    types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType as KeyRole, TableDescription},
};

use super::classify::{Failure, ServiceFailure, classify};
use crate::model::Model;

/// Sends a CreateTable with the key of the model and on-demand billing. Returns `false` if the
/// table already exists.
pub(crate) async fn create_table(client: &Client, table: &Arc<str>, model: &Model) -> Result<bool, Failure> {
    let request = request(client, table, model).map_err(|error| Failure::not_constructed(&error))?;
    match request.send().await {
        Ok(_) => Ok(true),
        Err(SdkError::ServiceError(context)) if context.err().is_resource_in_use_exception() => Ok(false),
        Err(error) => Err(classify(error)),
    }
}

fn request(client: &Client, table: &Arc<str>, model: &Model) -> Result<CreateTableFluentBuilder, BuildError> {
    let mut request = client.create_table().table_name(&**table).billing_mode(BillingMode::PayPerRequest);
    for (key, role) in model.key_attributes().zip([KeyRole::Hash, KeyRole::Range]) {
        request = request
            .key_schema(KeySchemaElement::builder().attribute_name(key.name).key_type(role).build()?)
            .attribute_definitions(
                AttributeDefinition::builder().attribute_name(key.name).attribute_type(key.key_type.into()).build()?,
            );
    }
    Ok(request)
}

/// Sends a DescribeTable.
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

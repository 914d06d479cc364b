//! Creates tables, and compares the key of a table with the key of a type.

use std::{sync::Arc, time::Duration};

use aws_sdk_dynamodb::types::{KeyType as KeyRole, TableDescription, TableStatus};

use crate::{
    error::{Error, Result, Unavailable},
    model::Model,
    operation,
    retry::{Attempts, Backoff, Connection, Limits},
};

/// Creates a table, and waits until it is active. The wait ends with the deadline of `limits`. The
/// first request has the shorter deadline `patience`, so that the call reports soon if the server
/// does not answer.
pub(crate) async fn create(
    connection: &Arc<Connection>,
    table: &Arc<str>,
    model: &Model,
    limits: Limits,
    patience: Duration,
) -> Result<()> {
    let client = connection.client.clone();
    let mut attempts = Attempts::new(connection, Limits { deadline: patience, ..limits });
    attempts.repeat(table, || operation::create_table(&client, table, model)).await?;

    let mut attempts = Attempts::new(connection, limits);
    let mut backoff = Backoff::default();
    loop {
        let description = match attempts.repeat(table, || operation::describe_table(&client, table)).await {
            // DynamoDB can describe a table only some time after it has accepted the create.
            Err(Error::TableNotFound { .. }) => None,
            answer => answer?,
        };
        match description {
            Some(table_is) if table_is.table_status == Some(TableStatus::Active) => {
                return compare_key(model, table, &table_is);
            }
            Some(_) | None => attempts.wait(&mut backoff, Error::Unavailable(Unavailable::NotActive)).await?,
        }
    }
}

/// Returns an error if the key of a table differs from the key of the model.
pub(crate) async fn verify(
    connection: &Arc<Connection>,
    table: &Arc<str>,
    model: &Model,
    limits: Limits,
) -> Result<()> {
    let client = connection.client.clone();
    let description =
        Attempts::new(connection, limits).repeat(table, || operation::describe_table(&client, table)).await?;
    match description {
        Some(description) => compare_key(model, table, &description),
        None => Err(Error::TableMismatch { table: Arc::clone(table), reason: "it was not described".to_owned() }),
    }
}

fn compare_key(model: &Model, table: &Arc<str>, description: &TableDescription) -> Result<()> {
    let mismatch = |reason| Err(Error::TableMismatch { table: Arc::clone(table), reason });
    let roles = [KeyRole::Hash, KeyRole::Range];
    if description.key_schema().len() != model.key_attributes().count() {
        return mismatch(format!(
            "it has {} key attributes, the type {}",
            description.key_schema().len(),
            model.key_attributes().count()
        ));
    }
    for (key, role) in model.key_attributes().zip(roles) {
        let named = description.key_schema().iter().find(|element| element.key_type == role);
        let name = named.map_or("", |element| element.attribute_name());
        if name != key.name {
            return mismatch(format!("its {role} key is `{name}`, the type's is `{}`", key.name));
        }
        let defined = description.attribute_definitions().iter().find(|attribute| attribute.attribute_name == name);
        let expected = key.key_type.into();
        if defined.is_none_or(|attribute| attribute.attribute_type != expected) {
            return mismatch(format!("its key `{name}` is not of type {expected}"));
        }
    }
    Ok(())
}

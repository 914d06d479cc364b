//! Creates a table, and waits until a program can use the table.

use std::{sync::Arc, time::Duration};

use aws_sdk_dynamodb::types::{IndexStatus, TableDescription, TableStatus};

use super::{TableDifference, compare::key_differences};
use crate::{
    error::{Error, Result, Unavailable},
    model::Model,
    operation::{self, TableSettings},
    retry::{Attempts, Backoff, Connection, Limits},
};

#[derive(Clone, Copy)]
pub(crate) struct Creation<'a> {
    pub(crate) connection: &'a Arc<Connection>,
    pub(crate) table: &'a Arc<str>,
    pub(crate) model: &'static Model,
    pub(crate) settings: TableSettings,
    /// The limits of the whole call that creates the table, including the wait until the table is
    /// active.
    pub(crate) limits: Limits,
    /// The deadline of the CreateTable request and its retries. The deadline of the CreateTable
    /// request is shorter than the deadline of the whole call, so that the call soon reports a
    /// server that does not answer.
    pub(crate) patience: Duration,
}

pub(crate) async fn create(creation: Creation<'_>) -> Result<()> {
    let Creation { connection, table, model, settings, limits, patience } = creation;
    let client = &connection.client;
    let mut attempts = Attempts::new(connection, Limits { deadline: patience, ..limits });
    attempts.repeat(table, || operation::create_table(client, table, model, settings)).await?;

    let mut attempts = Attempts::new(connection, limits);
    let described = until_active(&mut attempts, creation).await?;
    if let Some(difference) = key_differences(model, &described).first() {
        return Err(mismatch(table, difference));
    }
    match model.times.expires {
        Some(expires) => until_time_to_live_is_on(&mut attempts, creation, expires.name).await,
        None => Ok(()),
    }
}

async fn until_active(attempts: &mut Attempts, creation: Creation<'_>) -> Result<TableDescription> {
    let Creation { connection, table, model, .. } = creation;
    let mut backoff = Backoff::default();
    loop {
        let described = attempts.repeat(table, || operation::describe_table(&connection.client, table)).await;
        let described = match described {
            // After DynamoDB has accepted a CreateTable, a DescribeTable may not find the table for
            // some time.
            Err(Error::TableNotFound { .. }) => None,
            described => described?,
        };
        match described {
            Some(described) if is_active(model, &described) => return Ok(described),
            Some(_) | None => attempts.wait(&mut backoff, not_active()).await?,
        }
    }
}

fn is_active(model: &Model, described: &TableDescription) -> bool {
    let is_of_type = |name: Option<&str>| model.indexes.iter().any(|index| Some(index.name) == name);
    let is_built = described
        .global_secondary_indexes()
        .iter()
        .filter(|index| is_of_type(index.index_name()))
        .all(|index| index.index_status() != Some(&IndexStatus::Creating));
    described.table_status == Some(TableStatus::Active) && is_built
}

/// Switches time to live on, and waits until DynamoDB shows that time to live is on. A refused
/// UpdateTimeToLive is an error only if time to live is still off afterwards, because another
/// caller may have switched time to live on.
async fn until_time_to_live_is_on(
    attempts: &mut Attempts,
    Creation { connection, table, .. }: Creation<'_>,
    attribute: &'static str,
) -> Result<()> {
    let client = &connection.client;
    let mut backoff = Backoff::default();
    let mut switched = None;
    loop {
        let on = attempts.repeat(table, || operation::describe_time_to_live(client, table)).await?;
        match on {
            Some(on) if on == attribute => return Ok(()),
            // DynamoDB would refuse the UpdateTimeToLive.
            Some(found) => {
                return Err(mismatch(table, &TableDifference::TimeToLiveAttribute { expected: attribute, found }));
            }
            None => {}
        }
        switched = match switched {
            None => Some(attempts.repeat(table, || operation::switch_time_to_live_on(client, table, attribute)).await),
            Some(Err(refused)) => return Err(refused),
            // For some time after an UpdateTimeToLive, DescribeTimeToLive may still show that time
            // to live is off.
            Some(Ok(())) => {
                attempts.wait(&mut backoff, not_active()).await?;
                Some(Ok(()))
            }
        };
    }
}

fn mismatch(table: &Arc<str>, difference: &TableDifference) -> Error {
    Error::TableMismatch { table: Arc::clone(table), index: None, reason: difference.to_string() }
}

fn not_active() -> Error {
    Error::Unavailable(Unavailable::NotActive)
}

//! Creates the tables of structs, and compares tables with their structs.

mod compare;
mod create;
mod difference;

pub(crate) use create::{Creation, create};
pub use difference::{TableDifference, TableReport};

use std::sync::Arc;

use crate::{
    error::{Error, Result, Unavailable},
    model::Model,
    operation,
    retry::{Attempts, Connection, Limits},
};

pub(crate) async fn verify(
    connection: &Arc<Connection>,
    table: &Arc<str>,
    model: &Model,
    limits: Limits,
) -> Result<TableReport> {
    let client = connection.client.clone();
    let mut attempts = Attempts::new(connection, limits);
    let described = attempts.repeat(table, || operation::describe_table(&client, table)).await?;
    let described = described.ok_or(Error::Unavailable(Unavailable::NotActive))?;
    let time_to_live = attempts.repeat(table, || operation::describe_time_to_live(&client, table)).await?;
    let differences = compare::differences(model, &described, time_to_live.as_deref());
    Ok(TableReport::new(Arc::clone(table), differences))
}

//! Finds requests that change a table and that DynamoDB refuses, but the local engine accepts.

use dynoxide::{
    Database, DynoxideError,
    actions::{
        describe_time_to_live::DescribeTimeToLiveRequest, update_table::UpdateTableRequest,
        update_time_to_live::UpdateTimeToLiveRequest,
    },
};

/// Refuses a request that enables time to live if time to live is already enabled. Refuses a
/// request that disables time to live if time to live is already disabled.
pub(crate) fn check_time_to_live(engine: &Database, request: &UpdateTimeToLiveRequest) -> dynoxide::Result<()> {
    let describe = DescribeTimeToLiveRequest { table_name: request.table_name.clone() };
    // If the table cannot be described, the local engine reports the error when the request runs.
    let Ok(described) = engine.describe_time_to_live(describe) else { return Ok(()) };

    let is_enabled = described.time_to_live_description.attribute_name.is_some();
    let is_named = !request.time_to_live_specification.attribute_name.is_empty();
    match request.time_to_live_specification.enabled {
        true if is_enabled && is_named => invalid("TimeToLive is already enabled"),
        false if !is_enabled && is_named => invalid("TimeToLive is already disabled"),
        _ => Ok(()),
    }
}

/// Refuses a request that adds or removes more than one global index.
pub(crate) fn check_table(request: &UpdateTableRequest) -> dynoxide::Result<()> {
    let updates = request.global_secondary_index_updates.iter().flatten();

    match updates.filter(|update| update.create.is_some() || update.delete.is_some()).count() {
        0 | 1 => Ok(()),
        _ => Err(DynoxideError::LimitExceededException(
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
                .to_owned(),
        )),
    }
}

fn invalid(message: &str) -> dynoxide::Result<()> {
    Err(DynoxideError::ValidationException(message.to_owned()))
}

//! Finds the differences between a table and the requirements of its struct.

use aws_sdk_dynamodb::types::{
    IndexStatus, KeySchemaElement, KeyType as KeyRole, Projection, ProjectionType, ScalarAttributeType,
    TableDescription, TableStatus,
};

use super::difference::TableDifference;
use crate::{
    key::KeyType,
    model::{self, IndexModel, IndexScope, KeyModel, Model},
};

/// `time_to_live` is the attribute for which time to live is on in the table, or `None` if time to
/// live is off.
pub(super) fn differences(model: &Model, table: &TableDescription, time_to_live: Option<&str>) -> Vec<TableDifference> {
    let status = table.table_status.as_ref();
    let is_usable = matches!(status, None | Some(TableStatus::Active | TableStatus::Updating));
    let not_active = status.filter(|_| !is_usable);
    let not_active = not_active.map(|status| TableDifference::TableNotActive { status: status.as_str().to_owned() });

    let mut found: Vec<_> = not_active.into_iter().chain(key_differences(model, table)).collect();
    found.extend(model.indexes.iter().flat_map(|index| index_differences(index, table)));
    found.extend(time_to_live_difference(model, time_to_live));
    found
}

pub(super) fn key_differences(model: &Model, table: &TableDescription) -> Vec<TableDifference> {
    use TableDifference::{
        PartitionKeyName, PartitionKeyType, SortKeyMissing, SortKeyName, SortKeyType, SortKeyUnexpected,
    };
    let schema = table.key_schema();
    let KeyModel { name, key_type: expected } = model.partition_key;
    let partition = match attribute_in(schema, &KeyRole::Hash) {
        Some(found) if found == name => {
            let found = type_of(table, name);
            (found != Some(expected)).then_some(PartitionKeyType { attribute: name, expected, found })
        }
        found => Some(PartitionKeyName { expected: name, found: found.unwrap_or_default().to_owned() }),
    };
    let sort = match (model.sort_key, attribute_in(schema, &KeyRole::Range)) {
        (None, None) => None,
        (Some(KeyModel { name, .. }), None) => Some(SortKeyMissing { expected: name }),
        (None, Some(found)) => Some(SortKeyUnexpected { found: found.to_owned() }),
        (Some(KeyModel { name, key_type: expected }), Some(found)) if found == name => {
            let found = type_of(table, name);
            (found != Some(expected)).then_some(SortKeyType { attribute: name, expected, found })
        }
        (Some(KeyModel { name, .. }), Some(found)) => Some(SortKeyName { expected: name, found: found.to_owned() }),
    };
    partition.into_iter().chain(sort).collect()
}

struct LiveIndex<'t> {
    name: Option<&'t str>,
    scope: IndexScope,
    key_schema: &'t [KeySchemaElement],
    projection: Option<&'t Projection>,
    /// `status` is `None` for a local index, which has the status of its table.
    status: Option<&'t IndexStatus>,
}

impl<'t> LiveIndex<'t> {
    fn find(table: &'t TableDescription, name: &str) -> Option<Self> {
        let global = table.global_secondary_indexes().iter().map(|index| Self {
            name: index.index_name(),
            scope: IndexScope::Global,
            key_schema: index.key_schema(),
            projection: index.projection(),
            status: index.index_status(),
        });
        let local = table.local_secondary_indexes().iter().map(|index| Self {
            name: index.index_name(),
            scope: IndexScope::Local,
            key_schema: index.key_schema(),
            projection: index.projection(),
            status: None,
        });
        global.chain(local).find(|index| index.name == Some(name))
    }
}

fn index_differences(index: &IndexModel, table: &TableDescription) -> Vec<TableDifference> {
    let name = index.name;
    let Some(live) = LiveIndex::find(table, name) else {
        return vec![TableDifference::IndexMissing { index: name, scope: index.scope }];
    };
    let scope = live.scope;
    let mut found = Vec::new();
    if scope != index.scope {
        found.push(TableDifference::IndexScope { index: name, expected: index.scope });
    }
    let (partition, sort) =
        (attribute_in(live.key_schema, &KeyRole::Hash), attribute_in(live.key_schema, &KeyRole::Range));
    if partition != Some(index.partition_key.name) {
        let (expected, partition) = (index.partition_key.name, partition.unwrap_or_default().to_owned());
        found.push(TableDifference::IndexPartitionKey { index: name, scope, expected, found: partition });
    }
    let expected = index.sort_key.map(|key| key.name);
    if sort != expected {
        found.push(TableDifference::IndexSortKey { index: name, scope, expected, found: sort.map(str::to_owned) });
    }
    let is_named_alike = |key: &KeyModel| [partition, sort].contains(&Some(key.name));
    let other_types =
        index.key_attributes().filter(is_named_alike).filter_map(|KeyModel { name: attribute, key_type }| {
            let found = type_of(table, attribute);
            let (index, expected) = (name, key_type);
            let difference = TableDifference::IndexKeyType { index, scope, attribute, expected, found };
            (found != Some(expected)).then_some(difference)
        });
    found.extend(other_types);
    let (expected, projected) = (projection_of(index.projection), live.projection.map(live_projection));
    if projected.as_ref() != Some(&expected) {
        let projected = projected.unwrap_or_default();
        found.push(TableDifference::IndexProjection { index: name, scope, expected, found: projected });
    }
    if let Some(status @ (IndexStatus::Creating | IndexStatus::Deleting)) = live.status {
        found.push(TableDifference::IndexNotActive { index: name, status: status.as_str().to_owned() });
    }
    found
}

fn time_to_live_difference(model: &Model, found: Option<&str>) -> Option<TableDifference> {
    let expected = model.times.expires.map(|expires| expires.name);
    let is_of_lease = |name: &str| model.lock.is_some_and(|lock| lock.names().contains(&name));
    match (expected, found) {
        (None, None) => None,
        (Some(expected), Some(found)) if expected == found => None,
        (_, Some(found)) if is_of_lease(found) => Some(TableDifference::TimeToLiveOfLease { found: found.to_owned() }),
        (Some(expected), None) => Some(TableDifference::TimeToLiveOff { expected }),
        (Some(expected), Some(found)) => {
            Some(TableDifference::TimeToLiveAttribute { expected, found: found.to_owned() })
        }
        (None, Some(found)) => {
            let is_known = model.attributes.contains(&found);
            is_known.then(|| TableDifference::TimeToLiveUndeclared { found: found.to_owned() })
        }
    }
}

fn attribute_in<'t>(schema: &'t [KeySchemaElement], role: &KeyRole) -> Option<&'t str> {
    schema.iter().find(|element| element.key_type == *role).map(KeySchemaElement::attribute_name)
}

fn type_of(table: &TableDescription, attribute: &str) -> Option<KeyType> {
    let defined = table.attribute_definitions().iter().find(|defined| defined.attribute_name == attribute)?;
    match defined.attribute_type {
        ScalarAttributeType::S => Some(KeyType::S),
        ScalarAttributeType::N => Some(KeyType::N),
        ScalarAttributeType::B => Some(KeyType::B),
        _ => None,
    }
}

fn projection_of(projection: model::Projection) -> String {
    match projection {
        model::Projection::All => ProjectionType::All.as_str().to_owned(),
        model::Projection::KeysOnly => ProjectionType::KeysOnly.as_str().to_owned(),
        model::Projection::Include(names) => included(names.to_vec()),
    }
}

fn live_projection(projection: &Projection) -> String {
    match projection.projection_type() {
        Some(ProjectionType::Include) => included(projection.non_key_attributes().iter().map(String::as_str).collect()),
        Some(other) => other.as_str().to_owned(),
        None => String::new(),
    }
}

/// DynamoDB returns the names of the included attributes in no fixed order, so `included` sorts the
/// names.
fn included(mut names: Vec<&str>) -> String {
    names.sort_unstable();
    format!("{} {}", ProjectionType::Include.as_str(), names.join(", "))
}

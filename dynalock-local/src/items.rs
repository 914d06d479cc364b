//! Finds the items that a request names, in the order of the request.

use std::collections::{BTreeMap, HashMap};

use dynoxide::{Database, actions::describe_table::DescribeTableRequest, types::AttributeValue};
use serde_json::Value;

/// The identity of an item: the table and the key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ItemKey {
    pub(crate) table: String,
    /// The key values in the form in which the local engine compares key values. For the local
    /// engine, the numbers 1 and 1.0 are the same key.
    values: BTreeMap<String, String>,
}

/// An item and the item's key attributes, in the notation of the request.
pub(crate) struct Named {
    pub(crate) item: ItemKey,
    pub(crate) key: HashMap<String, AttributeValue>,
}

/// Returns the item of each action in a request, or `None` for an action that the local engine will
/// refuse.
pub(crate) fn named_by(engine: &Database, operation: &str, request: &Value) -> Vec<Option<Named>> {
    match operation {
        "PutItem" => vec![named(engine, &request["TableName"], &request["Item"])],
        "UpdateItem" | "DeleteItem" => vec![named(engine, &request["TableName"], &request["Key"])],
        "TransactWriteItems" | "TransactGetItems" => {
            let actions = request["TransactItems"].as_array().into_iter().flatten();
            actions.map(|action| named_by_action(engine, action)).collect()
        }
        "BatchWriteItem" => {
            let tables = request["RequestItems"].as_object().into_iter().flatten();
            let writes = tables
                .flat_map(|(table, writes)| writes.as_array().into_iter().flatten().map(move |write| (table, write)));
            writes.map(|(table, write)| named_by_write(engine, table, write)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the table and the key of the item that a put or a delete of a batch writes.
pub(crate) fn named_by_write(engine: &Database, table: &str, write: &Value) -> Option<Named> {
    let attributes = write.get("PutRequest").map_or_else(|| &write["DeleteRequest"]["Key"], |put| &put["Item"]);

    named(engine, &table.into(), attributes)
}

fn named_by_action(engine: &Database, action: &Value) -> Option<Named> {
    let action = action.as_object()?.values().find(|action| action.is_object())?;

    named(engine, &action["TableName"], action.get("Item").or_else(|| action.get("Key"))?)
}

fn named(engine: &Database, table: &Value, attributes: &Value) -> Option<Named> {
    let table = table.as_str()?.to_owned();
    let described = engine.describe_table(DescribeTableRequest { table_name: table.clone() }).ok()?.table;

    let mut key = HashMap::new();
    let mut values = BTreeMap::new();
    for element in described.key_schema {
        let value: AttributeValue = serde_json::from_value(attributes.get(&element.attribute_name)?.clone()).ok()?;
        values.insert(element.attribute_name.clone(), value.to_key_string()?);
        key.insert(element.attribute_name, value);
    }
    Some(Named { item: ItemKey { table, values }, key })
}

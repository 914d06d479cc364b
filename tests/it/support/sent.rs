//! The content of requests.

use std::collections::BTreeMap;

use dynalock::local::{Faults, Request};
use serde_json::Value;

use super::Shop;

impl Shop {
    /// Returns the requests of an operation so far, in their JSON form.
    pub(crate) fn sent(&self, operation: &str) -> Vec<Value> {
        sent(&self.faults, operation)
    }

    /// Returns the actions of the last TransactWriteItems in their order: their kind and their
    /// content.
    pub(crate) fn actions(&self) -> Vec<(String, Value)> {
        let sent = self.sent("TransactWriteItems").pop().expect("a transaction was sent");
        let action = |action: &Value| {
            let (kind, of) = action.as_object().expect("an action").iter().next().expect("a kind of action");
            (kind.clone(), of.clone())
        };
        sent["TransactItems"].as_array().expect("actions").iter().map(action).collect()
    }

    /// Returns the number of all requests so far.
    pub(crate) fn requests(&self) -> usize {
        self.faults.requests().len()
    }

    /// Returns the number of requests of these operations.
    pub(crate) fn counts<const N: usize>(&self, operations: [&str; N]) -> [usize; N] {
        operations.map(|operation| self.faults.count(operation))
    }
}

fn sent(faults: &Faults, operation: &str) -> Vec<Value> {
    faults.requests().iter().filter(|request| request.operation == operation).map(Request::json).collect()
}

/// Returns the attributes that an UpdateItem writes. A new value is `Some`, and a removed attribute
/// is `None`.
pub(crate) fn written(update: &Value) -> BTreeMap<String, Option<Value>> {
    let text = update["UpdateExpression"].as_str().expect("an update expression");
    let name = |placeholder: &str| match update["ExpressionAttributeNames"][placeholder].as_str() {
        Some(name) => name.to_owned(),
        None => placeholder.to_owned(),
    };
    let (set, remove) = match text.split_once("REMOVE ") {
        Some((set, remove)) => (set, remove),
        None => (text, ""),
    };
    let set = set.trim().strip_prefix("SET ").unwrap_or_default();
    let assignments = set.split(',').filter(|part| !part.trim().is_empty()).map(|assignment| {
        let (left, right) = assignment.split_once('=').expect("an assignment");
        (name(left.trim()), Some(update["ExpressionAttributeValues"][right.trim()].clone()))
    });
    let removals = remove.split(',').filter(|part| !part.trim().is_empty()).map(|part| (name(part.trim()), None));
    assignments.chain(removals).collect()
}

/// Returns the attributes of an UpdateItem without the version and the write ids.
pub(crate) fn written_by_the_user(update: &Value, version: &str) -> BTreeMap<String, Option<Value>> {
    let mut attributes = written(update);
    assert!(attributes.remove(version).flatten().is_some(), "every write counts the version: {update}");
    attributes.remove("_writes");
    attributes
}

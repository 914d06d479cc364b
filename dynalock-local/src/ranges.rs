//! Finds reversed ranges (a `BETWEEN` whose second bound is below the first bound) in requests
//! whose ranges the local engine does not check.
//!
//! DynamoDB refuses a reversed range in each condition, key condition and filter. The local engine
//! refuses a reversed range in the condition of a PutItem, UpdateItem or DeleteItem. In a
//! transaction, a query or a scan, the local engine treats a reversed range as a false condition.

use std::collections::HashMap;

use dynoxide::{
    Database, DynoxideError,
    actions::{
        delete_item::DeleteItemRequest, query::QueryRequest, scan::ScanRequest,
        transact_write_items::TransactWriteItemsRequest,
    },
    types::AttributeValue,
};

type Names = Option<HashMap<String, String>>;
type Values = Option<HashMap<String, AttributeValue>>;

/// A condition or filter of a request.
struct Expression<'r> {
    text: Option<&'r str>,
    names: &'r Names,
    values: &'r Values,
}

pub(crate) fn check_transaction(engine: &Database, request: &TransactWriteItemsRequest) -> dynoxide::Result<()> {
    macro_rules! expression {
        ($action:expr, $text:expr) => {
            Expression {
                text: $text,
                names: &$action.expression_attribute_names,
                values: &$action.expression_attribute_values,
            }
        };
    }
    for item in &request.transact_items {
        let puts = item.put.iter().map(|put| expression!(put, put.condition_expression.as_deref()));
        let updates = item.update.iter().map(|update| expression!(update, update.condition_expression.as_deref()));
        let deletes = item.delete.iter().map(|delete| expression!(delete, delete.condition_expression.as_deref()));
        let checks = item.condition_check.iter().map(|check| expression!(check, Some(&*check.condition_expression)));
        for expression in puts.chain(updates).chain(deletes).chain(checks) {
            expression.check(engine)?;
        }
    }
    Ok(())
}

pub(crate) fn check_query(engine: &Database, request: &QueryRequest) -> dynoxide::Result<()> {
    let (names, values) = (&request.expression_attribute_names, &request.expression_attribute_values);
    Expression { text: request.key_condition_expression.as_deref(), names, values }.check(engine)?;
    Expression { text: request.filter_expression.as_deref(), names, values }.check(engine)
}

pub(crate) fn check_scan(engine: &Database, request: &ScanRequest) -> dynoxide::Result<()> {
    let text = request.filter_expression.as_deref();
    let (names, values) = (&request.expression_attribute_names, &request.expression_attribute_values);
    Expression { text, names, values }.check(engine)
}

impl Expression<'_> {
    /// Lets the local engine check the ranges of a condition: sends a delete with the condition,
    /// but without a key, to the local engine. The local engine checks the ranges of a delete
    /// before it refuses the delete because of the missing key.
    fn check(&self, engine: &Database) -> dynoxide::Result<()> {
        let Some(text) = self.text.filter(|text| text.to_ascii_uppercase().contains("BETWEEN")) else { return Ok(()) };
        let delete = DeleteItemRequest {
            table_name: "no-table".to_owned(),
            condition_expression: Some(text.to_owned()),
            expression_attribute_names: self.names.clone(),
            expression_attribute_values: self.values.clone(),
            ..DeleteItemRequest::default()
        };
        match engine.delete_item(delete) {
            Err(DynoxideError::ValidationException(why)) if why.contains("The BETWEEN operator requires") => {
                Err(DynoxideError::ValidationException(why))
            }
            // The local engine reports all errors except reversed ranges when it applies the
            // request.
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

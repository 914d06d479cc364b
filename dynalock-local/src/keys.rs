//! Finds empty keys in the key condition of a query. DynamoDB refuses a query with an empty key.
//! The local engine would return no items for a query with an empty key.

use dynoxide::{DynoxideError, actions::query::QueryRequest, types::AttributeValue};

pub(crate) fn check_query(request: &QueryRequest) -> dynoxide::Result<()> {
    let condition = request.key_condition_expression.as_deref().unwrap_or_default();
    let names_it = |placeholder: &str| {
        condition.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | ':')).any(|word| word == placeholder)
    };
    let values = request.expression_attribute_values.iter().flatten();

    match values.filter(|(_, value)| is_empty(value)).any(|(placeholder, _)| names_it(placeholder)) {
        false => Ok(()),
        true => Err(DynoxideError::ValidationException(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an \
             empty string value."
                .to_owned(),
        )),
    }
}

fn is_empty(value: &AttributeValue) -> bool {
    match value {
        AttributeValue::S(text) => text.is_empty(),
        AttributeValue::B(bytes) => bytes.is_empty(),
        _ => false,
    }
}

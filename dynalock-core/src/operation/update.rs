use std::{collections::HashMap, pin::pin, sync::Arc};

use aws_sdk_dynamodb::{
    Client,
    types::{ReturnValue::AllOld, ReturnValuesOnConditionCheckFailure},
};

use super::{
    Action, Write,
    classify::{Failure, classify},
};
use crate::{codec::Item, telemetry::request};

/// An UpdateItem request that returns the state of the item before the update.
#[derive(Clone)]
pub(crate) struct UpdateItem {
    pub(crate) table: Arc<str>,
    pub(crate) key: Item,
    pub(crate) text: String,
    pub(crate) condition: String,
    pub(crate) names: Option<HashMap<String, String>>,
    pub(crate) values: Option<Item>,
}

impl UpdateItem {
    /// Sends the update. Returns the item before the update, or `None` if no item had the key.
    pub(crate) async fn send(self, client: &Client) -> Result<Option<Item>, Failure> {
        let update = client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(self.key))
            .update_expression(self.text)
            .condition_expression(self.condition)
            .set_expression_attribute_names(self.names)
            .set_expression_attribute_values(self.values)
            .return_values(AllOld)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        request("UpdateItem", &self.table, pin!(update.send())).await.map(|output| output.attributes).map_err(classify)
    }
}

/// Converts the update into a write that can be an action of a transaction. Unlike a single
/// UpdateItem, a successful transaction does not return the item.
impl From<UpdateItem> for Write {
    fn from(update: UpdateItem) -> Self {
        let UpdateItem { table, key, text, condition, names, values } = update;
        Self { table, key, action: Action::Update(text), condition: Some(condition), names, values }
    }
}

use std::{collections::HashMap, sync::Arc};

use aws_sdk_dynamodb::{
    error::BuildError,
    types::{ConditionCheck, Delete, Put, TransactWriteItem, Update},
};

use crate::{codec::Item, expression::Placeholders};

#[derive(Clone)]
pub(crate) struct Write {
    pub(crate) table: Arc<str>,
    pub(crate) key: Item,
    pub(crate) action: Action,
    pub(crate) condition: Option<String>,
    pub(crate) names: Option<HashMap<String, String>>,
    pub(crate) values: Option<Item>,
}

#[derive(Clone)]
pub(crate) enum Action {
    Put(Item),
    Update(String),
    /// An UpdateItem request that a patch sends. Outside a transaction, DynamoDB returns the item
    /// after the patch.
    Patch(String),
    /// An UpdateItem request that changes a lease row. Outside a transaction, DynamoDB returns the
    /// lease row from before the update.
    RowUpdate(String),
    Delete,
    Check,
}

/// `conditional` is a macro, because the builders of the SDK have no common trait.
macro_rules! conditional {
    ($builder:expr, $write:ident) => {
        $builder
            .table_name(&*$write.table)
            .set_return_values_on_condition_check_failure(
                $write
                    .condition
                    .is_some()
                    .then_some(aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld),
            )
            .set_condition_expression($write.condition)
            .set_expression_attribute_names($write.names)
            .set_expression_attribute_values($write.values)
    };
}

pub(super) use conditional;

impl Write {
    pub(crate) fn new(
        table: &Arc<str>,
        key: Item,
        action: Action,
        condition: Option<String>,
        placeholders: Placeholders,
    ) -> Self {
        let (names, values) = placeholders.finish();
        Self { table: Arc::clone(table), key, action, condition, names, values }
    }

    pub(crate) fn placeholders(&self) -> Placeholders {
        let names = self.names.as_ref().map_or(0, HashMap::len);
        let values = self.values.as_ref().map_or(0, HashMap::len);
        Placeholders::after(names, values)
    }

    /// Joins `condition` to the condition of the write with `AND`. The placeholders in `condition`
    /// must come from [`placeholders`](Self::placeholders) of the same write.
    pub(crate) fn require(&mut self, condition: &str, names: Option<HashMap<String, String>>, values: Option<Item>) {
        self.condition = Some(match self.condition.take() {
            // DynamoDB refuses redundant parentheses. A condition with `OR` already has
            // parentheses.
            Some(own) => format!("{own} AND {condition}"),
            None => condition.to_owned(),
        });
        if let Some(names) = names {
            self.names.get_or_insert_default().extend(names);
        }
        if let Some(values) = values {
            self.values.get_or_insert_default().extend(values);
        }
    }

    pub(super) fn transact_item(self) -> Result<TransactWriteItem, BuildError> {
        let item = TransactWriteItem::builder();
        Ok(match self.action {
            Action::Put(put) => item.put(conditional!(Put::builder(), self).set_item(Some(put)).build()?),
            Action::Update(text) | Action::Patch(text) | Action::RowUpdate(text) => {
                let update = conditional!(Update::builder(), self).set_key(Some(self.key)).update_expression(text);
                item.update(update.build()?)
            }
            Action::Delete => item.delete(conditional!(Delete::builder(), self).set_key(Some(self.key)).build()?),
            Action::Check => {
                item.condition_check(conditional!(ConditionCheck::builder(), self).set_key(Some(self.key)).build()?)
            }
        }
        .build())
    }
}

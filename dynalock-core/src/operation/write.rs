use std::{collections::HashMap, pin::pin, sync::Arc};

use aws_sdk_dynamodb::{
    Client,
    error::BuildError,
    operation::{delete_item::DeleteItemError, put_item::PutItemError, update_item::UpdateItemError},
    types::{
        ConditionCheck, Delete, Put, ReturnValue, ReturnValuesOnConditionCheckFailure::AllOld, TransactWriteItem,
        Update,
    },
};

use super::{
    classify::{Failure, ServiceFailure, classify},
    transact::Transact,
};
use crate::{codec::Item, expression::Placeholders, telemetry::request};

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
            .set_return_values_on_condition_check_failure($write.condition.is_some().then_some(AllOld))
            .set_condition_expression($write.condition)
            .set_expression_attribute_names($write.names)
            .set_expression_attribute_values($write.values)
    };
}

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

    /// Sends the write as a single request. `send` returns the item after an [`Action::Patch`], and
    /// the lease row from before an [`Action::RowUpdate`]. For an action other than `Patch` or
    /// `RowUpdate`, `send` returns `None`.
    pub(crate) async fn send(self, client: &Client) -> Result<Option<Item>, Failure> {
        let returned = match self.action {
            Action::Patch(_) => Some(ReturnValue::AllNew),
            Action::RowUpdate(_) => Some(ReturnValue::AllOld),
            Action::Put(_) | Action::Update(_) | Action::Delete | Action::Check => None,
        };
        let sent = match self.action {
            Action::Put(item) => {
                let put = conditional!(client.put_item(), self).set_item(Some(item));
                request("PutItem", &self.table, pin!(put.send())).await.map(drop).map_err(classify)
            }
            Action::Update(text) | Action::Patch(text) | Action::RowUpdate(text) => {
                let update = conditional!(client.update_item(), self).set_key(Some(self.key)).update_expression(text);
                let update = update.set_return_values(returned);
                let sent = request("UpdateItem", &self.table, pin!(update.send())).await;
                return sent.map(|output| output.attributes).map_err(classify);
            }
            Action::Delete => {
                let delete = conditional!(client.delete_item(), self).set_key(Some(self.key));
                request("DeleteItem", &self.table, pin!(delete.send())).await.map(drop).map_err(classify)
            }
            // DynamoDB accepts a ConditionCheck only in a transaction. A retry of a ConditionCheck
            // changes nothing, so the SDK may generate a new token for each attempt.
            Action::Check => {
                let transact = Transact::new([self], None).map_err(Failure::Permanent)?;
                Box::pin(transact.send(client)).await
            }
        };
        sent.map(|()| None)
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

macro_rules! condition_of {
    ($($error:ident),*) => {$(
        impl ServiceFailure for $error {
            fn modelled(&mut self) -> Option<Failure> {
                match self {
                    Self::ConditionalCheckFailedException(failed) => Some(Failure::Condition(failed.item.take())),
                    _ => None,
                }
            }
        }
    )*};
}

condition_of!(PutItemError, UpdateItemError, DeleteItemError);

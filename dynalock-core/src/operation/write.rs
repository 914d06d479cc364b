use std::{collections::HashMap, sync::Arc};

use aws_sdk_dynamodb::{
    Client,
    error::SdkError,
    operation::{
        delete_item::DeleteItemError, put_item::PutItemError, transact_write_items::TransactWriteItemsError,
        update_item::UpdateItemError,
    },
    types::{Delete, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update},
};

use super::classify::{Failure, ServiceFailure, classify, refusal};
use crate::{codec::Item, error::Refusal};

/// One conditional write, ready to be sent any number of times. Its maps are made once, so that each sending is the same to the byte:
/// DynamoDB Local takes another order for another request under the same token.
pub(crate) struct Write {
    pub(crate) table: Arc<str>,
    /// The name of the version attribute.
    pub(crate) version: &'static str,
    pub(crate) key: Item,
    pub(crate) action: Action,
    /// None for a write that is applied whatever is stored.
    pub(crate) condition: Option<String>,
    pub(crate) names: Option<HashMap<String, String>>,
    pub(crate) values: Option<Item>,
}

/// What a write does if its condition holds.
pub(crate) enum Action {
    /// PutItem of a whole item.
    Put(Item),
    /// UpdateItem with this expression.
    Update(String),
    /// DeleteItem.
    Delete,
}

/// How a write goes over the wire.
#[derive(Debug, Clone)]
pub(crate) enum Sending {
    /// As a PutItem, UpdateItem or DeleteItem.
    Plain,
    /// As a transaction of one, under a ClientRequestToken: DynamoDB applies it at most once in ten minutes.
    Once(String),
}

impl Write {
    pub(crate) async fn send(&self, client: &Client, sending: &Sending) -> Result<(), Failure> {
        match (sending, &self.action) {
            (Sending::Plain, Action::Put(item)) => self.put(client, item).await.map_err(classify),
            (Sending::Plain, Action::Update(text)) => self.update(client, text).await.map_err(classify),
            (Sending::Plain, Action::Delete) => self.delete(client).await.map_err(classify),
            (Sending::Once(token), _) => self.transact(client, token).await,
        }
    }

    async fn put(&self, client: &Client, item: &Item) -> Result<(), SdkError<PutItemError>> {
        client
            .put_item()
            .table_name(&*self.table)
            .set_item(Some(item.clone()))
            .set_condition_expression(self.condition.clone())
            .set_expression_attribute_names(self.names.clone())
            .set_expression_attribute_values(self.values.clone())
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await
            .map(drop)
    }

    async fn update(&self, client: &Client, text: &str) -> Result<(), SdkError<UpdateItemError>> {
        client
            .update_item()
            .table_name(&*self.table)
            .set_key(Some(self.key.clone()))
            .update_expression(text)
            .set_condition_expression(self.condition.clone())
            .set_expression_attribute_names(self.names.clone())
            .set_expression_attribute_values(self.values.clone())
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await
            .map(drop)
    }

    async fn delete(&self, client: &Client) -> Result<(), SdkError<DeleteItemError>> {
        client
            .delete_item()
            .table_name(&*self.table)
            .set_key(Some(self.key.clone()))
            .set_condition_expression(self.condition.clone())
            .set_expression_attribute_names(self.names.clone())
            .set_expression_attribute_values(self.values.clone())
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await
            .map(drop)
    }

    async fn transact(&self, client: &Client, token: &str) -> Result<(), Failure> {
        let item = self.transact_item().map_err(|error| Failure::not_constructed(&error))?;
        client
            .transact_write_items()
            .transact_items(item)
            .client_request_token(token)
            .send()
            .await
            .map(drop)
            .map_err(classify)
    }

    fn transact_item(&self) -> Result<TransactWriteItem, aws_sdk_dynamodb::error::BuildError> {
        let (names, values) = (self.names.clone(), self.values.clone());
        let (table, key) = (&*self.table, Some(self.key.clone()));
        Ok(match &self.action {
            Action::Put(item) => TransactWriteItem::builder().put(
                Put::builder()
                    .table_name(table)
                    .set_item(Some(item.clone()))
                    .set_condition_expression(self.condition.clone())
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                    .build()?,
            ),
            Action::Update(text) => TransactWriteItem::builder().update(
                Update::builder()
                    .table_name(table)
                    .set_key(key)
                    .update_expression(text)
                    .set_condition_expression(self.condition.clone())
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                    .build()?,
            ),
            Action::Delete => TransactWriteItem::builder().delete(
                Delete::builder()
                    .table_name(table)
                    .set_key(key)
                    .set_condition_expression(self.condition.clone())
                    .set_expression_attribute_names(names)
                    .set_expression_attribute_values(values)
                    .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                    .build()?,
            ),
        }
        .build())
    }
}

macro_rules! conditional {
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

conditional!(PutItemError, UpdateItemError, DeleteItemError);

impl ServiceFailure for TransactWriteItemsError {
    /// The reason of the one write in the transaction.
    fn modelled(&mut self) -> Option<Failure> {
        let whole = refusal(self);
        let Self::TransactionCanceledException(cancelled) = self else { return None };
        let Some(reason) = cancelled.cancellation_reasons.as_mut().and_then(|reasons| reasons.first_mut()) else {
            return Some(Failure::Permanent(whole));
        };
        let message = reason.message.take().unwrap_or_else(|| whole.message().to_owned());
        let refusal =
            Refusal::new(reason.code.take().unwrap_or_default(), message, whole.request_id().map(str::to_owned));
        Some(match refusal.code() {
            "ConditionalCheckFailed" => Failure::Condition(reason.item.take()),
            "TransactionConflict" => Failure::Contention(refusal),
            "ProvisionedThroughputExceeded" | "ThrottlingError" => Failure::Capacity(refusal),
            _ => Failure::Permanent(refusal),
        })
    }
}

//! Sends a [`Write`] as a request of its own.

use std::pin::pin;

use aws_sdk_dynamodb::{
    Client,
    operation::{delete_item::DeleteItemError, put_item::PutItemError, update_item::UpdateItemError},
    types::ReturnValue,
};

use super::{
    classify::{Failure, ServiceFailure, classify},
    transact::Transact,
    write::{Action, Write, conditional},
};
use crate::{codec::Item, telemetry::request};

impl Write {
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

use std::{collections::HashMap, sync::Arc};

use aws_sdk_dynamodb::{
    Client,
    error::BuildError,
    operation::{delete_item::DeleteItemError, put_item::PutItemError, update_item::UpdateItemError},
    types::{ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure::AllOld, TransactWriteItem, Update},
};

use super::{
    classify::{Failure, ServiceFailure, classify},
    transact::Transact,
};
use crate::{
    codec::{self, Item},
    expression::Placeholders,
};

/// One conditional write, ready to be sent. A clone is the same to the byte, the order of its maps included: DynamoDB Local takes
/// another order for another request under the same token.
#[derive(Clone)]
pub(crate) struct Write {
    pub(crate) table: Arc<str>,
    pub(crate) key: Item,
    pub(crate) action: Action,
    /// None for a write that is applied whatever is stored.
    pub(crate) condition: Option<String>,
    pub(crate) names: Option<HashMap<String, String>>,
    pub(crate) values: Option<Item>,
    /// What happens together with it, or neither does: the write, or check, of the row that the lease of its item is kept in.
    pub(crate) beside: Option<Box<Write>>,
}

/// What a write does if its condition holds.
#[derive(Clone)]
pub(crate) enum Action {
    /// PutItem of a whole item.
    Put(Item),
    /// UpdateItem with this expression.
    Update(String),
    /// DeleteItem.
    Delete,
    /// ConditionCheck: nothing, but the transaction depends on the condition.
    Check,
}

/// How a write goes over the wire.
#[derive(Debug, Clone)]
pub(crate) enum Sending {
    /// As a PutItem, UpdateItem or DeleteItem.
    Plain,
    /// As a transaction of one, under a ClientRequestToken: DynamoDB applies it at most once in ten minutes.
    Once(String),
}

/// What all kinds of write say, as requests of their own and as actions of a transaction.
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
    pub(crate) async fn send(self, client: &Client, sending: &Sending) -> Result<(), Failure> {
        match sending {
            Sending::Plain if self.beside.is_none() => self.alone(client).await,
            // Boxed, or the future of every plain write would have the room for it. The SDK draws the token: a write is made anew for each
            // attempt, with the time and the beat of that, and is another content then, which must not come under the token of the last.
            // Its write id shows what became of that one, as it does for a plain write.
            Sending::Plain => Box::pin(self.in_transaction(client, None)).await,
            Sending::Once(token) => Box::pin(self.in_transaction(client, Some(token.clone()))).await,
        }
    }

    async fn alone(self, client: &Client) -> Result<(), Failure> {
        match self.action {
            Action::Put(item) => {
                let request = conditional!(client.put_item(), self).set_item(Some(item));
                request.send().await.map(drop).map_err(classify)
            }
            Action::Update(text) => {
                let request = conditional!(client.update_item(), self).set_key(Some(self.key)).update_expression(text);
                request.send().await.map(drop).map_err(classify)
            }
            Action::Delete => {
                let request = conditional!(client.delete_item(), self).set_key(Some(self.key));
                request.send().await.map(drop).map_err(classify)
            }
            // There is no request for a check alone. One that is sent twice does no harm: the SDK may draw the token.
            Action::Check => Box::pin(self.in_transaction(client, None)).await,
        }
    }

    async fn in_transaction(mut self, client: &Client, token: Option<String>) -> Result<(), Failure> {
        let beside = self.beside.take().map(|beside| *beside);
        let transact = Transact::new(std::iter::once(self).chain(beside), token).map_err(Failure::Permanent)?;
        transact.send_one(client).await
    }

    /// Placeholders that go on where those of this write end.
    pub(crate) fn placeholders(&self) -> Placeholders {
        let names = self.names.as_ref().map_or(0, HashMap::len);
        let values = self.values.as_ref().map_or(0, HashMap::len);
        Placeholders::after(names, values)
    }

    /// The bytes of the item that it has, by DynamoDB's rules: all of them, or those of new values.
    pub(crate) fn size(&self) -> usize {
        match &self.action {
            Action::Put(item) => codec::size(item),
            Action::Update(text) => {
                let is_set = |placeholder: &str| text.split([' ', ',', '=', '(', ')']).any(|word| word == placeholder);
                let values = self.values.iter().flatten().filter(|(placeholder, _)| is_set(placeholder));
                values.map(|(_, value)| codec::size_of(value)).sum()
            }
            Action::Delete | Action::Check => 0,
        }
    }

    /// Another condition on the same item, whose placeholders go on where those of this write end.
    pub(crate) fn require(&mut self, condition: &str, names: Option<HashMap<String, String>>, values: Option<Item>) {
        self.condition = Some(match self.condition.take() {
            // DynamoDB refuses parentheses that it does not need: an alternative brings its own.
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
            Action::Update(text) => {
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

use aws_sdk_dynamodb::{Client, operation::transact_write_items::TransactWriteItemsError, types::TransactWriteItem};

use super::{
    Reasons, Write,
    classify::{Failure, ServiceFailure, classify, not_constructed, refusal},
};
use crate::error::Refusal;

/// A TransactWriteItems. It is built once and sent as often as needed, the same to the byte: DynamoDB Local takes another order of a
/// map for another request under the same token.
pub(crate) struct Transact {
    actions: Vec<TransactWriteItem>,
    /// The ClientRequestToken.
    token: Option<String>,
}

impl Transact {
    pub(crate) fn new(writes: impl IntoIterator<Item = Write>, token: Option<String>) -> Result<Self, Refusal> {
        let actions = writes.into_iter().map(Write::transact_item).collect::<Result<_, _>>();
        Ok(Self { actions: actions.map_err(|error| not_constructed(&error))?, token })
    }

    /// Sends it. The reasons of a [`Failure::Cancelled`] are as many as the writes, in their order.
    pub(crate) async fn send(&self, client: &Client) -> Result<(), Failure> {
        let request = client.transact_write_items().set_transact_items(Some(self.actions.clone()));
        match request.set_client_request_token(self.token.clone()).send().await.map_err(classify) {
            Ok(_) => Ok(()),
            Err(Failure::Cancelled(reasons)) if reasons.as_slice().len() != self.actions.len() => {
                let reasons = reasons.as_slice().len();
                let message = format!("{} actions were cancelled with {reasons} reasons", self.actions.len());
                Err(Failure::Permanent(Refusal::new("TransactionCanceledException", message, None)))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Sends the transaction of one write, whose failure is that of the write.
    pub(super) async fn send_one(&self, client: &Client) -> Result<(), Failure> {
        match self.send(client).await {
            Err(Failure::Cancelled(reasons)) => Err(reasons.into_failure()),
            sent => sent,
        }
    }
}

impl ServiceFailure for TransactWriteItemsError {
    fn modelled(&mut self) -> Option<Failure> {
        let whole = refusal(self);
        let Self::TransactionCanceledException(cancelled) = self else { return None };
        Some(Failure::Cancelled(Reasons::read(cancelled.cancellation_reasons.take(), whole)))
    }
}

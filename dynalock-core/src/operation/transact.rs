use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
};

use aws_sdk_dynamodb::{Client, operation::transact_write_items::TransactWriteItemsError, types::TransactWriteItem};

use super::{
    ActionReasons, Write,
    body::Body,
    capacity::{IN_FLIGHT, Share},
    classify::{Failure, ServiceFailure, classify, not_constructed, refusal},
};
use crate::{error::Refusal, telemetry::request};

const NAME: &str = "TransactWriteItems";

/// A TransactWriteItems request, whose retries have the same bytes as the first attempt. DynamoDB
/// Local compares the bytes of requests with the same token, and refuses a retry with another order
/// of the members of a JSON map.
pub(crate) struct Transact {
    /// The actions of the transaction, or `None` after the first attempt. The first attempt moves
    /// the actions into its request, because a copy of the large actions would be slow. Retries
    /// send the bytes of the first request.
    actions: Mutex<Option<Vec<TransactWriteItem>>>,
    tables: Vec<Arc<str>>,
    /// The ClientRequestToken, or `None` if the SDK generates the token.
    token: Option<String>,
    body: Body,
    shares: Mutex<Vec<Share>>,
}

impl Transact {
    pub(crate) fn new(writes: impl IntoIterator<Item = Write>, token: Option<String>) -> Result<Self, Refusal> {
        let writes = writes.into_iter();
        // An action of the SDK takes more than a kilobyte, and a growing list would copy the
        // actions.
        let (count, _) = writes.size_hint();
        let (mut tables, mut actions) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for write in writes {
            tables.push(Arc::clone(&write.table));
            actions.push(write.transact_item().map_err(|error| not_constructed(&error))?);
        }
        Ok(Self { tables, actions: Mutex::new(Some(actions)), token, body: Body::default(), shares: Mutex::default() })
    }

    pub(crate) fn table(&self, index: usize) -> &Arc<str> {
        &self.tables[index]
    }

    pub(crate) fn len(&self) -> usize {
        self.tables.len()
    }

    /// Sends the request. If DynamoDB cancels the transaction, [`Failure::Cancelled`] contains
    /// exactly one reason for each action of the transaction.
    pub(crate) async fn send(&self, client: &Client) -> Result<(), Failure> {
        let unsent = self.actions.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.meter(unsent.as_deref());
        let sent = match unsent {
            Some(actions) => {
                let write = client.transact_write_items().set_transact_items(Some(actions));
                let write = write.set_client_request_token(self.token.clone());
                let sent = pin!(write.send());
                request(NAME, &table_names(&self.tables), pin!(self.body.keep(sent))).await
            }
            None if self.body.is_kept() => {
                let body = self.body.clone();
                let write = client.transact_write_items().customize();
                // The first attempt has moved the actions out of `Transact`, so the SDK builds an
                // empty request. The stored body replaces the empty body before the SDK signs the
                // request.
                let write = write.mutate_request(move |request| body.put_into(request));
                request(NAME, &table_names(&self.tables), pin!(write.send())).await
            }
            // The SDK builds the body before its first await, so a first attempt always stores the
            // body.
            None => {
                const LOST: &str = "its content was lost before it was sent";
                return Err(Failure::Permanent(Refusal::new("the request could not be made", LOST, None)));
            }
        };
        match sent.map_err(classify) {
            Ok(_) => Ok(()),
            // The position of a reason shows its action, so the number of reasons must be right.
            Err(Failure::Cancelled(reasons)) if reasons.as_slice().len() != self.tables.len() => {
                let (actions, reasons) = (self.tables.len(), reasons.as_slice().len());
                let message = format!("{actions} actions were cancelled with {reasons} reasons");
                Err(Failure::Permanent(Refusal::new("TransactionCanceledException", message, None)))
            }
            Err(failure) => Err(failure),
        }
    }

    /// Estimates the capacity of each action at the first attempt, and keeps the estimates for the
    /// retries. For a retry, `unsent` is `None`.
    fn meter(&self, unsent: Option<&[TransactWriteItem]>) {
        // Only `Attempts` sets `IN_FLIGHT`. The library does not measure other requests.
        let _ = IN_FLIGHT.try_with(|in_flight| {
            let Some(metered) = &in_flight.metered else { return };
            let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(actions) = unsent {
                *shares = metered.shares_of_actions(actions);
            }
            metered.expect(shares.clone());
        });
    }
}

/// Joins the names of tables into one text, sorted and without duplicates.
pub(crate) fn table_names<'t>(all: impl IntoIterator<Item = &'t Arc<str>>) -> Arc<str> {
    let mut names: Vec<&Arc<str>> = Vec::new();
    for table in all {
        if !names.contains(&table) {
            names.push(table);
        }
    }
    // The names are the label of a metric, and the label must not depend on the order of the
    // tables.
    names.sort_unstable();
    match names[..] {
        [only] => Arc::clone(only),
        _ => names.into_iter().map(|name| &**name).collect::<Vec<_>>().join(", ").into(),
    }
}

impl ServiceFailure for TransactWriteItemsError {
    fn modelled(&mut self) -> Option<Failure> {
        let whole = refusal(self);
        let Self::TransactionCanceledException(cancelled) = self else { return None };
        Some(Failure::Cancelled(ActionReasons::read(cancelled.cancellation_reasons.take(), whole)))
    }
}

//! Transactions with a simulated duration, and the answers to requests that conflict with a running
//! transaction.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use dynoxide::{Database, DynoxideError, errors::CancellationReason};
use http::StatusCode;
use serde_json::Value;

use crate::{
    dispatch,
    items::{ItemKey, Named, named_by, named_by_write},
    wire,
};

/// The running transactions of a database.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    /// The transaction time: the simulated duration of each transaction, which a test can set.
    time: Duration,
    items: HashSet<ItemKey>,
    tokens: HashSet<String>,
}

/// A running transaction. A running transaction ends when the `Run` is dropped.
#[derive(Debug)]
pub(crate) struct Run {
    running: Arc<Running>,
    items: Vec<ItemKey>,
    token: Option<String>,
    pub(crate) time: Duration,
}

impl Running {
    pub(crate) fn set_time(&self, time: Duration) {
        self.table().time = time;
    }

    /// Returns `true` if no request can conflict with a transaction, because the simulated duration
    /// of transactions is zero and no transaction is running.
    pub(crate) fn is_off(&self) -> bool {
        let table = self.table();

        table.time.is_zero() && table.items.is_empty()
    }

    /// Returns the error answer for a single write or a transactional read, if a transaction is
    /// running on an item of the request.
    pub(crate) fn refusal(&self, engine: &Database, operation: &str, request: &Value) -> Option<HttpResponse> {
        let named = named_by(engine, operation, request);
        let conflicts = self.table().conflicts(&named);

        conflicts.contains(&true).then(|| match operation {
            "TransactGetItems" => canceled(&conflicts),
            _ => error("TransactionConflictException", "Transaction is ongoing for the item"),
        })
    }

    /// Starts a transaction. If another transaction is running on an item of the new transaction,
    /// returns an error answer and does not start the transaction.
    pub(crate) fn start(self: &Arc<Self>, engine: &Database, request: &Value) -> Result<Run, Box<HttpResponse>> {
        let named = named_by(engine, "TransactWriteItems", request);
        let token = request["ClientRequestToken"].as_str().map(str::to_owned);
        let mut table = self.table();

        if token.as_ref().is_some_and(|token| table.tokens.contains(token)) {
            return Err(Box::new(error(
                "TransactionInProgressException",
                "The transaction with the given request token is already in progress",
            )));
        }
        let conflicts = table.conflicts(&named);
        if conflicts.contains(&true) {
            return Err(Box::new(canceled(&conflicts)));
        }
        let items: Vec<_> = named.into_iter().flatten().map(|named| named.item).collect();
        table.items.extend(items.iter().cloned());
        table.tokens.extend(token.clone());
        Ok(Run { running: Arc::clone(self), items, token, time: table.time })
    }

    /// Returns `true` if a transaction is running on the item of a put or delete in a batch.
    pub(crate) fn holds(&self, engine: &Database, table: &str, write: &Value) -> bool {
        named_by_write(engine, table, write).is_some_and(|named| self.table().items.contains(&named.item))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Returns one value for each action of a request: `true` if a transaction is already running
    /// on the item of the action.
    fn conflicts(&self, named: &[Option<Named>]) -> Vec<bool> {
        named.iter().map(|named| named.as_ref().is_some_and(|named| self.items.contains(&named.item))).collect()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let mut table = self.running.table();
        for item in &self.items {
            table.items.remove(item);
        }
        if let Some(token) = &self.token {
            table.tokens.remove(token);
        }
    }
}

fn canceled(conflicts: &[bool]) -> HttpResponse {
    let code = |conflict: &bool| if *conflict { "TransactionConflict" } else { "None" };
    let message = |conflict: &bool| conflict.then(|| "Transaction is ongoing for the item".to_owned());
    let reason =
        |conflict| CancellationReason { code: code(conflict).to_owned(), message: message(conflict), item: None };
    let codes = conflicts.iter().map(code).collect::<Vec<_>>().join(", ");

    dispatch::respond(Err(DynoxideError::TransactionCanceledException(
        format!("Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"),
        conflicts.iter().map(reason).collect(),
    )))
}

fn error(code: &str, message: &str) -> HttpResponse {
    wire::error(StatusCode::BAD_REQUEST, wire::SERVICE, code, message)
}

use std::{
    error::Error as StdError,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aws_smithy_runtime_api::client::{orchestrator::HttpResponse, result::ConnectorError};
use dynoxide::{Database, DynoxideError};
use http::StatusCode;
use serde_json::Value;

use crate::{
    batch::Kind,
    clock, dispatch,
    replica::{Lag, Replica},
    tokens::Tokens,
    transactions::Running,
    wire,
};

/// The local engine, and the state that the clients of a database share.
pub(crate) struct Service {
    pub(crate) engine: Database,
    tokens: Tokens,
    pub(crate) running: Arc<Running>,
    /// The copy of the database that answers the reads of global indexes, or `None` if global
    /// indexes show each write at once.
    replica: Mutex<Option<Replica>>,
}

impl Service {
    pub(crate) fn new(engine: Database) -> Self {
        Self { engine, tokens: Tokens::default(), running: Arc::default(), replica: Mutex::default() }
    }

    /// Sets a delay with which global indexes show all writes after the call of `lag`.
    pub(crate) fn lag(&self, lag: Lag) -> Result<(), Box<dyn StdError + Send + Sync>> {
        let mut replica = self.replica();
        match replica.as_mut() {
            Some(replica) => replica.set_lag(lag),
            None => *replica = Some(Replica::of(&self.engine, lag)?),
        }
        Ok(())
    }

    /// Ends the delay of global indexes, so that global indexes show each write at once.
    pub(crate) fn end_lag(&self) {
        *self.replica() = None;
    }

    /// Returns the answer to one request. The local engine applies and answers a new write
    /// transaction only after the transaction time, which is a simulated duration that a test can
    /// set. A request that is not a write transaction gets its answer at once.
    pub(crate) async fn call(self: Arc<Self>, operation: &str, body: &[u8]) -> Result<HttpResponse, ConnectorError> {
        if self.running.is_off() {
            return Ok(self.answer(operation, body));
        }
        let request: Value = serde_json::from_slice(body).unwrap_or_default();

        match operation {
            "TransactWriteItems" => Ok(self.transact(&request, body).await),
            "BatchWriteItem" => self.write_batch(request, body).await,
            _ => match self.running.refusal(&self.engine, operation, &request) {
                Some(refusal) => Ok(refusal),
                None => Ok(self.answer(operation, body)),
            },
        }
    }

    async fn transact(self: Arc<Self>, request: &Value, body: &[u8]) -> HttpResponse {
        // If a request repeats a successful transaction with the same token, DynamoDB returns the
        // first answer, even if another transaction is running on the items of the request.
        if request["ClientRequestToken"].as_str().is_some_and(|token| self.tokens.knows(token)) {
            return self.answer("TransactWriteItems", body);
        }
        let run = match self.running.start(&self.engine, request) {
            Ok(run) => run,
            Err(refusal) => return *refusal,
        };

        // The transaction runs in a separate task, so that the transaction continues if the caller
        // stops waiting.
        let body = body.to_vec();
        let task = tokio::spawn(async move {
            clock::sleep(run.time).await;
            let answer = self.answer("TransactWriteItems", &body);
            drop(run);
            answer
        });
        task.await.unwrap_or_else(|error| dispatch::respond(Err(DynoxideError::InternalServerError(error.to_string()))))
    }

    async fn write_batch(&self, mut request: Value, body: &[u8]) -> Result<HttpResponse, ConnectorError> {
        let Some(tables) = request.get_mut("RequestItems").and_then(Value::as_object_mut) else {
            return Ok(self.answer("BatchWriteItem", body));
        };
        let left = Kind::Write.take(tables, |table, write| self.running.holds(&self.engine, table, write));
        if left.is_empty() {
            return Ok(self.answer("BatchWriteItem", body));
        }
        if tables.is_empty() {
            return Ok(wire::reply(StatusCode::OK, Kind::Write.nothing_processed(&left).to_string()));
        }

        let reply = self.answer("BatchWriteItem", request.to_string().as_bytes());
        if reply.status().is_success() { Kind::Write.add(left, reply).await } else { Ok(reply) }
    }

    fn answer(&self, operation: &str, body: &[u8]) -> HttpResponse {
        // `answer` holds the mutex of the replica until the local engine has answered, so that the
        // replica gets the writes in the order of the local engine.
        match self.replica().as_mut() {
            None => dispatch::answer(&self.engine, &self.tokens, operation, body),
            Some(replica) => replica.answer(&self.engine, &self.tokens, operation, body),
        }
    }

    fn replica(&self) -> MutexGuard<'_, Option<Replica>> {
        self.replica.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

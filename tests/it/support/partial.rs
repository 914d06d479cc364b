//! A DynamoDB whose batches leave keys unprocessed.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use aws_sdk_dynamodb::{Client, config::SharedHttpClient};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use aws_smithy_types::body::SdkBody;
use dynalock::local::Database;
use serde_json::{Value, json};

use super::layer::{HttpRequest, HttpResponse, Layer};

/// Answers each BatchGetItem for this number of keys of its table, and leaves the other keys
/// unprocessed.
#[derive(Debug, Clone)]
pub(crate) struct Partial(Arc<Mutex<Script>>);

#[derive(Debug)]
struct Script {
    answers: VecDeque<usize>,
    asked: Vec<usize>,
}

impl Partial {
    pub(crate) fn new(answers: impl IntoIterator<Item = usize>) -> Self {
        Self(Arc::new(Mutex::new(Script { answers: answers.into_iter().collect(), asked: Vec::new() })))
    }

    pub(crate) fn client(&self, database: &Database) -> Client {
        let inner = SharedHttpClient::new(database.connector());
        let config = database.client().config().to_builder();
        Client::from_conf(config.http_client(self.wrap(inner)).build())
    }

    /// Returns the number of keys of each batch.
    pub(crate) fn asked(&self) -> Vec<usize> {
        self.0.lock().unwrap().asked.clone()
    }

    /// Sets the number of keys that the next batch processes.
    fn next(&self, asked: usize) -> usize {
        let mut script = self.0.lock().unwrap();
        script.asked.push(asked);
        script.answers.pop_front().unwrap_or(asked).min(asked)
    }
}

impl Layer for Partial {
    fn call(&self, mut request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let is_batch = request.headers().get("x-amz-target").is_some_and(|target| target.ends_with(".BatchGetItem"));
        if !is_batch {
            return inner.call(request);
        }
        let mut body: Value = serde_json::from_slice(request.body().bytes().expect("a body")).expect("JSON");
        let tables = body["RequestItems"].as_object_mut().expect("tables");
        let (table, batch) = tables.iter_mut().next().expect("a table");
        let keys = batch["Keys"].as_array_mut().expect("keys");
        let left = keys.split_off(self.next(keys.len()));
        let left = if left.is_empty() { json!({}) } else { json!({ (table.as_str()): { "Keys": left } }) };
        if keys.is_empty() {
            let nothing = json!({ "Responses": {}, "UnprocessedKeys": left });
            return HttpConnectorFuture::ready(Ok(answer(&nothing)));
        }
        *request.body_mut() = SdkBody::from(body.to_string());
        let inner = inner.call(request);
        HttpConnectorFuture::new(async move {
            let reply = inner.await?;
            let mut body: Value = serde_json::from_slice(reply.body().bytes().expect("a body")).expect("JSON");
            body["UnprocessedKeys"] = left;
            Ok(answer(&body))
        })
    }
}

fn answer(body: &Value) -> HttpResponse {
    HttpResponse::new(200.try_into().expect("a status"), SdkBody::from(body.to_string()))
}

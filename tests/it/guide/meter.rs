//! The consumed capacity of a client's requests.

use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use aws_smithy_types::body::SdkBody;
use serde_json::Value;

use crate::support::layer::{HttpRequest, Layer};

/// The read units and write units of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Units {
    pub(crate) reads: f64,
    pub(crate) writes: f64,
}

/// Asks for the consumed capacity of each request, and adds up the answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter(Arc<Mutex<Units>>);

impl Meter {
    /// Returns the client with this meter in front of it.
    pub(crate) fn on(&self, client: &Client) -> Client {
        let http = self.wrap(client.config().http_client().expect("a client of the engine in the process"));
        Client::from_conf(client.config().to_builder().http_client(http).build())
    }

    /// Returns the units since the last call.
    pub(crate) fn take(&self) -> Units {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn add(&self, operation: &str, answer: &Value) {
        let consumed = match &answer["ConsumedCapacity"] {
            Value::Array(tables) => tables.iter().filter_map(|table| table["CapacityUnits"].as_f64()).sum(),
            table => table["CapacityUnits"].as_f64().unwrap_or_else(|| refused(answer)),
        };
        let mut units = self.0.lock().unwrap();
        match operation {
            "GetItem" | "BatchGetItem" | "TransactGetItems" | "Query" | "Scan" => units.reads += consumed,
            _ => units.writes += consumed,
        }
    }
}

/// DynamoDB bills a refused write like an applied write, but its refusal contains no capacity. The
/// items of these tests are smaller than a kilobyte.
fn refused(answer: &Value) -> f64 {
    let is_refused = answer["__type"].as_str().is_some_and(|code| code.ends_with("ConditionalCheckFailedException"));
    if is_refused { 1.0 } else { 0.0 }
}

impl Layer for Meter {
    fn call(&self, mut request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let mut body: Value = serde_json::from_slice(request.body().bytes().expect("a body")).expect("JSON");
        if operation.ends_with("Item") || operation.ends_with("Items") || operation == "Query" || operation == "Scan" {
            body["ReturnConsumedCapacity"] = "TOTAL".into();
        }
        let body = body.to_string();
        request.headers_mut().insert("content-length", body.len().to_string());
        *request.body_mut() = SdkBody::from(body);
        let (meter, inner) = (self.clone(), inner.clone());
        HttpConnectorFuture::new(async move {
            let response = inner.call(request).await?;
            let answer = response.body().bytes().and_then(|bytes| serde_json::from_slice(bytes).ok());
            meter.add(&operation, &answer.unwrap_or_default());
            Ok(response)
        })
    }
}

//! The units that the engine charges for the requests that it receives.

use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use dynalock::cost::{Capacity, Units};
use serde_json::Value;

use crate::support::layer::{HttpRequest, Layer};

/// The units that the engine has reported, and the units of the requests that it has refused.
#[derive(Debug, Clone, Default)]
pub(super) struct Bill(Arc<Mutex<Capacity>>);

impl Bill {
    /// Returns the units since the last call.
    pub(super) fn take(&self) -> Capacity {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn add(&self, operation: &str, request: &Value, answer: &Value) {
        let reported = match &answer["ConsumedCapacity"] {
            Value::Array(tables) => tables.iter().filter_map(|table| table["CapacityUnits"].as_f64()).sum(),
            table => table["CapacityUnits"].as_f64().unwrap_or_else(|| refused(request, answer)),
        };
        let units = halves(reported);
        let mut sum = self.0.lock().unwrap();
        *sum += match operation {
            "GetItem" | "BatchGetItem" | "TransactGetItems" | "Query" | "Scan" => {
                Capacity { read: units, ..Capacity::default() }
            }
            _ => Capacity { write: units, ..Capacity::default() },
        };
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the units of a test are small")]
fn halves(units: f64) -> Units {
    (0..(units * 2.0) as u64).map(|_| Units::HALF).sum()
}

/// The engine reports no capacity for a refused write. DynamoDB charges a refused write like an
/// applied one. The items of the tests with refused writes are smaller than a kilobyte.
fn refused(request: &Value, answer: &Value) -> f64 {
    match answer["__type"].as_str().unwrap_or_default() {
        code if request["ReturnConsumedCapacity"] != "TOTAL" => {
            assert!(!code.ends_with("CapacityException"), "{answer}");
            0.0
        }
        code if code.ends_with("ConditionalCheckFailedException") => 1.0,
        code if code.ends_with("TransactionCanceledException") => {
            request["TransactItems"].as_array().map_or(0.0, |actions| actions.iter().map(|_| 2.0).sum())
        }
        _ => 0.0,
    }
}

impl Layer for Bill {
    fn call(&self, request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let content: Value = serde_json::from_slice(request.body().bytes().expect("a body")).expect("JSON");
        let (bill, inner) = (self.clone(), inner.clone());
        HttpConnectorFuture::new(async move {
            let response = inner.call(request).await?;
            let answer = response.body().bytes().and_then(|bytes| serde_json::from_slice(bytes).ok());
            bill.add(&operation, &content, &answer.unwrap_or_default());
            Ok(response)
        })
    }
}

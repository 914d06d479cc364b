//! The callers that have entered each queue, in the order in which the engine has applied their
//! requests.

use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use serde_json::Value;

use super::wire::Kind;
use crate::support::layer::{HttpRequest, Layer};

/// The names of queues, and the callers that have entered them. Clones share the content.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<(String, String)>>>);

impl Journal {
    /// The number of callers that were served before a caller that had entered earlier. A caller
    /// that entered again counts from its last entry. `served` are the nonces of the grants.
    pub(crate) fn inversions<'a>(&self, name: &str, served: impl IntoIterator<Item = &'a str>) -> u64 {
        let entered = self.0.lock().unwrap();
        let mut last = None;
        let mut inversions = 0;
        for entry in served {
            let places = entered.iter().enumerate().filter(|(_, (of, by))| of == name && by.contains(entry));
            let places: Vec<_> = places.map(|(place, _)| place).collect();
            match places.iter().find(|place| last.is_none_or(|last| **place > last)) {
                Some(place) => last = Some(*place),
                None => inversions += 1,
            }
        }
        inversions
    }

    fn entries(request: &HttpRequest) -> Vec<(String, String)> {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let body = || serde_json::from_slice::<Value>(request.body().bytes().unwrap_or_default()).expect("JSON");
        let updates = match target.rsplit('.').next() {
            Some("UpdateItem") => vec![body()],
            Some("TransactWriteItems") => {
                let body = body();
                let actions = body["TransactItems"].as_array().into_iter().flatten();
                actions.map(|action| action["Update"].clone()).filter(Value::is_object).collect()
            }
            _ => Vec::new(),
        };
        let entry = |update: &Value| {
            let values = update["ExpressionAttributeValues"].as_object()?.values();
            let entry = values.filter_map(|value| value["L"].get(0)).find_map(|first| first["S"].as_str())?.to_owned();
            Some((update["Key"]["name"]["S"].as_str()?.to_owned(), entry))
        };
        updates.iter().filter(|update| Kind::of(update) == Kind::Enqueue).filter_map(entry).collect()
    }
}

/// This layer is directly before the engine. A recorded request was applied, even if its reply was
/// lost.
impl Layer for Journal {
    fn call(&self, request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let entries = Journal::entries(&request);
        let (reply, journal) = (inner.call(request), self.clone());
        HttpConnectorFuture::new(async move {
            let reply = reply.await?;
            if reply.status().is_success() {
                journal.0.lock().unwrap().extend(entries);
            }
            Ok(reply)
        })
    }
}

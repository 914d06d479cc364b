//! The incarnations of the item, in the order in which the engine has applied their creates.

use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use serde_json::Value;

use super::ground::life_of;
use crate::support::layer::{HttpRequest, Layer};

/// The numbers of the incarnations. A number is drawn when a caller sends its first create, so a
/// delayed create is applied out of the order of the numbers. Clones share the content.
#[derive(Debug, Clone, Default)]
pub(super) struct Births(Arc<Mutex<Vec<u64>>>);

impl Births {
    /// Sorts incarnations by the order of their creates. The first incarnation was created before
    /// the storm, and an incarnation that is created after the storm is the last one.
    pub(super) fn sort(&self, lives: &mut [String]) {
        let births = self.0.lock().unwrap();
        lives.sort_by_key(|marks| {
            let life = life_of(marks);
            let place = births.iter().position(|born| *born == life);
            (life > 0).then(|| place.unwrap_or(births.len()))
        });
    }

    /// Returns the numbers of the incarnations that a request creates.
    fn created(request: &HttpRequest) -> Vec<u64> {
        let body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
        let actions = body["TransactItems"].as_array().into_iter().flatten();
        let items = actions.map(|action| &action["Put"]["Item"]).chain([&body["Item"]]);
        items
            .filter(|item| item["id"]["S"] == "a")
            .filter_map(|item| Some(life_of(item["label"]["S"].as_str()?)))
            .collect()
    }
}

/// This layer is directly before the engine. A recorded request was applied, even if its reply was
/// lost.
impl Layer for Births {
    fn call(&self, request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let created = Births::created(&request);
        let (reply, births) = (inner.call(request), self.clone());
        HttpConnectorFuture::new(async move {
            let reply = reply.await?;
            if reply.status().is_success() {
                births.0.lock().unwrap().extend(created);
            }
            Ok(reply)
        })
    }
}

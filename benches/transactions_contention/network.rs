//! The time of the network, and the cost of the requests that pass it.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use aws_smithy_runtime_api::client::{
    http::{HttpConnector as _, SharedHttpConnector},
    orchestrator::{HttpRequest, HttpResponse},
};
use serde_json::Value;

use crate::{
    simulated::{self, sleep},
    ways::ways,
};

/// A network between the workers and the engine.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    rng: Arc<Mutex<fastrand::Rng>>,
    /// The cost of all requests, in fifths of a write unit.
    fifths: Arc<AtomicU64>,
}

impl Network {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self { rng: Arc::new(Mutex::new(fastrand::Rng::with_seed(seed))), fifths: Arc::default() }
    }

    /// Returns the cost of all requests so far, in write units.
    pub(crate) fn cost(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a sum of small costs")]
        let fifths = self.fifths.load(Ordering::Relaxed) as f64;
        fifths / 5.0
    }
}

impl simulated::Layer for Network {
    async fn carry(self, engine: SharedHttpConnector, request: HttpRequest) -> HttpResponse {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default();
        let cost = fifths(operation, request.body().bytes().unwrap_or_default());
        self.fifths.fetch_add(cost, Ordering::Relaxed);
        let [there, back] = ways(&mut self.rng.lock().unwrap_or_else(PoisonError::into_inner));
        sleep(there).await;
        let answer = engine.call(request).await.expect("the engine answers");
        sleep(back).await;
        answer
    }
}

/// Returns the cost of a request in fifths of a write unit. All items are smaller than a kilobyte.
fn fifths(operation: &str, body: &[u8]) -> u64 {
    let request: Value = serde_json::from_slice(body).expect("a request is JSON");
    let actions = request["TransactItems"].as_array().map_or(0, Vec::len) as u64;
    match operation {
        "GetItem" => 1,
        "TransactGetItems" => 2 * actions,
        "UpdateItem" => 5,
        // A refused transaction costs as much as a committed one.
        "TransactWriteItems" => 2 * 5 * actions,
        other => panic!("the cost of {other} is unknown"),
    }
}

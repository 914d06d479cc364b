//! The time of the network, and the cost of the requests that pass it.

use std::{
    f64::consts::TAU,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::HttpRequest,
};
use serde_json::Value;

use crate::clock;

/// The median of a round trip.
const ROUND_TRIP: Duration = Duration::from_millis(5);

/// The standard deviation of the logarithm of a round trip.
const SPREAD: f64 = 0.25;

/// The share of round trips that take four times as long.
const SLOW: f64 = 0.01;

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

    pub(crate) fn wrap(&self, client: SharedHttpClient) -> SharedHttpClient {
        SharedHttpClient::new(Distant { inner: client, network: self.clone() })
    }

    /// Returns the cost of all requests so far, in write units.
    pub(crate) fn cost(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a sum of small costs")]
        let fifths = self.fifths.load(Ordering::Relaxed) as f64;
        fifths / 5.0
    }

    /// Returns the times of a request and of its answer.
    fn round_trip(&self) -> [Duration; 2] {
        let mut rng = self.rng.lock().unwrap_or_else(PoisonError::into_inner);
        // The Box-Muller transform makes a normal deviate of two uniform ones.
        let deviate = (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (TAU * rng.f64()).cos();
        let slow = if rng.f64() < SLOW { 4.0 } else { 1.0 };
        let half = ROUND_TRIP.as_secs_f64() * 1000.0 * (SPREAD * deviate).exp() * slow / 2.0;
        // Tokio's timer counts whole milliseconds and would round up, so the part of a millisecond
        // decides at random.
        [(); 2].map(|()| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few milliseconds")]
            let millis = (half + rng.f64()) as u64;
            Duration::from_millis(millis)
        })
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

/// An HTTP client, or one of its connectors, behind the network.
#[derive(Debug)]
struct Distant<C> {
    inner: C,
    network: Network,
}

impl HttpClient for Distant<SharedHttpClient> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Distant { inner, network: self.network.clone() })
    }
}

impl HttpConnector for Distant<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default();
        let cost = fifths(operation, request.body().bytes().unwrap_or_default());
        self.network.fifths.fetch_add(cost, Ordering::Relaxed);
        let ([there, back], inner) = (self.network.round_trip(), self.inner.clone());
        HttpConnectorFuture::new(async move {
            clock::sleep(there).await;
            let answer = inner.call(request).await;
            clock::sleep(back).await;
            answer
        })
    }
}

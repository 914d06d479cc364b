//! The network and the clock of the benches that run on the in-process engine, in virtual time.

use std::{f64::consts::TAU, fmt, time::Duration};

use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::{HttpRequest, HttpResponse},
};
use tokio::time::Instant;

/// A layer between the clients and the engine. Clones are the same layer.
pub(crate) trait Layer: Clone + fmt::Debug + Send + Sync + 'static {
    /// Passes a request to the engine, and its answer back.
    fn carry(
        self,
        engine: SharedHttpConnector,
        request: HttpRequest,
    ) -> impl Future<Output = HttpResponse> + Send + 'static;

    /// Puts the layer in front of an HTTP client.
    fn wrap(&self, client: impl HttpClient + 'static) -> SharedHttpClient {
        SharedHttpClient::new(Layered { inner: SharedHttpClient::new(client), layer: self.clone() })
    }
}

/// An HTTP client, or one of its connectors, behind a layer.
#[derive(Debug)]
struct Layered<C, L> {
    inner: C,
    layer: L,
}

impl<L: Layer> HttpClient for Layered<SharedHttpClient, L> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Layered { inner, layer: self.layer.clone() })
    }
}

impl<L: Layer> HttpConnector for Layered<SharedHttpConnector, L> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let carried = self.layer.clone().carry(self.inner.clone(), request);
        HttpConnectorFuture::new(async { Ok(carried.await) })
    }
}

/// Draws the time that a network takes for one request and its answer: 5 ms in the median,
/// lognormal with a deviation of 0.25. One round trip in a hundred takes four times as long.
pub(crate) fn round_trip(rng: &mut fastrand::Rng) -> Duration {
    let usual = 5.0 * (0.25 * normal(rng)).exp();
    let millis = if rng.f64() < 0.01 { 4.0 * usual } else { usual };
    Duration::from_secs_f64(millis / 1_000.0)
}

/// Draws from the normal distribution (Box and Muller).
fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (TAU * rng.f64()).cos()
}

#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
pub(crate) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

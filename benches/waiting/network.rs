//! A network between a client and the engine, whose round trips take time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::HttpRequest,
};
use fastrand::Rng;

/// The median round trip in milliseconds.
const ROUND_TRIP: f64 = 5.0;
/// The deviation of the logarithm of a round trip.
const SPREAD: f64 = 0.25;
/// One round trip of this number takes four times as long.
const SLOW: u32 = 100;

/// A layer that delays each request and each answer by half a round trip. Round trips have a
/// lognormal distribution.
#[derive(Debug)]
pub(crate) struct Network<C> {
    inner: C,
    rng: Arc<Mutex<Rng>>,
}

impl Network<SharedHttpClient> {
    pub(crate) fn over(inner: impl HttpClient + 'static, seed: u64) -> Self {
        Self { inner: SharedHttpClient::new(inner), rng: Arc::new(Mutex::new(Rng::with_seed(seed))) }
    }
}

impl HttpClient for Network<SharedHttpClient> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Network { inner, rng: Arc::clone(&self.rng) })
    }
}

impl HttpConnector for Network<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let round_trip = round_trip(&mut self.rng.lock().unwrap_or_else(PoisonError::into_inner));
        let inner = self.inner.clone();
        HttpConnectorFuture::new(async move {
            tokio::time::sleep(round_trip / 2).await;
            let answer = inner.call(request).await;
            tokio::time::sleep(round_trip / 2).await;
            answer
        })
    }
}

fn round_trip(rng: &mut Rng) -> Duration {
    // The method of Box and Muller draws a number with a normal distribution.
    let normal = (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos();
    let slow = if rng.u32(..SLOW) == 0 { 4.0 } else { 1.0 };
    Duration::from_secs_f64(ROUND_TRIP / 1000.0 * (SPREAD * normal).exp() * slow)
}

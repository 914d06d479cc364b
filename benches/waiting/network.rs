//! A network between a client and the engine, whose round trips take time.

use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_runtime_api::client::{
    http::{HttpConnector as _, SharedHttpConnector},
    orchestrator::{HttpRequest, HttpResponse},
};
use fastrand::Rng;

use crate::simulated::{self, sleep};

/// A network that delays each request and each answer by half a round trip.
#[derive(Debug, Clone)]
pub(crate) struct Network(Arc<Mutex<Rng>>);

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Rng::with_seed(seed))))
    }
}

impl simulated::Layer for Network {
    async fn carry(self, engine: SharedHttpConnector, request: HttpRequest) -> HttpResponse {
        let round_trip = simulated::round_trip(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        sleep(round_trip / 2).await;
        let answer = engine.call(request).await.expect("the engine answers");
        sleep(round_trip / 2).await;
        answer
    }
}

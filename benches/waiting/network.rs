//! A network between a client and the engine, whose round trips take time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_smithy_runtime_api::client::{
    http::{HttpConnector as _, SharedHttpConnector},
    orchestrator::{HttpRequest, HttpResponse},
};
use fastrand::Rng;
use tokio::time::Instant;

use crate::{
    simulated::{self, now, sleep},
    ways::ways,
};

/// The network of one process. The network delays each request and each answer by half a round
/// trip. Clones are the same network.
#[derive(Debug, Clone)]
pub(crate) struct Network(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    rng: Rng,
    reads: Vec<Instant>,
    writes: Vec<Instant>,
}

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        let state = State { rng: Rng::with_seed(seed), reads: Vec::new(), writes: Vec::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Returns the moments at which reads have reached the engine.
    pub(crate) fn reads(&self) -> Vec<Instant> {
        self.state().reads.clone()
    }

    /// Returns the moments at which writes have reached the engine.
    pub(crate) fn writes(&self) -> Vec<Instant> {
        self.state().writes.clone()
    }

    fn arrived(&self, is_read: bool) {
        let mut state = self.state();
        let arrivals = if is_read { &mut state.reads } else { &mut state.writes };
        arrivals.push(now());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl simulated::Layer for Network {
    async fn carry(self, engine: SharedHttpConnector, request: HttpRequest) -> HttpResponse {
        let [there, back] = ways(&mut self.state().rng);
        sleep(there).await;
        let is_read = request.headers().get("x-amz-target").is_some_and(|target| target.ends_with("GetItem"));
        self.arrived(is_read);
        let answer = engine.call(request).await.expect("the engine answers");
        sleep(back).await;
        answer
    }
}

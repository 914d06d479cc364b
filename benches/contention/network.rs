//! A network between the clients and the in-process engine, on tokio's paused clock.
//!
//! Tokio's timer counts milliseconds, but an item needs only a part of a millisecond for a request.
//! The network therefore computes the times of a request exactly, and rounds only the moments at
//! which a request arrives and at which its answer returns.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aws_smithy_runtime_api::{
    client::{
        http::{HttpConnector as _, SharedHttpConnector},
        orchestrator::{HttpRequest, HttpResponse},
    },
    http::StatusCode,
};
use aws_smithy_types::body::SdkBody;
use serde_json::Value;
use tokio::time::Instant;

use crate::simulated::{self, now, sleep};

/// The time that the network takes for one request and its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RoundTrip {
    /// The round trip of the other benches, see [`simulated::round_trip`].
    Usual,
    /// Any time from 2 to 16 ms.
    Uneven,
}

/// The network of all clients of one database. Clones are the same network.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    round_trip: RoundTrip,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    rng: fastrand::Rng,
    items: HashMap<String, Partition>,
    cost: f64,
}

/// The capacity of one item.
#[derive(Debug)]
struct Partition {
    /// The moment at which the last request of the item is done.
    free: Instant,
    /// The write units that are left, at the moment of the last write.
    units: f64,
    counted: Instant,
}

/// The items that a request writes, and the write units that each item costs.
struct Demand {
    items: Vec<String>,
    units_per_item: f64,
}

const COMMIT: Duration = Duration::from_micros(500);
const REFUSAL: Duration = Duration::from_micros(200);
const UNITS_A_SECOND: f64 = 1_000.0;
/// The cost of a read of 4 KB. DynamoDB's price of a read unit is a fifth of the price of a write
/// unit.
const READ: f64 = 0.2;
/// Half of the timer's resolution. A deadline is rounded up, so this makes it the nearest one.
const HALF_A_TICK: Duration = Duration::from_micros(500);

impl Network {
    pub(crate) fn new(round_trip: RoundTrip, seed: u64) -> Self {
        let state = State { rng: fastrand::Rng::with_seed(seed), items: HashMap::new(), cost: 0.0 };
        Self { round_trip, state: Arc::new(Mutex::new(state)) }
    }

    /// Returns the cost of all requests so far, in write units.
    pub(crate) fn cost(&self) -> f64 {
        self.with(|state| state.cost)
    }

    fn with<O>(&self, act: impl FnOnce(&mut State) -> O) -> O {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl simulated::Layer for Network {
    async fn carry(self, engine: SharedHttpConnector, request: HttpRequest) -> HttpResponse {
        let way = self.with(|state| self.round_trip.draw(&mut state.rng)) / 2;
        let arrives = now() + way;
        sleep_until(arrives).await;

        let demand = Demand::of(&request);
        if !self.with(|state| state.admit(&demand, arrives)) {
            sleep_until(arrives + way).await;
            return throttled();
        }
        let answer = engine.call(request).await.expect("the engine answers");
        let done = self.with(|state| state.occupy(&demand, arrives, answer.status().is_success()));
        sleep_until(done + way).await;
        answer
    }
}

impl State {
    /// Takes the write units of a request. Returns `false` if an item has none left.
    fn admit(&mut self, demand: &Demand, at: Instant) -> bool {
        for item in &demand.items {
            let partition = self.items.entry(item.clone()).or_insert_with(|| Partition::new(at));
            if !partition.admit(demand.units_per_item, at) {
                return false;
            }
            self.cost += demand.units_per_item;
        }
        if demand.items.is_empty() {
            self.cost += READ;
        }
        true
    }

    /// Lets the items work on a request, after the requests that came before it. Returns the moment
    /// of the answer.
    fn occupy(&mut self, demand: &Demand, at: Instant, is_success: bool) -> Instant {
        let time = if is_success { COMMIT } else { REFUSAL };
        let mut done = at;
        for item in &demand.items {
            let partition = self.items.entry(item.clone()).or_insert_with(|| Partition::new(at));
            partition.free = partition.free.max(at) + time;
            done = done.max(partition.free);
        }
        done
    }
}

impl Partition {
    fn new(at: Instant) -> Self {
        Self { free: at, units: UNITS_A_SECOND, counted: at }
    }

    fn admit(&mut self, units: f64, at: Instant) -> bool {
        let more = at.saturating_duration_since(self.counted).as_secs_f64() * UNITS_A_SECOND;
        self.units = (self.units + more).min(UNITS_A_SECOND);
        self.counted = at;
        let is_left = self.units >= units;
        if is_left {
            self.units -= units;
        }
        is_left
    }
}

impl Demand {
    fn of(request: &HttpRequest) -> Self {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let body = request.body().bytes().unwrap_or_default();
        let key = |write: &Value| write["Key"].to_string();
        match target.rsplit('.').next() {
            Some("UpdateItem") => {
                let write: Value = serde_json::from_slice(body).expect("JSON");
                Self { items: vec![key(&write)], units_per_item: 1.0 }
            }
            Some("TransactWriteItems") => {
                let transaction: Value = serde_json::from_slice(body).expect("JSON");
                let actions = transaction["TransactItems"].as_array().into_iter().flatten();
                Self { items: actions.map(|action| key(&action["Update"])).collect(), units_per_item: 2.0 }
            }
            _ => Self { items: Vec::new(), units_per_item: 0.0 },
        }
    }
}

impl RoundTrip {
    fn draw(self, rng: &mut fastrand::Rng) -> Duration {
        match self {
            Self::Usual => simulated::round_trip(rng),
            Self::Uneven => Duration::from_secs_f64((2.0 + 14.0 * rng.f64()) / 1_000.0),
        }
    }
}

fn throttled() -> HttpResponse {
    let body = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":""}"#;
    let mut response = HttpResponse::new(StatusCode::try_from(400).expect("a status"), SdkBody::from(body));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}

async fn sleep_until(moment: Instant) {
    sleep((moment - HALF_A_TICK).saturating_duration_since(now())).await;
}

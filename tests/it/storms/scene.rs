//! The common parts of the storms over locks by name: the engine, the processes, and the end.

use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::{Client, config::SharedHttpClient};
use dynalock::{
    Locks, Wait,
    local::{Database, Faults},
};
use tokio::task::JoinSet;

use super::{Arena, Deviation, Journal, Tally, Tenant, Weather, stale};
use crate::support::{TTL, layer::Layer, secs, travel};

/// The locks that all processes acquire.
pub(crate) const NAMES: [&str; 2] = ["red", "blue"];

/// One storm over a table of locks.
pub(crate) struct Scene {
    database: Database,
    pub(crate) plain: Client,
    weather: Weather,
    deviation: Deviation,
    arena: Arc<Mutex<Arena>>,
    pub(crate) journal: Journal,
    pub(crate) processes: JoinSet<()>,
}

impl Scene {
    pub(crate) async fn new(weather: Weather, deviation: Deviation) -> Self {
        let database = Database::in_memory().unwrap();
        let plain = database.client();
        Locks::new(&plain, "locks").create_table().await.unwrap();
        let (arena, journal, processes) = <_>::default();
        Self { database, plain, weather, deviation, arena, journal, processes }
    }

    /// Returns the client of a process behind these faults.
    pub(crate) fn client(&self, faults: &Faults) -> Client {
        let engine = self.journal.wrap(SharedHttpClient::new(self.database.connector()));
        let http = self.deviation.wrap(faults.wrap(engine));
        Client::from_conf(self.plain.config().to_builder().http_client(http).build())
    }

    /// Returns the locks as a client sees them.
    pub(crate) fn locks(&self, client: &Client) -> Locks {
        Locks::new(client, "locks").ttl(TTL).wait(Wait::Forever).expiry(self.weather.expiry)
    }

    pub(crate) fn tenant(&self, locks: Locks, client: Client) -> Tenant {
        Tenant { locks, client, deviation: self.deviation, arena: Arc::clone(&self.arena) }
    }

    /// Waits until all processes have ended and all late requests have arrived. Returns the
    /// observed events.
    pub(crate) async fn end(&mut self) -> Tally {
        while let Some(process) = self.processes.join_next().await {
            process.unwrap();
        }
        travel(self.weather.late + secs(1)).await;
        let mut tally = self.arena.lock().unwrap().tally.clone();
        tally.ghosts = self.arena.lock().unwrap().ghosts();
        for name in NAMES {
            tally.stale += stale(&self.plain, name).await;
        }
        tally
    }
}

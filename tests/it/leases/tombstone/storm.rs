//! Many lives of one item, by processes whose clocks are an hour apart, while everything happens to their requests that can.

#![expect(clippy::print_stdout, reason = "the figures are shown on request")]

use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use dynalock::{Error, Expiry, Lease, Repository, Transaction, local::Faults};
use fastrand::Rng;
use tokio::task::JoinSet;

use super::{super::ground::Ground, Drum, HOUR};
use crate::{
    storms::{Deviation, Tally, Weather, seeds, shows, storms},
    support::{Shop, millis, secs, travel},
};

const SEEDS: u64 = 16;
const PROCESSES: u64 = 5;

#[derive(Clone)]
struct Process {
    client: Client,
    items: Repository<Drum>,
    ground: Arc<Mutex<Ground<Drum>>>,
}

impl Process {
    async fn run(self, mut rng: Rng) {
        for _ in 0..12 {
            travel(millis(rng.u64(0..3_000))).await;
            // There may be one, and it may be in doubt: whoever asks learns it.
            drop(self.items.create(Drum::new("a")).await);
            if rng.f64() < 0.2 {
                self.delete_from_outside().await;
            } else if let Some(lease) = self.ask(&mut rng).await {
                self.hold(lease, &mut rng).await;
            }
        }
    }

    async fn ask(&self, rng: &mut Rng) -> Option<Lease<Drum>> {
        let lock = self.items.lock("a").heartbeat(rng.f64() < 0.8).wait(secs(rng.u64(1..60)));
        match if rng.bool() { lock.fair().await } else { lock.await } {
            Ok(lease) => Some(lease),
            Err(
                Error::NotFound { .. }
                | Error::Exhausted { .. }
                | Error::Lost(_)
                | Error::Locked(_)
                | Error::Evicted { .. },
            ) => None,
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn hold(&self, lease: Lease<Drum>, rng: &mut Rng) {
        let fence = lease.fence();
        self.ground.lock().unwrap().enter(lease);
        travel(millis(rng.u64(0..3_000))).await;
        let lease = self.ground.lock().unwrap().leave(fence);
        match rng.u32(0..10) {
            0..6 => self.delete(lease).await,
            6..8 => drop(lease.release().await),
            8 => drop(lease),
            // A kill.
            _ => drop(lease.detach()),
        }
    }

    async fn delete(&self, lease: Lease<Drum>) {
        if let Ok(Some(stored)) = self.items.get("a").await {
            let mut tx = Transaction::new(&self.client);
            tx.guard(&lease);
            tx.delete(&self.items, stored);
            drop(tx.commit().await);
        }
    }

    async fn delete_from_outside(&self) {
        if let Ok(Some(stored)) = self.items.get("a").await {
            drop(self.items.delete(stored).await);
        }
    }
}

async fn storm(seed: u64, deviation: Deviation) -> Tally {
    let weather = Weather { expiry: Expiry::Observed, ..Weather::ROUGH };
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Drum>().await;
    let ground = Arc::new(Mutex::new(Ground::default()));
    let mut rng = Rng::with_seed(seed);
    let mut tasks = JoinSet::new();
    for process in 0..PROCESSES {
        let faults = weather.faults(seed * 16 + process);
        let http = deviation.wrap(faults.wrap(shop.plain.config().http_client().unwrap()));
        let client = Client::from_conf(shop.plain.config().to_builder().http_client(http).build());
        let items = Repository::<Drum>::new(&client).table(table.name()).expiry(weather.expiry);
        let items = items.clock_ahead_by_millis(rng.i64(-HOUR..=HOUR));
        let process = Process { client, items, ground: Arc::clone(&ground) };
        tasks.spawn(process.run(rng.fork()));
    }
    tasks.join_all().await;
    ground.lock().unwrap().tally.clone()
}

#[test]
fn a_storm_over_many_lives_of_an_item_gives_no_fence_twice_and_none_below_an_earlier_one() {
    let seeds = seeds(SEEDS);
    let tally = storms(0..seeds, Deviation::None, |seed| storm(seed, Deviation::None));
    println!("{seeds} seeds: {tally:?}");
    assert!(tally.grants > seeds * 10, "{tally:?}");
    assert!(tally.takeovers > 0, "{tally:?}");
}

#[test]
fn the_storm_of_lives_shows_a_first_fence_that_forgets_the_earlier_ones() {
    shows(Deviation::SeedAnyhow, |seed| storm(seed, Deviation::SeedAnyhow), |seen| seen.fences);
}

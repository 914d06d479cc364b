//! Several processes stand in the queues of two locks, while everything happens to their requests that can; others take the locks without a
//! queue, and some of those who wait are killed.

#![expect(clippy::print_stdout, reason = "the figures are shown on request")]

use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::{Client, config::SharedHttpClient};
use dynalock::{
    LockGuard, Locks,
    local::{Database, Fault, Faults},
    private::ClockAhead as _,
};
use fastrand::Rng;

use super::{SKEW, TTL};
use crate::{
    storms::{Arena, Asked, Deviation, Journal, Tally, Tenant, Weather, ahead, seeds, shows, stale, storms},
    support::{item, millis, s, secs, travel},
};

const NAMES: [&str; 2] = ["red", "blue"];
const PROCESSES: u64 = 5;
const ROUNDS: u32 = 12;
const SEEDS: u64 = 40;

#[derive(Clone)]
struct Process {
    tenant: Tenant,
    /// For one whose requests nobody ever sees again.
    doomed: (Locks, Faults),
    served: Served,
}

/// Who was served in the queue of which lock, under which fence.
type Served = Arc<Mutex<Vec<(String, u64, String)>>>;

impl Process {
    async fn live(self, mut rng: Rng) {
        let tenant = &self.tenant;
        for _ in 0..ROUNDS {
            travel(millis(rng.u64(0..2_000))).await;
            let (heartbeat, wait) = (rng.f64() < 0.7, secs(rng.u64(1..90)));
            let name = NAMES[rng.usize(..NAMES.len())];
            match rng.u32(0..20) {
                0..3 => {
                    let all = tenant.locks.acquire_all(NAMES).fair().heartbeat(heartbeat).wait(wait).into_future();
                    if let Asked::Granted(all) = tenant.ask(all, &mut rng).await {
                        all.iter().for_each(|held| self.served(held));
                        tenant.hold_all(all, heartbeat, &mut rng).await;
                    }
                }
                3..6 => {
                    let plain = tenant.locks.acquire(name).heartbeat(heartbeat).wait(wait).into_future();
                    if let Asked::Granted(held) = tenant.ask(plain, &mut rng).await {
                        tenant.hold(held, heartbeat, &mut rng).await;
                    }
                }
                6 => {
                    let tried = tenant.locks.try_acquire(name).fair().heartbeat(heartbeat).into_future();
                    if let Asked::Granted(Some(held)) = tenant.ask(tried, &mut rng).await {
                        self.served(&held);
                        tenant.hold(held, heartbeat, &mut rng).await;
                    }
                }
                7 => self.die_waiting(name, &mut rng).await,
                _ => {
                    let fair = tenant.locks.acquire(name).fair().heartbeat(heartbeat).wait(wait).into_future();
                    if let Asked::Granted(held) = tenant.ask(fair, &mut rng).await {
                        self.served(&held);
                        tenant.hold(held, heartbeat, &mut rng).await;
                    }
                }
            }
        }
    }

    /// Stands in a queue until a moment from which on nobody hears of it.
    async fn die_waiting(&self, name: &str, rng: &mut Rng) {
        let (locks, faults) = &self.doomed;
        let task = tokio::spawn(locks.acquire(name).fair().into_future());
        travel(millis(rng.u64(0..8_000))).await;
        faults.always(Fault::NeverAnswer);
        task.abort();
        travel(secs(60)).await;
        faults.clear();
    }

    fn served(&self, held: &LockGuard) {
        let served = (held.name().to_owned(), held.fence(), held.owner().to_owned());
        self.served.lock().unwrap().push(served);
    }
}

/// One storm.
async fn storm(seed: u64, weather: Weather, deviation: Deviation) -> Tally {
    let database = Database::in_memory().unwrap();
    let plain = database.client();
    let locks = |client: &Client| Locks::new(client, "locks").ttl(TTL);
    locks(&plain).create_table().await.unwrap();
    let (arena, journal, served) = (Arc::new(Mutex::new(Arena::default())), Journal::default(), Served::default());
    let mut rng = Rng::with_seed(seed);
    let mut tasks = Vec::new();
    for process in 0..PROCESSES {
        let ahead = ahead(process, weather, &mut rng);
        let of = |faults: &Faults| {
            let engine = journal.wrap(SharedHttpClient::new(database.connector()));
            let http = deviation.wrap(faults.wrap(engine));
            let client = Client::from_conf(plain.config().to_builder().http_client(http).build());
            (locks(&client).expiry(weather.expiry).clock_ahead_by_millis(ahead), client)
        };
        let (faults, cut) = (weather.faults(seed * PROCESSES + process), Faults::none());
        let ((locks, client), (doomed, _)) = (of(&faults), of(&cut));
        let (arena, served) = (Arc::clone(&arena), Arc::clone(&served));
        let process = Process { tenant: Tenant { locks, client, deviation, arena }, doomed: (doomed, cut), served };
        tasks.push(tokio::spawn(process.live(rng.fork())));
    }
    for task in tasks {
        task.await.unwrap();
    }
    // What is on its way arrives, what was dropped is released.
    travel(weather.late + secs(1)).await;
    let mut tally = arena.lock().unwrap().tally.clone();
    tally.ghosts = arena.lock().unwrap().ghosts();
    for name in NAMES {
        let settled = locks(&plain).expiry(weather.expiry);
        tally.left += left(&settled, name).await;
        let row = plain.get_item().table_name("locks").set_key(Some(item([("name", s(name))]))).consistent_read(true);
        let row = row.send().await.unwrap().item.unwrap_or_default();
        tally.left +=
            row.keys().filter(|attribute| !["name", "_fence", "payload"].contains(&&***attribute)).count() as u64;
        let mut served = served.lock().unwrap().clone();
        served.retain(|(of, ..)| of == name);
        served.sort_by_key(|(_, fence, _)| *fence);
        tally.inversions += journal.inversions(name, served.iter().map(|(.., entry)| &**entry));
        tally.stale += stale(&plain, name).await;
    }
    tally
}

/// Who has died, or is a ghost, costs one ttl; then there is nobody.
async fn left(locks: &Locks, name: &str) -> u64 {
    let dead = u32::try_from(locks.queue(name).await.unwrap().len()).unwrap() + 1;
    match locks.acquire(name).fair().wait(dead * (TTL + SKEW + SKEW / 2)).await {
        Ok(held) => {
            let waiters = locks.queue(name).await.unwrap().len() as u64;
            held.release().await.unwrap();
            waiters - 1
        }
        Err(_) => 1,
    }
}

#[test]
fn a_storm_serves_a_queue_in_its_order_one_at_a_time_and_leaves_nobody_in_it() {
    let tally = storms(0..seeds(SEEDS), Deviation::None, |seed| storm(seed, Weather::ROUGH, Deviation::None));
    println!("by the clock, {} seeds: {tally:?}", seeds(SEEDS));
    assert!(tally.grants > seeds(SEEDS) * 20, "{tally:?}");
    assert!(tally.writes > seeds(SEEDS) * 20, "{tally:?}");
    assert!(tally.takeovers > seeds(SEEDS) * 3, "{tally:?}");
    assert!(tally.together > seeds(SEEDS), "{tally:?}");
    assert_eq!(tally.evicted, 0, "one who shows itself in time is never taken out: {tally:?}");
}

#[test]
fn a_storm_of_slow_and_late_requests_serves_a_queue_in_its_order() {
    for weather in [Weather::SLOW, Weather::TARDY] {
        let tally = storms(0..seeds(SEEDS) / 4, Deviation::None, |seed| storm(seed, weather, Deviation::None));
        println!("{weather:?}, {} seeds: {tally:?}", seeds(SEEDS) / 4);
    }
}

#[test]
fn a_storm_serves_a_queue_in_its_order_whatever_the_clocks_show() {
    let tally = storms(0..seeds(SEEDS) / 4, Deviation::None, |seed| storm(seed, Weather::OBSERVED, Deviation::None));
    println!("watched, {} seeds: {tally:?}", seeds(SEEDS) / 4);
    assert!(tally.takeovers > seeds(SEEDS) / 4, "{tally:?}");
}

#[test]
fn the_storm_shows_a_plain_acquire_that_does_not_look_at_the_queue() {
    let deviation = Deviation::AcquireBesideTheQueue;
    shows(deviation, |seed| storm(seed, Weather::ROUGH, deviation), |seen| seen.overlaps);
}

#[test]
fn the_storm_shows_heartbeats_of_those_who_are_not_the_head() {
    let deviation = Deviation::BeatWithoutTheHead;
    shows(deviation, |seed| storm(seed, Weather::TARDY, deviation), |seen| seen.overlaps);
}

#[test]
fn the_storm_shows_heads_that_leave_without_a_condition() {
    let deviation = Deviation::LeaveAlways;
    shows(deviation, |seed| storm(seed, Weather::TARDY, deviation), |seen| seen.overlaps);
}

#[test]
fn the_storm_shows_leases_that_are_counted_from_the_answer() {
    let deviation = Deviation::CountFromTheAnswer;
    shows(deviation, |seed| storm(seed, Weather::SLOW, deviation), |seen| seen.overlaps);
}

//! The storm of the fair queue. Several processes use the queues of two locks, and their requests
//! meet all kinds of faults. Other processes acquire the locks without a queue. The storm kills
//! some of the waiters.

use std::sync::{Arc, Mutex};

use dynalock::{
    LockGuard, Locks,
    local::{Fault, Faults},
    private::ClockAhead as _,
};
use fastrand::Rng;

use crate::{
    storms::{Asked, Deviation, NAMES, Scene, Tally, Tenant, Weather, ahead, deviations, seeds, survives},
    support::{SKEW, TTL, item, millis, s, secs, travel},
};

const PROCESSES: u64 = 5;
const ROUNDS: u32 = 12;
const SEEDS: u64 = 40;

#[derive(Clone)]
struct Process {
    tenant: Tenant,
    /// The client of a process whose later requests never arrive.
    doomed: (Locks, Faults),
    served: Served,
}

/// The lock, the fence and the owner of each caller that was served in a queue.
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

    /// Waits in a queue until a moment after which no request of it arrives.
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
        let served = (held.name().to_owned(), held.fence(), held.nonce().to_owned());
        self.served.lock().unwrap().push(served);
    }
}

/// Runs one storm.
async fn storm(seed: u64, weather: Weather, deviation: Deviation) -> Tally {
    let mut scene = Scene::new(weather, deviation).await;
    let served = Served::default();
    let mut rng = Rng::with_seed(seed);
    for process in 0..PROCESSES {
        let ahead = ahead(process, weather, &mut rng);
        let cut = Faults::none();
        let client = scene.client(&weather.faults(seed * PROCESSES + process));
        let [locks, doomed] =
            [&client, &scene.client(&cut)].map(|client| scene.locks(client).clock_ahead_by_millis(ahead));
        let tenant = scene.tenant(locks, client);
        let process = Process { tenant, doomed: (doomed, cut), served: Arc::clone(&served) };
        scene.processes.spawn(process.live(rng.fork()));
    }
    let mut tally = scene.end().await;
    for name in NAMES {
        tally.left += left(&scene.locks(&scene.plain), name).await;
        let raw = scene.plain.get_item().table_name("locks").set_key(Some(item([("name", s(name))])));
        let row = raw.consistent_read(true).send().await.unwrap().item.unwrap_or_default();
        tally.left +=
            row.keys().filter(|attribute| !["name", "_fence", "payload"].contains(&&***attribute)).count() as u64;
        let mut served = served.lock().unwrap().clone();
        served.retain(|(of, ..)| of == name);
        served.sort_by_key(|(_, fence, _)| *fence);
        tally.inversions += scene.journal.inversions(name, served.iter().map(|(.., entry)| &**entry));
    }
    tally
}

/// Each crashed caller and each orphaned entry costs one ttl. After that, the lock is free.
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
    let tally = survives("by the clock", seeds(SEEDS), |seed| storm(seed, Weather::ROUGH, Deviation::None));
    assert!(tally.grants > seeds(SEEDS) * 20, "{tally:?}");
    assert!(tally.writes > seeds(SEEDS) * 20, "{tally:?}");
    assert!(tally.takeovers > seeds(SEEDS) * 3, "{tally:?}");
    assert!(tally.together > seeds(SEEDS), "{tally:?}");
    assert_eq!(tally.evicted, 0, "one who shows itself in time is never taken out: {tally:?}");
}

#[test]
fn a_storm_of_slow_and_late_requests_serves_a_queue_in_its_order() {
    for weather in [Weather::SLOW, Weather::TARDY] {
        survives(&format!("{weather:?}"), seeds(SEEDS) / 4, |seed| storm(seed, weather, Deviation::None));
    }
}

#[test]
fn a_storm_serves_a_queue_in_its_order_whatever_the_clocks_show() {
    let tally = survives("watched", seeds(SEEDS) / 4, |seed| storm(seed, Weather::OBSERVED, Deviation::None));
    assert!(tally.takeovers > seeds(SEEDS) / 4, "{tally:?}");
}

deviations! {
    storm;
    the_storm_shows_a_plain_acquire_that_does_not_look_at_the_queue: AcquireBesideTheQueue, ROUGH, overlaps;
    the_storm_shows_heartbeats_of_waiters_that_are_not_the_head: BeatWithoutTheHead, TARDY, overlaps;
    the_storm_shows_heads_that_leave_without_a_condition: LeaveAlways, TARDY, overlaps;
    the_storm_shows_leases_that_are_counted_from_the_answer: CountFromTheAnswer, SLOW, overlaps;
}

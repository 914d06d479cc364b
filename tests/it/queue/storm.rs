//! Several processes stand in the queues of two locks, while everything happens to their requests that can; others take the locks without a
//! queue, and some of those who wait are killed.
//!
//! What is written under a lock is a transaction with a check of the lock's row.

#![expect(clippy::print_stdout, reason = "the figures are shown on request")]

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use aws_sdk_dynamodb::{
    Client,
    config::SharedHttpClient,
    types::{AttributeValue, ConditionCheck, TransactWriteItem, Update},
};
use dynalock::{
    Error, Held, HeldAll, Locks, Lost,
    local::{Database, Fault, Faults},
};
use fastrand::Rng;
use tokio::time::Instant;

use super::{SKEW, TTL};
use crate::{
    storms::{Arena, Believer, Deviation, Journal, Tally, Weather, seeds, shows, storms},
    support::{item, millis, n, s, secs, travel},
};

const NAMES: [&str; 2] = ["red", "blue"];
const PROCESSES: u64 = 5;
const ROUNDS: u32 = 12;
const SEEDS: u64 = 40;

#[derive(Clone)]
struct Process {
    locks: Locks,
    client: Client,
    /// For one whose requests nobody ever sees again.
    doomed: (Locks, Faults),
    deviation: Deviation,
    arena: Arc<Mutex<Arena>>,
    served: Served,
}

/// Who was served in the queue of which lock, under which fence.
type Served = Arc<Mutex<Vec<(String, u64, String)>>>;

impl Process {
    async fn live(self, mut rng: Rng) {
        for _ in 0..ROUNDS {
            travel(millis(rng.u64(0..2_000))).await;
            let heartbeat = rng.f64() < 0.7;
            let name = NAMES[rng.usize(..NAMES.len())];
            let wait = secs(rng.u64(1..90));
            match rng.u32(0..20) {
                0..3 => {
                    let all = self.locks.acquire_all(NAMES).fair().heartbeat(heartbeat).wait(wait).into_future();
                    if let Some(all) = self.ask(all, &mut rng).await {
                        self.hold_all(all, heartbeat, &mut rng).await;
                    }
                }
                3..6 => {
                    let plain = self.locks.acquire(name).heartbeat(heartbeat).wait(wait).into_future();
                    if let Some(held) = self.ask(plain, &mut rng).await {
                        self.hold(name, held, heartbeat, &mut rng).await;
                    }
                }
                6 => {
                    let tried = self.locks.try_acquire(name).fair().heartbeat(heartbeat).into_future();
                    if let Some(Some(held)) = self.ask(tried, &mut rng).await {
                        self.served(&held);
                        self.hold(name, held, heartbeat, &mut rng).await;
                    }
                }
                7 => self.die_waiting(name, &mut rng).await,
                _ => {
                    let fair = self.locks.acquire(name).fair().heartbeat(heartbeat).wait(wait).into_future();
                    if let Some(held) = self.ask(fair, &mut rng).await {
                        self.served(&held);
                        self.hold(name, held, heartbeat, &mut rng).await;
                    }
                }
            }
        }
    }

    /// Asks, and goes away sometimes.
    async fn ask<G: Send + 'static>(
        &self,
        asking: impl Future<Output = Result<G, Error>> + Send + 'static,
        rng: &mut Rng,
    ) -> Option<G> {
        let patience = if rng.f64() < 0.2 { millis(rng.u64(0..15_000)) } else { secs(600) };
        let mut task = tokio::spawn(asking);
        let granted = tokio::select! {
            granted = &mut task => granted.unwrap(),
            () = travel(patience) => {
                task.abort();
                self.arena.lock().unwrap().tally.cancelled += 1;
                return None;
            }
        };
        if let Err(Error::Evicted { .. }) = &granted {
            self.arena.lock().unwrap().tally.evicted += 1;
        }
        granted.ok()
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

    fn served(&self, held: &Held) {
        let served = (held.name().to_owned(), held.fence(), held.owner().to_owned());
        self.served.lock().unwrap().push(served);
    }

    async fn hold_all(&self, all: HeldAll, heartbeat: bool, rng: &mut Rng) {
        self.arena.lock().unwrap().tally.together += 1;
        let [one, other]: [Held; 2] = all.into_iter().collect::<Vec<_>>().try_into().unwrap();
        self.served(&one);
        self.served(&other);
        let (mut mine, mut theirs) = (rng.fork(), rng.fork());
        let [first, second] = [one.name().to_owned(), other.name().to_owned()];
        tokio::join!(self.hold(&first, one, heartbeat, &mut mine), self.hold(&second, other, heartbeat, &mut theirs));
    }

    async fn hold(&self, name: &str, held: Held, heartbeat: bool, rng: &mut Rng) {
        let held = Arc::new(held);
        let fence = held.fence();
        let told = Arc::new(AtomicBool::new(false));
        let watcher = tokio::spawn({
            let (lost, told) = (held.lost(), Arc::clone(&told));
            async move {
                let why = lost.await;
                told.store(true, Ordering::Relaxed);
                why
            }
        });
        tokio::task::yield_now().await;
        let from_the_answer = self.deviation == Deviation::CountFromTheAnswer && !heartbeat;
        let until = from_the_answer.then(|| Arc::new(Mutex::new(Instant::now() + TTL)));
        self.arena.lock().unwrap().enter(name, Believer { held: Arc::clone(&held), told, until });
        for _ in 0..rng.u32(1..4) {
            // Without heartbeats a pause is a process that stands still.
            let pause = if !heartbeat && rng.f64() < 0.5 { rng.u64(7_000..20_000) } else { rng.u64(0..3_000) };
            travel(millis(pause)).await;
            // A late one does not know better: the check is what keeps it out.
            self.write(&held).await;
            if !heartbeat && rng.f64() < 0.3 && !from_the_answer {
                drop(held.extend().await);
            }
        }
        if heartbeat && watcher.is_finished() {
            let why = watcher.await.unwrap();
            assert!(!matches!(why, Lost::Deleted), "{why}");
            self.arena.lock().unwrap().tally.lost += 1;
        } else {
            watcher.abort();
        }
        self.arena.lock().unwrap().leave(name, fence);
        let held = Arc::into_inner(held).expect("the arena has let it go");
        match rng.u32(0..10) {
            0..6 => drop(held.release().await),
            6 => drop(held),
            // A kill, with a request that was on its way perhaps.
            7..9 => drop(held.detach()),
            _ => {
                let token = held.detach();
                travel(millis(rng.u64(0..15_000))).await;
                if let Ok(held) = self.locks.resume(token).await {
                    self.write(&held).await;
                    drop(held.release().await);
                }
            }
        }
    }

    /// Appends the fence to the log that the lock protects, if it is ours still, over the same bad line.
    async fn write(&self, held: &Held) {
        let is_fair = held.token().to_string().starts_with("fair-");
        let (holds, stored) =
            if is_fair { ("#h[0] = :o AND #f = :f", held.fence() - 1) } else { ("#h = :o AND #f = :f", held.fence()) };
        let check = ConditionCheck::builder()
            .table_name("locks")
            .key("name", s(held.name()))
            .condition_expression(holds)
            .expression_attribute_names("#h", if is_fair { "_queue" } else { "_owner" })
            .expression_attribute_names("#f", "_fence")
            .expression_attribute_values(":o", s(held.owner()))
            .expression_attribute_values(":f", n(stored));
        let append = Update::builder()
            .table_name("locks")
            .key("name", s(&log_of(held.name())))
            .update_expression("SET #l = list_append(if_not_exists(#l, :e), :f)")
            .expression_attribute_names("#l", "log")
            .expression_attribute_values(":e", AttributeValue::L(Vec::new()))
            .expression_attribute_values(":f", AttributeValue::L(vec![n(held.fence())]));
        let check = TransactWriteItem::builder().condition_check(check.build().unwrap()).build();
        let append = TransactWriteItem::builder().update(append.build().unwrap()).build();
        let write = self.client.transact_write_items().transact_items(check).transact_items(append).send();
        let outcome = tokio::time::timeout(secs(3), write).await;
        let mut arena = self.arena.lock().unwrap();
        match outcome {
            Ok(Ok(_)) => arena.tally.writes += 1,
            Ok(Err(_)) | Err(_) => arena.tally.refused += 1,
        }
    }
}

fn log_of(name: &str) -> String {
    format!("{name} log")
}

/// One storm.
async fn storm(seed: u64, weather: Weather, deviation: Deviation) -> Tally {
    let database = Database::in_memory().unwrap();
    let plain = database.client();
    let locks = |client: &Client| Locks::new(client, "locks").ttl(TTL);
    locks(&plain).create_table().await.unwrap();
    let (arena, journal, served) = (Arc::new(Mutex::new(Arena::default())), Journal::default(), Served::default());
    let mut rng = Rng::with_seed(seed);
    // The first two are as far apart as may be.
    let skew = i64::try_from(SKEW.as_millis()).unwrap();
    let mut tasks = Vec::new();
    for process in 0..PROCESSES {
        let ahead = match process {
            0 => -skew / 2,
            1 => skew / 2,
            _ => rng.i64(-skew / 2..=skew / 2),
        };
        let of = |faults: &Faults| {
            let engine = journal.wrap(SharedHttpClient::new(database.connector()));
            let http = deviation.wrap(faults.wrap(engine));
            let client = Client::from_conf(plain.config().to_builder().http_client(http).build());
            (locks(&client).expiry(weather.expiry).clock_ahead_by_millis(ahead), client)
        };
        let (faults, cut) = (weather.faults(seed * PROCESSES + process), Faults::none());
        let ((locks, client), (doomed, _)) = (of(&faults), of(&cut));
        let (arena, served) = (Arc::clone(&arena), Arc::clone(&served));
        let process = Process { locks, client, doomed: (doomed, cut), deviation, arena, served };
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
        tally.left += left(&locks(&plain), name).await;
        let row = plain.get_item().table_name("locks").set_key(Some(item([("name", s(name))]))).consistent_read(true);
        let row = row.send().await.unwrap().item.unwrap_or_default();
        tally.left +=
            row.keys().filter(|attribute| !["name", "_fence", "payload"].contains(&&***attribute)).count() as u64;
        let mut served = served.lock().unwrap().clone();
        served.retain(|(of, ..)| of == name);
        served.sort_by_key(|(_, fence, _)| *fence);
        tally.inversions += journal.inversions(name, served.iter().map(|(.., entry)| &**entry));
        let log = plain.get_item().table_name("locks").set_key(Some(item([("name", s(&log_of(name)))])));
        let log = log.consistent_read(true).send().await.unwrap().item.unwrap_or_default();
        let log: Vec<u64> = match log.get("log") {
            Some(AttributeValue::L(log)) => log.iter().map(|fence| fence.as_n().unwrap().parse().unwrap()).collect(),
            _ => Vec::new(),
        };
        tally.stale += log.windows(2).filter(|pair| pair[0] > pair[1]).count() as u64;
    }
    tally
}

/// Who has died, or is a ghost, costs one ttl; then there is nobody.
async fn left(locks: &Locks, name: &str) -> u64 {
    let dead = u32::try_from(locks.waiters(name).await.unwrap().len()).unwrap() + 1;
    match locks.acquire(name).fair().wait(dead * (TTL + SKEW + SKEW / 2)).await {
        Ok(held) => {
            let waiters = locks.waiters(name).await.unwrap().len() as u64;
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

//! Several processes want two locks, while everything happens to their requests that can.
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
    Expiry, Held, Locks, Lost,
    local::{Database, Fault, Faults},
};
use fastrand::Rng;
use tokio::time::Instant;

use super::{SKEW, TTL};
use crate::{
    storms::{Arena, Believer, Deviation, Tally, Weather, seeds, shows, storms},
    support::{item, millis, n, s, secs, travel},
};

const SEEDS: u64 = 200;

const NAMES: [&str; 2] = ["red", "blue"];
const PROCESSES: u64 = 4;
const ROUNDS: usize = 12;

#[derive(Clone)]
struct Process {
    locks: Locks,
    /// The same over lines that can be cut, one for each round, if an acquire is to end with its caller.
    lines: Vec<(Locks, Faults)>,
    client: Client,
    deviation: Deviation,
    arena: Arc<Mutex<Arena>>,
}

impl Process {
    async fn live(self, mut rng: Rng) {
        for round in 0..ROUNDS {
            travel(millis(rng.u64(0..3_000))).await;
            let heartbeat = rng.f64() < 0.8;
            if rng.f64() < 0.2 {
                self.take_all(round, heartbeat, &mut rng).await;
                continue;
            }
            let name = NAMES[rng.usize(..NAMES.len())];
            let acquire =
                self.asking(round).acquire(name).heartbeat(heartbeat).wait(secs(rng.u64(1..60))).into_future();
            let patience = if rng.f64() < 0.2 { millis(rng.u64(0..15_000)) } else { secs(600) };
            let mut task = tokio::spawn(acquire);
            let granted = tokio::select! {
                granted = &mut task => granted.unwrap(),
                () = travel(patience) => {
                    task.abort();
                    self.cancelled(round);
                    continue;
                }
            };
            if let Ok(held) = granted {
                self.hold(name, held, heartbeat, &mut rng).await;
            }
        }
    }

    fn asking(&self, round: usize) -> &Locks {
        self.lines.get(round).map_or(&self.locks, |(locks, _)| locks)
    }

    fn cancelled(&self, round: usize) {
        self.arena.lock().unwrap().tally.cancelled += 1;
        if let Some((_, line)) = self.lines.get(round) {
            line.always(Fault::LoseRequest);
        }
    }

    /// Both locks at once, which then go their ways.
    async fn take_all(&self, round: usize, heartbeat: bool, rng: &mut Rng) {
        let all = self.asking(round).acquire_all(NAMES).heartbeat(heartbeat).wait(secs(rng.u64(1..60))).into_future();
        let mut task = tokio::spawn(all);
        let patience = if rng.f64() < 0.2 { millis(rng.u64(0..15_000)) } else { secs(600) };
        let granted = tokio::select! {
            granted = &mut task => granted.unwrap(),
            () = travel(patience) => {
                task.abort();
                self.cancelled(round);
                return;
            }
        };
        let Ok(all) = granted else { return };
        self.arena.lock().unwrap().tally.together += 1;
        let [one, other]: [Held; 2] = all.into_iter().collect::<Vec<_>>().try_into().unwrap();
        let [first, second] = [one.name().to_owned(), other.name().to_owned()];
        let (mut mine, mut theirs) = (rng.fork(), rng.fork());
        tokio::join!(self.hold(&first, one, heartbeat, &mut mine), self.hold(&second, other, heartbeat, &mut theirs));
    }

    async fn hold(&self, name: &str, held: Held, heartbeat: bool, rng: &mut Rng) {
        let held = Arc::new(held);
        let (fence, owner) = (held.fence(), held.owner().to_owned());
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
        self.arena.lock().unwrap().enter(name, Believer { held: Arc::clone(&held), told, until: until.clone() });
        for _ in 0..rng.u32(1..6) {
            // Without heartbeats a pause is a process that stands still.
            let pause = if !heartbeat && rng.f64() < 0.4 { rng.u64(8_000..20_000) } else { rng.u64(0..4_000) };
            travel(millis(pause)).await;
            // A late one does not know better: the check is what keeps it out.
            self.write(name, &owner, fence).await;
            if !heartbeat
                && rng.bool()
                && held.extend().await.is_ok()
                && let Some(until) = &until
            {
                *until.lock().unwrap() = Instant::now() + TTL;
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
                    self.write(name, &owner, fence).await;
                    drop(held.release().await);
                }
            }
        }
    }

    /// Appends the fence to the log that the lock protects, if it is ours still, over the same bad line.
    async fn write(&self, name: &str, owner: &str, fence: u64) {
        let check = ConditionCheck::builder()
            .table_name("locks")
            .key("name", s(name))
            .condition_expression("#o = :o AND #f = :f")
            .expression_attribute_names("#o", "_owner")
            .expression_attribute_names("#f", "_fence")
            .expression_attribute_values(":o", s(owner))
            .expression_attribute_values(":f", n(fence));
        let append = Update::builder()
            .table_name("locks")
            .key("name", s(&log_of(name)))
            .update_expression("SET #l = list_append(if_not_exists(#l, :e), :f)")
            .expression_attribute_names("#l", "log")
            .expression_attribute_values(":e", AttributeValue::L(Vec::new()))
            .expression_attribute_values(":f", AttributeValue::L(vec![n(fence)]));
        let check = TransactWriteItem::builder().condition_check(check.build().unwrap()).build();
        let append = TransactWriteItem::builder().update(append.build().unwrap()).build();
        let write = self.client.transact_write_items().transact_items(check).transact_items(append).send();
        let is_superseded = {
            let mut arena = self.arena.lock().unwrap();
            arena.write_outside(name, fence);
            arena.is_superseded(name, fence)
        };
        let outcome = tokio::time::timeout(secs(3), write).await;
        let mut arena = self.arena.lock().unwrap();
        match outcome {
            Ok(Ok(_)) => {
                arena.tally.writes += 1;
                arena.tally.stale += u64::from(is_superseded);
            }
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
    let arena = Arc::new(Mutex::new(Arena::default()));
    let mut rng = Rng::with_seed(seed);
    // The first two are as far apart as may be; for those who watch, clocks may show what they like.
    let skew = i64::try_from(SKEW.as_millis()).unwrap() * if weather.expiry == Expiry::Observed { 1_000 } else { 1 };
    let mut tasks = Vec::new();
    for process in 0..PROCESSES {
        let faults = weather.faults(seed * PROCESSES + process);
        let http = deviation.wrap(faults.wrap(SharedHttpClient::new(database.connector())));
        let over = |http| Client::from_conf(plain.config().to_builder().http_client(http).build());
        let client = over(http.clone());
        let ahead = match process {
            0 => -skew / 2,
            1 => skew / 2,
            _ => rng.i64(-skew / 2..=skew / 2),
        };
        let ttl = if deviation == Deviation::WatchFromTheRequest && process % 2 == 1 { millis(9_100) } else { TTL };
        let locks = |client: &Client| locks(client).ttl(ttl).expiry(weather.expiry).clock_ahead_by_millis(ahead);
        let line = |_| {
            let line = Faults::none();
            (locks(&over(line.wrap(http.clone()))), line)
        };
        let lines = if deviation == Deviation::AcquireWithItsCaller { ROUNDS } else { 0 };
        let (locks, lines) = (locks(&client), (0..lines).map(line).collect());
        let process = Process { locks, lines, client, deviation, arena: Arc::clone(&arena) };
        tasks.push(tokio::spawn(process.live(rng.fork())));
    }
    for task in tasks {
        task.await.unwrap();
    }
    // What is on its way arrives, what was dropped is released.
    travel(weather.late + secs(1)).await;
    let mut tally = arena.lock().unwrap().tally.clone();
    tally.ghosts = arena.lock().unwrap().ghosts();
    let longest = TTL + SKEW + SKEW / 2;
    for name in NAMES {
        let granted = locks(&plain).expiry(weather.expiry).acquire(name).wait(longest).await;
        tally.left += u64::from(granted.is_err());
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

#[test]
fn a_storm_grants_a_lock_to_one_at_a_time_and_leaves_none_behind() {
    let tally = storms(0..seeds(SEEDS), Deviation::None, |seed| storm(seed, Weather::ROUGH, Deviation::None));
    println!("by the clock, {} seeds: {tally:?}", seeds(SEEDS));
    assert!(tally.grants > seeds(SEEDS) * 20, "{tally:?}");
    assert!(tally.writes > seeds(SEEDS) * 40, "{tally:?}");
    assert!(tally.takeovers > seeds(SEEDS) * 4, "{tally:?}");
    assert!(tally.together > seeds(SEEDS) * 2, "{tally:?}");
}

#[test]
fn a_storm_without_losses_leaves_no_grant_that_nobody_knows_of() {
    let tally = storms(0..seeds(SEEDS) / 10, Deviation::None, |seed| storm(seed, Weather::CALM, Deviation::None));
    println!("calm, {} seeds: {tally:?}", seeds(SEEDS) / 10);
    assert!(tally.cancelled > seeds(SEEDS) / 10, "{tally:?}");
    assert_eq!(tally.ghosts, 0, "{tally:?}");
}

#[test]
fn the_storm_shows_acquires_that_end_with_their_caller() {
    let deviation = Deviation::AcquireWithItsCaller;
    shows(deviation, |seed| storm(seed, Weather::CALM, deviation), |seen| seen.ghosts);
}

#[test]
fn the_storm_shows_a_resource_that_compares_with_the_last_fence_it_has_seen() {
    // Of the guarded writes in the same storms, none is stale.
    shows(Deviation::None, |seed| storm(seed, Weather::ROUGH, Deviation::None), |seen| seen.outside);
}

#[test]
fn a_storm_grants_a_lock_to_one_at_a_time_whatever_the_clocks_show() {
    let tally = storms(0..seeds(SEEDS) / 4, Deviation::None, |seed| storm(seed, Weather::OBSERVED, Deviation::None));
    println!("watched, {} seeds: {tally:?}", seeds(SEEDS) / 4);
    assert!(tally.takeovers > seeds(SEEDS) / 4, "{tally:?}");
}

#[test]
fn the_storm_shows_a_fence_that_does_not_grow() {
    shows(Deviation::SameFence, |seed| storm(seed, Weather::ROUGH, Deviation::SameFence), |seen| seen.fences);
}

#[test]
fn the_storm_shows_a_lock_that_is_taken_from_its_holder() {
    shows(
        Deviation::AcquireWhatIsHeld,
        |seed| storm(seed, Weather::ROUGH, Deviation::AcquireWhatIsHeld),
        |seen| seen.overlaps,
    );
}

#[test]
fn the_storm_shows_heartbeats_on_the_beat_before_to_lose_leases() {
    shows(
        Deviation::BeatOnThePrevious,
        |seed| storm(seed, Weather::ROUGH, Deviation::BeatOnThePrevious),
        |seen| seen.lost,
    );
}

#[test]
fn the_storm_shows_heartbeats_on_the_owner_alone() {
    shows(
        Deviation::BeatOnTheOwner,
        |seed| storm(seed, Weather::TARDY, Deviation::BeatOnTheOwner),
        |seen| seen.overlaps,
    );
}

#[test]
fn the_storm_shows_heartbeats_without_a_condition() {
    shows(Deviation::BeatAlways, |seed| storm(seed, Weather::TARDY, Deviation::BeatAlways), |seen| seen.overlaps);
}

#[test]
fn the_storm_shows_releases_without_a_condition() {
    shows(Deviation::ReleaseAlways, |seed| storm(seed, Weather::ROUGH, Deviation::ReleaseAlways), |seen| seen.overlaps);
}

#[test]
fn the_storm_shows_leases_that_are_counted_from_the_answer() {
    shows(
        Deviation::CountFromTheAnswer,
        |seed| storm(seed, Weather::SLOW, Deviation::CountFromTheAnswer),
        |seen| seen.overlaps,
    );
}

#[test]
fn the_storm_shows_watchers_that_count_from_before_what_they_saw() {
    shows(
        Deviation::WatchFromTheRequest,
        |seed| storm(seed, Weather::OBSERVED, Deviation::WatchFromTheRequest),
        |seen| seen.overlaps,
    );
}

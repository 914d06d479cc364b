//! Several processes want two locks, while everything happens to their requests that can.
//!
//! The library is the real one, over the real SDK and the engine in the process, on paused time; each process has a clock of its own within
//! the skew that is allowed, and faults of its own. What is written under a lock is a transaction with a check of the lock's row.
//! `DYNALOCK_STORM_SEEDS` says how many seeds there are.

#![expect(clippy::print_stdout, reason = "the figures are shown on request")]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    env,
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
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

use super::{SKEW, TTL, wire::Deviation};
use crate::support::{item, millis, n, s, secs, travel};

const NAMES: [&str; 2] = ["red", "blue"];
const PROCESSES: u64 = 4;
const ROUNDS: u32 = 12;

/// What was seen.
#[derive(Debug, Default, Clone)]
struct Tally {
    grants: u64,
    /// Grants of both locks at once.
    together: u64,
    writes: u64,
    refused: u64,
    takeovers: u64,
    cancelled: u64,
    /// Two guards that believed at one moment.
    overlaps: u64,
    /// Work that had not been told to end when the next one entered.
    told_late: u64,
    /// Fences that did not grow.
    fences: u64,
    /// Writes under an older fence than one that had written.
    stale: u64,
    /// Locks that were still held a ttl and the skew after everything had ended.
    left: u64,
    /// Grants that nobody knows of, each found by the next asker after its ttl.
    ghosts: u64,
    /// Leases that ended while their holder was renewing them.
    lost: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.grants += other.grants;
        self.together += other.together;
        self.writes += other.writes;
        self.refused += other.refused;
        self.takeovers += other.takeovers;
        self.cancelled += other.cancelled;
        self.overlaps += other.overlaps;
        self.told_late += other.told_late;
        self.fences += other.fences;
        self.stale += other.stale;
        self.left += other.left;
        self.lost += other.lost;
        self.ghosts += other.ghosts;
    }

    fn broken(&self) -> [u64; 5] {
        [self.overlaps, self.told_late, self.fences, self.stale, self.left]
    }
}

/// A guard that believes, as its process sees it.
#[derive(Clone)]
struct Believer {
    held: Arc<Held>,
    told: Arc<AtomicBool>,
    /// In place of what the guard says, where a deviation has another opinion.
    until: Option<Arc<Mutex<Instant>>>,
}

impl Believer {
    fn believes(&self) -> bool {
        match &self.until {
            Some(until) => Instant::now() < *until.lock().unwrap(),
            None => !self.held.remaining().is_zero(),
        }
    }
}

/// Who is in, and what was seen.
#[derive(Default)]
struct Arena {
    believers: HashMap<String, Vec<Believer>>,
    fences: BTreeMap<String, BTreeSet<u64>>,
    crashed: Vec<(String, u64)>,
    tally: Tally,
}

#[derive(Clone)]
struct Process {
    locks: Locks,
    client: Client,
    deviation: Deviation,
    arena: Arc<Mutex<Arena>>,
}

/// How rough it is.
#[derive(Debug, Clone, Copy)]
struct Weather {
    /// The share of requests that meets each kind of fault.
    rate: f64,
    /// How long a copy of a request may be on its way.
    late: Duration,
    /// The share of requests that are slow.
    slow: f64,
    /// The share of requests that arrive in the end, after they were sent again.
    tardy: f64,
    expiry: Expiry,
}

impl Weather {
    const ROUGH: Self =
        Self { rate: 0.012, late: secs(6), slow: 0.012, tardy: 0.012, expiry: Expiry::Clock { max_skew: SKEW } };
    const SLOW: Self = Self { slow: 0.4, ..Self::ROUGH };
    const TARDY: Self = Self { tardy: 0.3, ..Self::ROUGH };
    const OBSERVED: Self = Self { expiry: Expiry::Observed, ..Self::ROUGH };
}

fn faults(seed: u64, weather: Weather) -> Faults {
    let faults = [
        Fault::LoseRequest,
        Fault::LoseReply,
        Fault::ErrorAfterApply,
        Fault::GarbageAfterApply,
        Fault::ServerError,
        Fault::Throttle,
        Fault::TransactionConflict,
        Fault::NeverAnswer,
        Fault::NeverAnswerAfterApply,
        Fault::Delay(millis(30)),
        Fault::DeliverLate(millis(40)),
        Fault::DeliverLate(weather.late / 4),
        Fault::DeliverTwice,
    ];
    let drawn = Faults::seeded(seed).rate(Fault::Delay(millis(900)), weather.slow);
    let drawn = drawn.rate(Fault::DeliverLate(weather.late), weather.tardy);
    faults.into_iter().fold(drawn, |faults, fault| faults.rate(fault, weather.rate))
}

impl Arena {
    fn enter(&mut self, name: &str, believer: Believer) {
        let held = &believer.held;
        self.tally.grants += 1;
        self.tally.takeovers += u64::from(held.acquired_after_crash().is_some());
        self.crashed.extend(held.acquired_after_crash().map(|fence| (name.to_owned(), fence)));
        let known = self.fences.entry(name.to_owned()).or_default();
        // An answer that was long on its way may come after that of the next grant.
        let is_late = known.last().is_some_and(|last| held.fence() < *last) && believer.believes();
        if !known.insert(held.fence()) || is_late {
            self.tally.fences += 1;
        }
        let here = self.believers.entry(name.to_owned()).or_default();
        if believer.believes() {
            for other in here.iter() {
                if other.believes() {
                    self.tally.overlaps += 1;
                } else if !other.told.load(Ordering::Relaxed) {
                    self.tally.told_late += 1;
                }
            }
        }
        here.push(believer);
    }

    /// Dead holders that nobody has seen alive.
    fn ghosts(&self) -> u64 {
        let is_known =
            |(name, fence): &&(String, u64)| self.fences.get(name).is_some_and(|known| known.contains(fence));
        (self.crashed.len() - self.crashed.iter().filter(is_known).count()) as u64
    }

    fn leave(&mut self, name: &str, fence: u64) {
        if let Some(here) = self.believers.get_mut(name) {
            here.retain(|believer| believer.held.fence() != fence);
        }
    }
}

impl Process {
    async fn live(self, mut rng: Rng) {
        for _ in 0..ROUNDS {
            travel(millis(rng.u64(0..3_000))).await;
            let heartbeat = rng.f64() < 0.8;
            if rng.f64() < 0.2 {
                self.take_all(heartbeat, &mut rng).await;
                continue;
            }
            let name = NAMES[rng.usize(..NAMES.len())];
            let acquire = self.locks.acquire(name).heartbeat(heartbeat).wait(secs(rng.u64(1..60))).into_future();
            let patience = if rng.f64() < 0.2 { millis(rng.u64(0..15_000)) } else { secs(600) };
            let mut task = tokio::spawn(acquire);
            let granted = tokio::select! {
                granted = &mut task => granted.unwrap(),
                () = travel(patience) => {
                    task.abort();
                    self.arena.lock().unwrap().tally.cancelled += 1;
                    continue;
                }
            };
            if let Ok(held) = granted {
                self.hold(name, held, heartbeat, &mut rng).await;
            }
        }
    }

    /// Both locks at once, which then go their ways.
    async fn take_all(&self, heartbeat: bool, rng: &mut Rng) {
        let all = self.locks.acquire_all(NAMES).heartbeat(heartbeat).wait(secs(rng.u64(1..60))).into_future();
        let mut task = tokio::spawn(all);
        let patience = if rng.f64() < 0.2 { millis(rng.u64(0..15_000)) } else { secs(600) };
        let granted = tokio::select! {
            granted = &mut task => granted.unwrap(),
            () = travel(patience) => {
                task.abort();
                self.arena.lock().unwrap().tally.cancelled += 1;
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
    let arena = Arc::new(Mutex::new(Arena::default()));
    let mut rng = Rng::with_seed(seed);
    // The first two are as far apart as may be; for those who watch, clocks may show what they like.
    let skew = i64::try_from(SKEW.as_millis()).unwrap() * if weather.expiry == Expiry::Observed { 1_000 } else { 1 };
    let mut tasks = Vec::new();
    for process in 0..PROCESSES {
        let faults = faults(seed * PROCESSES + process, weather);
        let http = deviation.wrap(faults.wrap(SharedHttpClient::new(database.connector())));
        let client = Client::from_conf(plain.config().to_builder().http_client(http).build());
        let ahead = match process {
            0 => -skew / 2,
            1 => skew / 2,
            _ => rng.i64(-skew / 2..=skew / 2),
        };
        let ttl = if deviation == Deviation::WatchFromTheRequest && process % 2 == 1 { millis(9_100) } else { TTL };
        let locks = locks(&client).ttl(ttl).expiry(weather.expiry).clock_ahead_by_millis(ahead);
        let process = Process { locks, client, deviation, arena: Arc::clone(&arena) };
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

/// Storms of many seeds, on all cores: each has a runtime and a paused clock of its own.
fn storms(seeds: Range<u64>, weather: Weather, deviation: Deviation) -> Tally {
    let next = AtomicU64::new(seeds.start);
    let run = || {
        let mut total = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return total;
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
            let tally = runtime.unwrap().block_on(storm(seed, weather, deviation));
            if deviation == Deviation::None {
                assert_eq!(tally.broken(), [0; 5], "seed {seed}: {tally:?}");
            }
            total.add(&tally);
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let mut total = Tally::default();
        for thread in threads {
            total.add(&thread.join().unwrap());
        }
        total
    })
}

fn seeds() -> u64 {
    env::var("DYNALOCK_STORM_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(200)
}

#[test]
fn a_storm_grants_a_lock_to_one_at_a_time_and_leaves_none_behind() {
    let tally = storms(0..seeds(), Weather::ROUGH, Deviation::None);
    println!("by the clock, {} seeds: {tally:?}", seeds());
    assert!(tally.grants > seeds() * 20, "{tally:?}");
    assert!(tally.writes > seeds() * 40, "{tally:?}");
    assert!(tally.takeovers > seeds() * 4, "{tally:?}");
    assert!(tally.together > seeds() * 2, "{tally:?}");
}

#[test]
fn a_storm_grants_a_lock_to_one_at_a_time_whatever_the_clocks_show() {
    let tally = storms(0..seeds() / 4, Weather::OBSERVED, Deviation::None);
    println!("watched, {} seeds: {tally:?}", seeds() / 4);
    assert!(tally.takeovers > seeds() / 4, "{tally:?}");
}

/// Storms without one part of the protocol until they show it.
fn shows(deviation: Deviation, weather: Weather, shown: impl Fn(&Tally) -> u64) {
    const BATCH: u64 = 4;
    let mut total = Tally::default();
    let mut seeds = 0;
    while shown(&total) == 0 && seeds < 400 {
        total.add(&storms(seeds..seeds + BATCH, weather, deviation));
        seeds += BATCH;
    }
    println!("{deviation:?}, {seeds} seeds: {total:?}");
    assert!(shown(&total) > 0, "{deviation:?}: {total:?}");
}

#[test]
fn the_storm_shows_a_fence_that_does_not_grow() {
    shows(Deviation::SameFence, Weather::ROUGH, |seen| seen.fences);
}

#[test]
fn the_storm_shows_a_lock_that_is_taken_from_its_holder() {
    shows(Deviation::AcquireWhatIsHeld, Weather::ROUGH, |seen| seen.overlaps);
}

#[test]
fn the_storm_shows_heartbeats_on_the_beat_before_to_lose_leases() {
    shows(Deviation::BeatOnThePrevious, Weather::ROUGH, |seen| seen.lost);
}

#[test]
fn the_storm_shows_heartbeats_on_the_owner_alone() {
    shows(Deviation::BeatOnTheOwner, Weather::TARDY, |seen| seen.overlaps);
}

#[test]
fn the_storm_shows_heartbeats_without_a_condition() {
    shows(Deviation::BeatAlways, Weather::TARDY, |seen| seen.overlaps);
}

#[test]
fn the_storm_shows_releases_without_a_condition() {
    shows(Deviation::ReleaseAlways, Weather::ROUGH, |seen| seen.overlaps);
}

#[test]
fn the_storm_shows_leases_that_are_counted_from_the_answer() {
    shows(Deviation::CountFromTheAnswer, Weather::SLOW, |seen| seen.overlaps);
}

#[test]
fn the_storm_shows_watchers_that_count_from_before_what_they_saw() {
    shows(Deviation::WatchFromTheRequest, Weather::OBSERVED, |seen| seen.overlaps);
}

//! Several processes want two locks, while everything happens to their requests that can.

#![expect(clippy::print_stdout, reason = "the figures are shown on request")]

use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::{Client, config::SharedHttpClient};
use dynalock::{
    Locks,
    local::{Database, Fault, Faults},
    private::ClockAhead as _,
};
use fastrand::Rng;

use super::{SKEW, TTL};
use crate::{
    storms::{Arena, Asked, Deviation, Tally, Tenant, Weather, ahead, seeds, shows, stale, storms},
    support::{millis, secs, travel},
};

const SEEDS: u64 = 200;

const NAMES: [&str; 2] = ["red", "blue"];
const PROCESSES: u64 = 4;
const ROUNDS: usize = 12;

#[derive(Clone)]
struct Process {
    tenant: Tenant,
    /// The same locks over lines that can be cut, one for each round, if an acquire is to end with its caller.
    lines: Vec<(Locks, Faults)>,
}

impl Process {
    async fn live(self, mut rng: Rng) {
        for round in 0..ROUNDS {
            travel(millis(rng.u64(0..3_000))).await;
            let (heartbeat, wait) = (rng.f64() < 0.8, secs(rng.u64(1..60)));
            let locks = self.lines.get(round).map_or(&self.tenant.locks, |(locks, _)| locks);
            if rng.f64() < 0.2 {
                let all = locks.acquire_all(NAMES).heartbeat(heartbeat).wait(wait).into_future();
                match self.tenant.ask(all, &mut rng).await {
                    Asked::Granted(all) => self.tenant.hold_all(all, heartbeat, &mut rng).await,
                    Asked::Refused => {}
                    Asked::Gone => self.cut(round),
                }
            } else {
                let name = NAMES[rng.usize(..NAMES.len())];
                let one = locks.acquire(name).heartbeat(heartbeat).wait(wait).into_future();
                match self.tenant.ask(one, &mut rng).await {
                    Asked::Granted(held) => self.tenant.hold(held, heartbeat, &mut rng).await,
                    Asked::Refused => {}
                    Asked::Gone => self.cut(round),
                }
            }
        }
    }

    fn cut(&self, round: usize) {
        if let Some((_, line)) = self.lines.get(round) {
            line.always(Fault::LoseRequest);
        }
    }
}

/// One storm.
async fn storm(seed: u64, weather: Weather, deviation: Deviation) -> Tally {
    let database = Database::in_memory().unwrap();
    let plain = database.client();
    let locks = |client: &Client| Locks::new(client, "locks").ttl(TTL);
    locks(&plain).create_table().await.unwrap();
    let arena = Arc::new(Mutex::new(Arena::default()));
    let mut rng = Rng::with_seed(seed);
    let mut tasks = Vec::new();
    for process in 0..PROCESSES {
        let faults = weather.faults(seed * PROCESSES + process);
        let http = deviation.wrap(faults.wrap(SharedHttpClient::new(database.connector())));
        let over = |http| Client::from_conf(plain.config().to_builder().http_client(http).build());
        let client = over(http.clone());
        let ahead = ahead(process, weather, &mut rng);
        let ttl = if deviation == Deviation::WatchFromTheRequest && process % 2 == 1 { millis(9_100) } else { TTL };
        let locks = |client: &Client| locks(client).ttl(ttl).expiry(weather.expiry).clock_ahead_by_millis(ahead);
        let line = |_| {
            let line = Faults::none();
            (locks(&over(line.wrap(http.clone()))), line)
        };
        let lines = if deviation == Deviation::AcquireWithItsCaller { ROUNDS } else { 0 };
        let (locks, lines) = (locks(&client), (0..lines).map(line).collect());
        let process = Process { tenant: Tenant { locks, client, deviation, arena: Arc::clone(&arena) }, lines };
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
        tally.stale += stale(&plain, name).await;
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
    assert!(tally.resumed > seeds(SEEDS), "{tally:?}");
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
fn the_storm_shows_a_resumed_grant_that_goes_on_from_the_next_beat() {
    let deviation = Deviation::ResumeAtTheNextBeat;
    shows(deviation, |seed| storm(seed, Weather::TARDY, deviation), |seen| seen.overlaps);
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

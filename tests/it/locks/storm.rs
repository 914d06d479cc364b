//! Several processes acquire two locks, and their requests meet all kinds of faults.

use aws_sdk_dynamodb::Client;
use dynalock::{
    Locks,
    local::{Fault, Faults},
    private::ClockAhead as _,
};
use fastrand::Rng;

use crate::{
    storms::{Asked, Deviation, NAMES, Scene, Tally, Tenant, Weather, ahead, deviations, seeds, survives},
    support::{SKEW, TTL, millis, secs, travel},
};

const SEEDS: u64 = 200;

const PROCESSES: u64 = 4;
const ROUNDS: usize = 12;

#[derive(Clone)]
struct Process {
    tenant: Tenant,
    /// Clients of the same locks whose connections can be cut, one for each round, if an acquire
    /// should end with its caller.
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

/// Runs one storm.
async fn storm(seed: u64, weather: Weather, deviation: Deviation) -> Tally {
    let mut scene = Scene::new(weather, deviation).await;
    let mut rng = Rng::with_seed(seed);
    for process in 0..PROCESSES {
        let client = scene.client(&weather.faults(seed * PROCESSES + process));
        let ahead = ahead(process, weather, &mut rng);
        let ttl = if deviation == Deviation::WatchFromTheRequest && process % 2 == 1 { millis(9_100) } else { TTL };
        let locks = |client: &Client| scene.locks(client).ttl(ttl).clock_ahead_by_millis(ahead);
        let line = |_| {
            let (line, config) = (Faults::none(), client.config());
            let http = line.wrap(config.http_client().expect("the client of the storm"));
            (locks(&Client::from_conf(config.to_builder().http_client(http).build())), line)
        };
        let lines = if deviation == Deviation::AcquireWithItsCaller { ROUNDS } else { 0 };
        let (locks, lines) = (locks(&client), (0..lines).map(line).collect());
        let process = Process { tenant: scene.tenant(locks, client), lines };
        scene.processes.spawn(process.live(rng.fork()));
    }
    let mut tally = scene.end().await;
    let longest = TTL + SKEW + SKEW / 2;
    for name in NAMES {
        let granted = scene.locks(&scene.plain).acquire(name).wait(longest).await;
        tally.left += u64::from(granted.is_err());
    }
    tally
}

#[test]
fn a_storm_grants_a_lock_to_one_at_a_time_and_leaves_none_behind() {
    let tally = survives("by the clock", seeds(SEEDS), |seed| storm(seed, Weather::ROUGH, Deviation::None));
    assert!(tally.grants > seeds(SEEDS) * 20, "{tally:?}");
    assert!(tally.writes > seeds(SEEDS) * 40, "{tally:?}");
    assert!(tally.takeovers > seeds(SEEDS) * 4, "{tally:?}");
    assert!(tally.together > seeds(SEEDS) * 2, "{tally:?}");
    assert!(tally.resumed > seeds(SEEDS), "{tally:?}");
}

#[test]
fn a_storm_without_losses_leaves_no_grant_that_nobody_knows_of() {
    let tally = survives("calm", seeds(SEEDS) / 10, |seed| storm(seed, Weather::CALM, Deviation::None));
    assert!(tally.cancelled > seeds(SEEDS) / 10, "{tally:?}");
    assert_eq!(tally.ghosts, 0, "{tally:?}");
}

#[test]
fn a_storm_grants_a_lock_to_one_at_a_time_whatever_the_clocks_show() {
    let tally = survives("watched", seeds(SEEDS) / 4, |seed| storm(seed, Weather::OBSERVED, Deviation::None));
    assert!(tally.takeovers > seeds(SEEDS) / 4, "{tally:?}");
}

deviations! {
    storm;
    the_storm_shows_acquires_that_end_with_their_caller: AcquireWithItsCaller, CALM, ghosts;
    /// No guarded write in the same storms is stale.
    the_storm_shows_a_resource_that_compares_with_the_last_fence_it_has_seen: None, ROUGH, outside;
    the_storm_shows_a_fence_that_does_not_grow: SameFence, ROUGH, fences;
    the_storm_shows_a_lock_that_is_taken_from_its_holder: AcquireWhatIsHeld, ROUGH, overlaps;
    the_storm_shows_heartbeats_on_the_beat_before_to_lose_leases: BeatOnThePrevious, ROUGH, lost;
    the_storm_shows_heartbeats_on_the_owner_alone: BeatOnTheOwner, TARDY, overlaps;
    the_storm_shows_a_resumed_grant_that_goes_on_from_the_next_beat: ResumeAtTheNextBeat, TARDY, overlaps;
    the_storm_shows_heartbeats_without_a_condition: BeatAlways, TARDY, overlaps;
    the_storm_shows_releases_without_a_condition: ReleaseAlways, ROUGH, overlaps;
    the_storm_shows_leases_that_are_counted_from_the_answer: CountFromTheAnswer, SLOW, overlaps;
    the_storm_shows_watchers_that_count_from_before_what_they_saw: WatchFromTheRequest, OBSERVED, overlaps;
}

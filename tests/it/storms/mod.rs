//! Storms: the real library and the real SDK run on the in-process engine, on paused time, with
//! random faults. Each process of a storm has its own clock within the allowed skew, and its own
//! faults. `DYNALOCK_STORM_SEEDS` sets the number of seeds.

#![expect(clippy::disallowed_methods, reason = "the clock is paused")]
#![expect(clippy::print_stdout, reason = "the figures are shown on request")]

mod arena;
mod journal;
mod scene;
mod tenant;
mod weather;
mod wire;

pub(crate) use arena::{Arena, Tally};
pub(crate) use journal::Journal;
pub(crate) use scene::{NAMES, Scene};
pub(crate) use tenant::{Asked, Tenant, stale};
pub(crate) use weather::Weather;
pub(crate) use wire::Deviation;

use std::{
    env,
    future::Future,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use dynalock::Expiry;
use fastrand::Rng;

use crate::support::SKEW;

/// The offsets of the clocks of the processes in milliseconds. The first two differ by the maximum
/// skew. With the rule of observation, clocks may show any time.
pub(crate) fn ahead(process: u64, weather: Weather, rng: &mut Rng) -> i64 {
    let skew = i64::try_from(SKEW.as_millis()).unwrap() * if weather.expiry == Expiry::Observed { 1_000 } else { 1 };
    match process {
        0 => -skew / 2,
        1 => skew / 2,
        _ => rng.i64(-skew / 2..=skew / 2),
    }
}

/// Runs storms of many seeds on all cores. Each storm has its own runtime and its own paused clock.
pub(crate) fn storms<F>(seeds: Range<u64>, deviation: Deviation, storm: impl Fn(u64) -> F + Sync) -> Tally
where
    F: Future<Output = Tally>,
{
    let next = AtomicU64::new(seeds.start);
    let run = || {
        let mut total = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return total;
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
            let tally = runtime.unwrap().block_on(storm(seed));
            if deviation == Deviation::None {
                assert_eq!(tally.broken(), [0; 9], "seed {seed}: {tally:?}");
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

/// Makes a test of each deviation. Storms of this weather must show the deviation by this figure.
macro_rules! deviations {
    ($storm:ident; $($(#[$doc:meta])* $test:ident: $deviation:ident, $weather:ident, $figure:ident;)*) => {
        $(
            $(#[$doc])*
            #[test]
            fn $test() {
                let deviation = crate::storms::Deviation::$deviation;
                let storm = |seed| $storm(seed, crate::storms::Weather::$weather, deviation);
                crate::storms::shows(deviation, storm, |seen| seen.$figure);
            }
        )*
    };
}

pub(crate) use deviations;

/// Runs storms without a deviation, and checks their figures.
pub(crate) fn survives<F>(label: &str, seeds: u64, storm: impl Fn(u64) -> F + Sync) -> Tally
where
    F: Future<Output = Tally>,
{
    let tally = storms(0..seeds, Deviation::None, storm);
    println!("{label}, {seeds} seeds: {tally:?}");
    tally
}

/// Returns the number of seeds.
pub(crate) fn seeds(by_default: u64) -> u64 {
    env::var("DYNALOCK_STORM_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(by_default)
}

/// Runs storms without one part of the protocol until the failure appears.
pub(crate) fn shows<F>(deviation: Deviation, storm: impl Fn(u64) -> F + Sync, shown: impl Fn(&Tally) -> u64)
where
    F: Future<Output = Tally>,
{
    const BATCH: u64 = 4;
    let mut total = Tally::default();
    let mut seeds = 0;
    while shown(&total) == 0 && seeds < 400 {
        total.add(&storms(seeds..seeds + BATCH, deviation, &storm));
        seeds += BATCH;
    }
    println!("{deviation:?}, {seeds} seeds: {total:?}");
    assert!(shown(&total) > 0, "{deviation:?}: {total:?}");
}

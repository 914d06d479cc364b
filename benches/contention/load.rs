//! The loads on one item, and the figures of the callers.

use std::{collections::VecDeque, time::Duration};

use tokio::{runtime, task::JoinSet, time::Instant};

use crate::{
    caller::{Caller, Outcome, Process, World},
    network::RoundTrip,
    simulated::{now, sleep},
};

/// A load on one item.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Load {
    /// All calls start at the same moment.
    Burst { calls: usize },
    /// For a time, calls start at random moments, however long earlier calls take.
    Arrivals { per_second: u32, time: Duration },
    /// Each of four writers starts its next call when its last call has ended.
    Writers { time: Duration },
}

/// The calls of one or more runs.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    /// The times of the updates that were applied, sorted.
    times: Vec<Duration>,
    given_up: usize,
    cost: f64,
}

impl Load {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Burst { calls } => format!("burst of {calls}"),
            Self::Arrivals { per_second, .. } => format!("{per_second} a second"),
            Self::Writers { .. } => "4 writers".to_owned(),
        }
    }

    /// Runs the load once for each seed, in virtual time.
    pub(crate) fn run(self, round_trip: RoundTrip, caller: Caller, seeds: u64) -> Sample {
        let mut all = Sample::default();
        for seed in 0..seeds {
            let runtime = runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
            fastrand::seed(seed);
            let run = runtime.expect("a runtime").block_on(self.run_once(round_trip, caller, seed));
            all.times.extend(run.times);
            all.given_up += run.given_up;
            all.cost += run.cost;
        }
        all.times.sort_unstable();
        all
    }

    async fn run_once(self, round_trip: RoundTrip, caller: Caller, seed: u64) -> Sample {
        let world = World::new(round_trip, seed).await;
        let start = now();
        let mut calls = JoinSet::new();
        let mut processes: VecDeque<_> = world.processes.iter().cloned().collect();
        for at in self.starts(seed) {
            sleep(at.saturating_sub(now() - start)).await;
            let process = processes[0].clone();
            processes.rotate_left(1);
            calls.spawn(async move {
                let mut sample = Sample::default();
                sample.add(caller, &process).await;
                while self.goes_on(start) {
                    sample.add(caller, &process).await;
                }
                sample
            });
        }
        let mut all = Sample::default();
        for sample in calls.join_all().await {
            all.times.extend(sample.times);
            all.given_up += sample.given_up;
        }
        all.cost = world.network.cost();
        all
    }

    /// The moments at which calls start.
    fn starts(self, seed: u64) -> Vec<Duration> {
        match self {
            Self::Burst { calls } => vec![Duration::ZERO; calls],
            Self::Writers { .. } => vec![Duration::ZERO; 4],
            Self::Arrivals { per_second, time } => {
                let mut rng = fastrand::Rng::with_seed(seed);
                let mut at = Duration::ZERO;
                let mut starts = Vec::new();
                while at < time {
                    at += Duration::from_secs_f64(-(1.0 - rng.f64()).ln() / f64::from(per_second));
                    starts.push(at);
                }
                starts
            }
        }
    }

    fn goes_on(self, start: Instant) -> bool {
        matches!(self, Self::Writers { time } if now() < start + time)
    }
}

impl Sample {
    async fn add(&mut self, caller: Caller, process: &Process) {
        let started = now();
        match caller.update(process).await {
            Outcome::Applied => self.times.push(now() - started),
            Outcome::GivenUp => self.given_up += 1,
        }
    }

    /// Returns the time in milliseconds within which this number of thousandths of the applied
    /// updates ended.
    pub(crate) fn quantile(&self, thousandths: usize) -> f64 {
        let place = self.times.len() * thousandths / 1_000;
        let time = self.times.get(place.min(self.times.len().saturating_sub(1)));
        time.map_or(f64::NAN, |time| time.as_secs_f64() * 1_000.0)
    }

    /// Returns the cost of an applied update, in write units.
    pub(crate) fn cost(&self) -> f64 {
        self.cost / count(self.times.len())
    }

    pub(crate) fn given_up(&self) -> String {
        match self.given_up {
            0 => "0".to_owned(),
            lost => format!("{:.2} %", 100.0 * count(lost) / count(lost + self.times.len())),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52 calls")]
fn count(calls: usize) -> f64 {
    calls as f64
}

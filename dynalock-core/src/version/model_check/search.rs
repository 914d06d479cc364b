//! The search for violations. The search visits each reachable state of the model (a world) once.

use std::{
    collections::{HashSet, VecDeque},
    fmt,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
};

use super::{
    Setup, Tokens,
    client::{Event, Step},
    world::{Violation, World},
};

/// The shortest sequence of events that leads to a violation.
pub(super) struct Counterexample {
    pub(super) violation: Violation,
    trace: Vec<(u8, Event)>,
}

/// How the search first reached a state of the model: the index of the previous state, and the
/// event that followed.
struct Visit {
    from: usize,
    by: (u8, Event),
}

/// Visits all reachable worlds (states of the model), and returns the number of worlds. If a world
/// shows a violation, returns an error with the shortest counterexample.
pub(super) fn explore(setup: &Setup) -> Result<usize, Counterexample> {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let start = setup.world();
    let mut seen = HashSet::from([hasher.hash_one(&start)]);
    let mut visits: Vec<Visit> = Vec::new();
    let mut open = VecDeque::from([(usize::MAX, start)]);
    let mut steps = Vec::new();
    while let Some((from, world)) = open.pop_front() {
        successors(setup, &world, &mut steps);
        for (who, event, next) in steps.drain(..) {
            if !seen.insert(hasher.hash_one(&next)) {
                continue;
            }
            visits.push(Visit { from, by: (who, event) });
            if let Some(violation) = next.violation(setup) {
                return Err(Counterexample { violation, trace: trace(&visits) });
            }
            open.push_back((visits.len() - 1, next));
        }
    }
    Ok(seen.len())
}

fn successors(setup: &Setup, world: &World, steps: &mut Vec<Step>) {
    for client in &world.clients {
        client.steps(setup, world, steps);
    }
    let arrivals = world.arrivals(setup);
    steps.extend(arrivals.map(|(call, next)| (call, Event::ArrivesLate, next)));
    if setup.tokens == Tokens::AreForgotten && !world.are_tokens_forgotten {
        steps.push((0, Event::TenMinutesPass, world.ten_minutes_later()));
    }
}

fn trace(visits: &[Visit]) -> Vec<(u8, Event)> {
    let last = visits.len() - 1;
    let back = std::iter::successors(visits.get(last), |visit| visits.get(visit.from));
    let mut trace: Vec<_> = back.map(|visit| visit.by).collect();
    trace.reverse();
    trace
}

impl fmt::Debug for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}:", self.violation)?;
        for (who, event) in &self.trace {
            let kind = if matches!(event, Event::ArrivesLate) { "a request of call" } else { "client" };
            write!(f, "\n  {kind} {who} {event:?}")?;
        }
        Ok(())
    }
}

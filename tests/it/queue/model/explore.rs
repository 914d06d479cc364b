//! The checker. The checker visits each reachable state, checks the properties of each state, and
//! finds the shortest path to a violation.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::{Debug, Write};
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A system to explore, with its states and the steps between them.
pub(super) trait System {
    type State: Copy + Eq + Hash;
    type Step;
    type Property: Copy + Eq + Debug;

    fn start(&self) -> Self::State;

    /// Appends the possible next steps. A step is progress if it is neither a fault nor a free
    /// decision of a process.
    fn successors(&self, state: &Self::State, next: &mut Vec<(Self::Step, Self::State)>);

    fn is_progress(step: &Self::Step) -> bool;

    /// Returns the property that this state violates, or that the last step has violated.
    fn broken(&self, state: &Self::State, wanted: Option<Self::Property>) -> Option<Self::Property>;

    /// Returns whether all processes have stopped waiting.
    fn is_finished(&self, state: &Self::State) -> bool;

    fn describe(&self, before: &Self::State, step: &Self::Step, after: &Self::State) -> String;
}

/// The result of an exploration.
pub(super) enum Outcome<P> {
    /// No reachable state violates a property. From each state, progress alone leads to an end.
    Holds { states: usize },
    /// The violated property, and the shortest path to its violation.
    Broken { property: P, trace: String },
    /// The path to a state from which progress does not lead to an end.
    Stuck { trace: String },
}

/// Explores all states, breadth first. If `wanted` is given, only this property is checked.
pub(super) fn explore<S: System>(system: &S, wanted: Option<S::Property>) -> Outcome<S::Property> {
    let mut known = Known::new(system.start());
    let mut progress = Vec::new();
    let mut next = Vec::new();
    let mut at = 0;
    while at < known.states.len() {
        let state = known.states[at];
        system.successors(&state, &mut next);
        for (step, after) in next.drain(..) {
            let (to, new) = known.insert(after, at);
            if S::is_progress(&step) && to != at {
                progress.push((index(at), index(to)));
            }
            if let Some(property) = new.then(|| system.broken(&after, wanted)).flatten() {
                return Outcome::Broken { property, trace: known.trace(system, to) };
            }
        }
        at += 1;
    }
    match wanted.is_none().then(|| known.dead_end(system, &progress)).flatten() {
        Some(stuck) => Outcome::Stuck { trace: known.trace(system, stuck) },
        None => Outcome::Holds { states: known.states.len() },
    }
}

/// The states in the order of their discovery, each with its previous state.
struct Known<S> {
    states: Vec<S>,
    parents: Vec<u32>,
    /// The position of each state, by its hash. If another state has the same hash, the next number
    /// is used.
    places: HashMap<u64, u32, BuildHasherDefault<Fold>>,
}

impl<S: Copy + Eq + Hash> Known<S> {
    fn new(start: S) -> Self {
        let mut known = Self { states: Vec::new(), parents: Vec::new(), places: HashMap::default() };
        known.insert(start, 0);
        known
    }

    /// Returns the position of the state, and whether the state is new.
    fn insert(&mut self, state: S, parent: usize) -> (usize, bool) {
        let mut fold = Fold::default();
        state.hash(&mut fold);
        let mut key = fold.finish();
        loop {
            match self.places.entry(key) {
                Entry::Vacant(vacant) => {
                    let place = self.states.len();
                    vacant.insert(index(place));
                    self.states.push(state);
                    self.parents.push(index(parent));
                    return (place, true);
                }
                Entry::Occupied(found) => {
                    let place = *found.get() as usize;
                    if self.states[place] == state {
                        return (place, false);
                    }
                    key = key.wrapping_add(1);
                }
            }
        }
    }

    /// Returns a state from which the given edges lead to no finished state. The search goes
    /// backwards from the finished states.
    fn dead_end<T: System<State = S>>(&self, system: &T, edges: &[(u32, u32)]) -> Option<usize> {
        let mut first = vec![0_u32; self.states.len() + 1];
        for &(_, to) in edges {
            first[to as usize + 1] += 1;
        }
        (1..first.len()).for_each(|i| first[i] += first[i - 1]);
        let mut sources = vec![0_u32; edges.len()];
        let mut free = first.clone();
        for &(from, to) in edges {
            sources[free[to as usize] as usize] = from;
            free[to as usize] += 1;
        }
        let mut ends: Vec<bool> = self.states.iter().map(|state| system.is_finished(state)).collect();
        let mut open: Vec<usize> = (0..ends.len()).filter(|&place| ends[place]).collect();
        while let Some(place) = open.pop() {
            for &source in &sources[first[place] as usize..first[place + 1] as usize] {
                if !std::mem::replace(&mut ends[source as usize], true) {
                    open.push(source as usize);
                }
            }
        }
        ends.iter().position(|&ends| !ends)
    }

    /// Returns the steps that lead to a state, as text.
    fn trace<T: System<State = S>>(&self, system: &T, to: usize) -> String {
        let mut way = vec![to];
        while way[way.len() - 1] != 0 {
            way.push(self.parents[way[way.len() - 1]] as usize);
        }
        way.reverse();
        let mut text = String::new();
        for pair in way.windows(2) {
            let (before, after) = (&self.states[pair[0]], &self.states[pair[1]]);
            let mut next = Vec::new();
            system.successors(before, &mut next);
            if let Some((step, after)) = next.into_iter().find(|(_, state)| state == after) {
                let _ = writeln!(text, "  {}", system.describe(before, &step, &after));
            }
        }
        text
    }
}

fn index(place: usize) -> u32 {
    u32::try_from(place).expect("fewer states than memory could hold")
}

/// A hash of small fields, which are most of a state. SipHash would take half of the time.
#[derive(Default)]
struct Fold(u64);

impl Hasher for Fold {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u8(byte);
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_i8(&mut self, value: i8) {
        self.write_u64(u64::from(value.cast_unsigned()));
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value.cast_unsigned() as u64);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 ^= self.0 >> 32;
    }
}

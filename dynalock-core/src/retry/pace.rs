use std::{sync::Arc, time::Duration};

/// The reaction of a read-modify-write call to conflicts: immediate attempts and sleeps.
///
/// With `Latency` or `Balanced`, a call makes the next attempt immediately after each of its first
/// conflicts. An immediate attempt starts from the item that DynamoDB returned with the conflict.
/// After its immediate attempts, a call sleeps, and then reads the item again for the next attempt.
/// With `Economy`, a call sleeps after each conflict. With `Latency` or `Balanced`, a call that has
/// waited for a long time has a better chance to write first than a new call, for two reasons:
///
/// - A call makes four times as many immediate attempts between two sleeps as before its first
///   sleep.
/// - The longer a call has been running, the shorter are its sleeps. The length of each sleep is
///   random. The maximum length of a sleep is `12 × n² / t`. In this formula, `t` is the time since
///   the start of the call. The number `n` counts the running calls of the repository and its
///   clones that have slept after a conflict. In `12 × n² / t`, the unit of `t` and of the maximum
///   length is the average round trip time between the client and DynamoDB. In a call of
///   `transact`, a round trip also includes the average run time of the closure. Except near the
///   deadline of the call, the maximum length of a sleep is between one and 40 round trip times.
///   Every sleep ends early enough for another attempt before the deadline of the call.
///
/// The constants in `12 × n² / t` come from a simulation in which four processes write to one item.
/// In `12 × n² / t`, the number `n` does not include the calls of other processes. If 32 calls
/// start at the same time on one item, the calls use twice as many write units in 32 processes as
/// in four processes.
///
/// If many callers write one item, about one write succeeds in each round trip time between the
/// client and DynamoDB. If callers start more than one call per round trip time on one item, the
/// calls wait longer and longer. Each call that reaches its deadline fails. With a longer deadline,
/// or with fewer writers per item, fewer calls fail at their deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Pace {
    /// With `Latency`, a call has six immediate attempts before its first sleep. Of all paces,
    /// `Latency` has the shortest delay for an item with only a few writers. Of all paces,
    /// `Latency` causes the most refused writes.
    Latency,
    /// With `Balanced`, the number of immediate attempts of a call before its first sleep depends
    /// on the size of the item. With `Balanced`, a call has three immediate attempts for an item up
    /// to 1 KB, two for an item up to 4 KB, and one for a larger item.
    #[default]
    Balanced,
    /// With `Economy`, a call sleeps after each conflict for a random time. With `Economy`, the
    /// first sleep of a call is at most ten round trip times between the client and DynamoDB. With
    /// `Economy`, the maximum length of a sleep doubles with each further sleep of the call, up to
    /// two hundred round trip times. Of all paces, `Economy` uses the fewest write units. With
    /// `Economy`, an old call has no better chance to write first than a new call.
    Economy,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) age: Duration,
    /// The average round trip time to DynamoDB, plus the average run time of the closure in a call
    /// of `transact`.
    pub(super) round_trip: Duration,
    /// The longest sleep that leaves time for another attempt before the deadline.
    pub(super) longest: Duration,
}

/// Counts the running calls that have slept after a conflict: each of these calls holds a clone of
/// the `Arc`. `count` subtracts one, because the connection also holds the `Arc`.
#[derive(Debug, Default, Clone)]
pub(super) struct Contenders(Arc<()>);

impl Contenders {
    fn count(&self) -> u32 {
        u32::try_from(Arc::strong_count(&self.0) - 1).unwrap_or(u32::MAX)
    }
}

#[derive(Debug)]
pub(crate) struct ConflictBackoff {
    mode: Pace,
    /// The number of immediate attempts since the last sleep.
    immediate: u32,
    sleeps: u32,
    /// The field `contenders` is `None` until the first sleep of the call.
    contenders: Option<Contenders>,
}

impl ConflictBackoff {
    pub(crate) fn new(mode: Pace) -> Self {
        Self { mode, immediate: 0, sleeps: 0, contenders: None }
    }

    /// `size` is the size of the item in bytes. Returns `None` if the next attempt follows
    /// immediately.
    pub(super) fn conflict(
        &mut self,
        size: usize,
        times: Times,
        contenders: &Contenders,
        rng: &mut fastrand::Rng,
    ) -> Option<Duration> {
        if self.immediate < self.immediate_attempts(size) {
            self.immediate += 1;
            return None;
        }
        let contenders = self.contenders.get_or_insert_with(|| contenders.clone()).count();
        let window = match self.mode {
            // After five doublings, a window of 10 round trips exceeds the limit of 200 round
            // trips.
            Pace::Economy => (10 * times.round_trip * (1 << self.sleeps.min(5))).min(200 * times.round_trip),
            Pace::Latency | Pace::Balanced => window(times, contenders),
        };
        // Without the limit `longest`, many sleeps would end after the deadline, and the calls
        // would give up without a last attempt.
        let window = window.min(times.longest);
        self.immediate = 0;
        self.sleeps = self.sleeps.saturating_add(1);
        // The random length of the sleep lets writers in conflict send their next writes at
        // different times.
        Some(window.mul_f64(rng.f64()).max(SHORTEST_SLEEP))
    }

    fn immediate_attempts(&self, size: usize) -> u32 {
        const KB: usize = 1024;
        // A refused write consumes as many write units as an applied write, so a call on a large
        // item makes fewer immediate attempts.
        let first: u32 = match self.mode {
            Pace::Latency => 6,
            Pace::Economy => 0,
            Pace::Balanced if size <= KB => 3,
            Pace::Balanced if size <= 4 * KB => 2,
            Pace::Balanced => 1,
        };
        // New calls could overtake a call that has slept, so a call that has slept gets more
        // immediate attempts. Further sleeps do not increase the number of immediate attempts, so a
        // call with a conflict at each attempt still sleeps regularly.
        if self.sleeps == 0 { first } else { 4 * first }
    }
}

fn window(times: Times, contenders: u32) -> Duration {
    let round_trip = times.round_trip.max(SHORTEST_SLEEP);
    let turns = times.age.as_secs_f64() / round_trip.as_secs_f64();
    round_trip.mul_f64((12.0 * f64::from(contenders).powi(2) / turns).clamp(1.0, 40.0))
}

/// The timer of tokio has a resolution of one millisecond.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Duration = Duration::from_millis(5);

    fn times(age: Duration) -> Times {
        Times { age, round_trip: SRTT, longest: Duration::MAX }
    }

    /// Returns the number of immediate attempts before each of the first three sleeps.
    fn immediate(mode: Pace, size: usize) -> [usize; 3] {
        let (mut rng, contenders) = (fastrand::Rng::with_seed(7), Contenders::default());
        let mut pacer = ConflictBackoff::new(mode);
        [(); 3].map(|()| {
            let steps = std::iter::repeat_with(|| pacer.conflict(size, times(SRTT), &contenders, &mut rng));
            steps.take_while(Option::is_none).count()
        })
    }

    #[test]
    fn the_immediate_attempts_follow_mode_and_size_and_grow_with_the_first_sleep() {
        assert_eq!(immediate(Pace::Balanced, 1024), [3, 12, 12]);
        assert_eq!(immediate(Pace::Balanced, 1025), [2, 8, 8]);
        assert_eq!(immediate(Pace::Balanced, 4097), [1, 4, 4]);
        assert_eq!(immediate(Pace::Latency, 400_000), [6, 24, 24]);
        assert_eq!(immediate(Pace::Economy, 1), [0, 0, 0]);
    }

    #[test]
    fn the_window_shrinks_with_age_and_grows_with_the_contenders() {
        for (turns, contenders, window_in_turns) in
            [(0, 1, 40), (1, 1, 12), (6, 1, 2), (12, 1, 1), (1_000, 1, 1), (12, 3, 9), (12, 6, 36), (12, 7, 40)]
        {
            assert_eq!(window(times(turns * SRTT), contenders), window_in_turns * SRTT, "{turns}, {contenders}");
        }
    }

    #[test]
    fn a_call_is_a_contender_from_its_first_sleep_to_its_end() {
        let (mut rng, contenders) = (fastrand::Rng::with_seed(7), Contenders::default());
        let mut calls = [(); 3].map(|()| ConflictBackoff::new(Pace::Balanced));
        for conflict in 0..=3 {
            assert_eq!(contenders.count(), 0, "{conflict}");
            for call in &mut calls {
                call.conflict(1, times(SRTT), &contenders, &mut rng);
            }
        }
        assert_eq!(contenders.count(), 3);
        drop(calls);
        assert_eq!(contenders.count(), 0);
    }

    #[test]
    fn the_window_of_economy_doubles_up_to_200_round_trips() {
        let (mut rng, contenders) = (fastrand::Rng::with_seed(7), Contenders::default());
        let mut longest = [0; 7];
        for _ in 0..1_000 {
            let mut pacer = ConflictBackoff::new(Pace::Economy);
            for longest in &mut longest {
                let pause = pacer.conflict(1, times(SRTT), &contenders, &mut rng).expect("this pace always sleeps");
                *longest = pause.as_millis().max(*longest);
            }
        }
        for (longest, window) in longest.into_iter().zip([50, 100, 200, 400, 800, 1_000, 1_000]) {
            assert!(longest < window && longest > window * 95 / 100, "{longest} of {window}");
        }
    }

    #[test]
    fn no_sleep_is_zero() {
        let (mut rng, contenders) = (fastrand::Rng::with_seed(7), Contenders::default());
        for mode in [Pace::Latency, Pace::Balanced, Pace::Economy] {
            let mut pacer = ConflictBackoff::new(mode);
            for _ in 0..1000 {
                let times = Times { age: Duration::ZERO, round_trip: Duration::ZERO, longest: Duration::ZERO };
                let pause = pacer.conflict(1, times, &contenders, &mut rng);
                assert!(pause.is_none_or(|pause| pause >= SHORTEST_SLEEP), "{pause:?}");
            }
        }
    }
}

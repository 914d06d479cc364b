//! Decides the delay between a conflict and the next attempt. Also decides whether the attempt starts
//! from the item that the conflict returned, or reads the item again.

use std::time::Duration;

use crate::clock::Instant;

/// The reaction of a read-modify-write call to conflicts.
///
/// The first attempts after a conflict follow immediately, and start from the item that the
/// conflict returned. Before each later attempt, the call sleeps and then reads the item again. The
/// call computes the write rate of the item from the growth of its version. Above 0.6 writes per
/// round trip, the sleep doubles. Below 0.3 writes per round trip, the sleep halves. The sleep
/// stays between one and fifty round trips. The numbers of this rule come from a simulation.
///
/// An item takes about one write per round trip. If the load is higher for longer than the
/// deadline, some calls fail. To avoid such failures, use a longer deadline, or fewer writers per
/// item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Pace {
    /// Allows six immediate attempts. This pace has the shortest delay for a few writers, and the
    /// most refused writes.
    Latency,
    /// Allows three immediate attempts for items up to 1 KB, two attempts up to 4 KB, and one
    /// attempt for larger items.
    #[default]
    Balanced,
    /// Allows no immediate attempt, and uses long sleeps with full jitter. This pace uses the
    /// fewest write units.
    Economy,
}

/// The next step after a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConflictStep {
    /// The call attempts again immediately, from the item that the conflict returned.
    AtOnce,
    /// The call sleeps, then reads the item again. An item that was read before the sleep may be
    /// outdated.
    Sleep(Duration),
}

/// The conflicts and sleeps of one call.
#[derive(Debug)]
pub(crate) struct ConflictBackoff {
    mode: Pace,
    failures: u32,
    window: Option<Duration>,
    busy: f64,
    returned: Option<(u64, Instant)>,
}

impl ConflictBackoff {
    pub(crate) fn new(mode: Pace) -> Self {
        Self { mode, failures: 0, window: None, busy: 0.0, returned: None }
    }

    /// Returns the next step after a conflict with an item of this size and version.
    pub(crate) fn conflict(
        &mut self,
        size: usize,
        version: u64,
        now: Instant,
        srtt: Duration,
        rng: &mut fastrand::Rng,
    ) -> ConflictStep {
        self.failures = self.failures.saturating_add(1);
        self.returned = Some((version, now));
        if self.failures <= self.budget(size) {
            return ConflictStep::AtOnce;
        }
        let window = match self.mode {
            Pace::Economy => self.economy_window(srtt),
            Pace::Latency | Pace::Balanced => self.busy_window(srtt),
        };
        self.window = Some(window);
        // The jitter covers the whole window, so that the writers of one conflict do not meet
        // again.
        ConflictStep::Sleep(window.mul_f64(rng.f64()).max(SHORTEST_SLEEP))
    }

    /// Records the version from the read after a sleep.
    pub(crate) fn read(&mut self, version: u64, now: Instant, srtt: Duration) {
        let Some((before, at)) = self.returned else { return };
        let elapsed = now.duration_since(at).max(SHORTEST_SLEEP);
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no more than 52 bits")]
        let writes = version.saturating_sub(before) as f64;
        self.busy = writes / elapsed.as_secs_f64() * srtt.as_secs_f64();
    }

    // A refused write costs as many write units as an applied one, so large items get fewer
    // immediate attempts.
    fn budget(&self, size: usize) -> u32 {
        const KB: usize = 1024;
        match self.mode {
            Pace::Latency => 6,
            Pace::Economy => 0,
            Pace::Balanced if size <= KB => 3,
            Pace::Balanced if size <= 4 * KB => 2,
            Pace::Balanced => 1,
        }
    }

    /// Returns twice the window if the item was busy during the sleep, or half of the window if the
    /// item was idle.
    fn busy_window(&self, srtt: Duration) -> Duration {
        let window = match self.window {
            None => 4 * srtt,
            Some(window) if self.busy > 0.6 => 2 * window,
            Some(window) if self.busy < 0.3 => window / 2,
            Some(window) => window,
        };
        window.clamp(srtt, 50 * srtt)
    }

    fn economy_window(&self, srtt: Duration) -> Duration {
        self.window.map_or(10 * srtt, |window| 2 * window).min(200 * srtt)
    }
}

/// The shortest sleep, which is the resolution of the timer. A pause is never zero.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    const SRTT: Duration = Duration::from_millis(5);

    fn steps(mode: Pace, size: usize, count: usize) -> Vec<ConflictStep> {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut pacer = ConflictBackoff::new(mode);
        (0..count).map(|_| pacer.conflict(size, 1, clock::now(), SRTT, &mut rng)).collect()
    }

    fn immediate(mode: Pace, size: usize) -> usize {
        steps(mode, size, 10).iter().take_while(|step| **step == ConflictStep::AtOnce).count()
    }

    #[test]
    fn the_immediate_budget_follows_mode_and_size() {
        assert_eq!(immediate(Pace::Balanced, 1024), 3);
        assert_eq!(immediate(Pace::Balanced, 1025), 2);
        assert_eq!(immediate(Pace::Balanced, 4097), 1);
        assert_eq!(immediate(Pace::Latency, 400_000), 6);
        assert_eq!(immediate(Pace::Economy, 1), 0);
    }

    #[test]
    fn sleeps_follow_how_busy_the_item_is() {
        let mut pacer = ConflictBackoff::new(Pace::Balanced);
        assert_eq!(pacer.busy_window(SRTT), 4 * SRTT);
        pacer.window = Some(4 * SRTT);
        for (busy, window) in [(0.7, 8), (0.5, 4), (0.2, 2)] {
            pacer.busy = busy;
            assert_eq!(pacer.busy_window(SRTT), window * SRTT);
        }
        pacer.busy = 1.0;
        pacer.window = Some(50 * SRTT);
        assert_eq!(pacer.busy_window(SRTT), 50 * SRTT);
        pacer.busy = 0.0;
        pacer.window = Some(SRTT);
        assert_eq!(pacer.busy_window(SRTT), SRTT);
    }

    #[tokio::test(start_paused = true)]
    async fn busy_is_writes_per_round_trip() {
        let mut pacer = ConflictBackoff::new(Pace::Economy);
        let mut rng = fastrand::Rng::with_seed(7);
        let start = clock::now();
        pacer.conflict(1, 10, start, SRTT, &mut rng);
        pacer.read(20, start + Duration::from_millis(50), SRTT);
        assert!((pacer.busy - 1.0).abs() < 1e-9, "{}", pacer.busy);
    }

    #[test]
    fn no_sleep_is_zero() {
        let mut rng = fastrand::Rng::with_seed(7);
        for mode in [Pace::Latency, Pace::Balanced, Pace::Economy] {
            let mut pacer = ConflictBackoff::new(mode);
            for _ in 0..1000 {
                match pacer.conflict(1, 1, clock::now(), Duration::ZERO, &mut rng) {
                    ConflictStep::AtOnce => {}
                    ConflictStep::Sleep(pause) => assert!(pause >= SHORTEST_SLEEP, "{pause:?}"),
                }
            }
        }
    }
}

use std::time::Duration;

/// Exponential backoff with equal jitter, as in the article "Exponential Backoff and Jitter" of the
/// AWS Architecture Blog (2015). The length of each pause is random: at least one half of a
/// maximum, and at most the maximum. The maximum of a pause doubles with each further failed
/// request, up to a fixed limit.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The maximum of the first pause, unless the caller of `next` passes another maximum.
    pub(crate) const FIRST: Duration = Duration::from_millis(25);

    const LONGEST: Duration = Duration::from_secs(1);

    /// `first` is the maximum of the first pause.
    pub(crate) fn next(&mut self, first: Duration, rng: &mut fastrand::Rng) -> Duration {
        self.next_up_to(Self::LONGEST, first, rng)
    }

    pub(crate) fn next_up_to(&mut self, longest: Duration, first: Duration, rng: &mut fastrand::Rng) -> Duration {
        // The limit of ten doublings prevents an overflow, and lets a window of one millisecond
        // grow to one second.
        let window = first.saturating_mul(1 << self.failures.min(10)).min(longest);
        self.failures += 1;
        Self::jittered(window, rng)
    }

    pub(crate) fn jittered(longest: Duration, rng: &mut fastrand::Rng) -> Duration {
        longest.mul_f64(0.5 + 0.5 * rng.f64())
    }

    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_to_its_cap_and_is_never_zero() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..20).map(|_| backoff.next(Backoff::FIRST, &mut rng)).collect();
        assert!((Duration::from_micros(12_500)..=Duration::from_millis(25)).contains(&pauses[0]), "{pauses:?}");
        assert!((Duration::from_millis(25)..=Duration::from_millis(50)).contains(&pauses[1]), "{pauses:?}");
        assert!(
            pauses[6..].iter().all(|pause| (Backoff::LONGEST / 2..=Backoff::LONGEST).contains(pause)),
            "{pauses:?}"
        );
        backoff.reset();
        assert!(backoff.next(Backoff::FIRST, &mut rng) <= Backoff::FIRST);
    }
}

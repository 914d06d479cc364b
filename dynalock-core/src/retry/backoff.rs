//! The pauses before retries of a request. The library retries a request if DynamoDB throttled the
//! request, if the reply was lost, or if DynamoDB refused the request because of another running
//! transaction.

use std::time::Duration;

/// Exponential backoff with equal jitter. A pause is a random time between one half of the current
/// time window and the whole window, so a pause is never zero.
///
/// The caller of [`next`](Self::next) gives the length of the first time window. The window doubles
/// with each failed request, up to one second. The article "Exponential Backoff and Jitter" in the
/// AWS Architecture Blog (2015) describes the method.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The usual length of the first time window, for example after a throttled request.
    pub(crate) const FIRST: Duration = Duration::from_millis(25);

    const LONGEST: Duration = Duration::from_secs(1);

    /// Returns the pause after one more failed request. `first` is the length of the first time
    /// window.
    pub(crate) fn next(&mut self, first: Duration, rng: &mut fastrand::Rng) -> Duration {
        // Even from one millisecond, ten doublings reach one second, the longest window. The bound
        // of ten keeps the shift in range.
        let window = first.saturating_mul(1 << self.failures.min(10)).min(Self::LONGEST);
        self.failures += 1;
        window.mul_f64(0.5 + 0.5 * rng.f64())
    }

    /// Starts again with the first time window. A call invokes `reset` after each answer of
    /// DynamoDB.
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

//! Computes the pause after a request that was throttled, was lost, or was refused because of
//! another transaction.

use std::time::Duration;

/// Exponential backoff with equal jitter. A pause is between half of the window and the whole
/// window, so a pause is never zero.
///
/// The first window has a given length. The window doubles with each failure, by default up to one
/// second. See
/// "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The length of the first window after a throttled request, or after a refusal because of
    /// another transaction.
    pub(crate) const FIRST: Duration = Duration::from_millis(25);

    const LONGEST: Duration = Duration::from_secs(1);

    /// Returns the next pause. `first` is the length of the first window.
    pub(crate) fn next(&mut self, first: Duration, rng: &mut fastrand::Rng) -> Duration {
        self.next_up_to(Self::LONGEST, first, rng)
    }

    /// Returns the next pause like [`next`](Self::next), with another length of the longest window.
    pub(crate) fn next_up_to(&mut self, longest: Duration, first: Duration, rng: &mut fastrand::Rng) -> Duration {
        // After ten doublings, a window of a millisecond has reached the longest window. The bound
        // keeps the shift in range.
        let window = first.saturating_mul(1 << self.failures.min(10)).min(longest);
        self.failures += 1;
        window.mul_f64(0.5 + 0.5 * rng.f64())
    }

    /// Starts again with the first window, because DynamoDB has answered.
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

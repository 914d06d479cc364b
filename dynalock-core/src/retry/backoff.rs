//! The pauses before retries of a request. The library retries a request after throttling, after a
//! lost reply, or after a refusal because of a running transaction.

use std::time::Duration;

/// Exponential backoff with equal jitter. Each pause is a random time between one half of a time
/// window and the whole window, so a pause is never zero.
///
/// The caller of [`next`](Self::next) passes the length of the window for the first pause. The time
/// window of the pauses doubles with each further failed request, by default up to one second. The
/// article "Exponential Backoff and Jitter" in the AWS Architecture Blog (2015) describes
/// exponential backoff with equal jitter.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The usual length of the time window for the first pause, for example after a throttled
    /// request.
    pub(crate) const FIRST: Duration = Duration::from_millis(25);

    const LONGEST: Duration = Duration::from_secs(1);

    /// Counts a failed request, and returns the pause before the retry. `first` is the length of
    /// the time window for the first pause.
    pub(crate) fn next(&mut self, first: Duration, rng: &mut fastrand::Rng) -> Duration {
        self.next_up_to(Self::LONGEST, first, rng)
    }

    /// Returns the next pause like [`next`](Self::next), but with time windows of at most
    /// `longest`.
    pub(crate) fn next_up_to(&mut self, longest: Duration, first: Duration, rng: &mut fastrand::Rng) -> Duration {
        // A limit of ten doublings prevents an overflow of the bit shift. After ten doublings, a
        // window of one millisecond is as long as the default maximum of one second.
        let window = first.saturating_mul(1 << self.failures.min(10)).min(longest);
        self.failures += 1;
        window.mul_f64(0.5 + 0.5 * rng.f64())
    }

    /// A call invokes `reset` after each answer of DynamoDB.
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

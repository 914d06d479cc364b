use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use crate::clock::Instant;

/// A token bucket for retries. A retry after a throttled request or a lost reply takes one token
/// from the bucket. A successful request or a false condition returns half a token to the bucket,
/// and the bucket regains ten tokens per second. If at most a third of all requests are throttled
/// or lose their replies, the bucket of retry tokens does not become empty. When the bucket of
/// retry tokens is empty, the client sends only the first attempt of each request. A retry after a
/// conflict takes no token, because a conflict shows that DynamoDB works.
///
/// The budgets of `tower::retry` and of Finagle also allow ten retries per second, so that a
/// program with few requests does not lose its retries.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    half_tokens: AtomicI64,
    /// The time until which `half_tokens` contains the regained tokens.
    regained_until: Mutex<Instant>,
}

impl RetryBudget {
    /// The number of retries that a full retry budget allows.
    pub(crate) const CAPACITY: i64 = 100;

    // The bucket counts half tokens: a retry takes two halves, and a successful request returns one
    // half.
    const RETRY: i64 = 2;
    const SUCCESS: i64 = 1;
    const FULL: i64 = Self::CAPACITY * Self::RETRY;

    /// The time in which the bucket regains half a token.
    const TIME_OF_HALF: Duration = Duration::from_millis(50);

    pub(crate) fn full(now: Instant) -> Self {
        Self { half_tokens: AtomicI64::new(Self::FULL), regained_until: Mutex::new(now) }
    }

    pub(crate) fn withdraw(&self, now: Instant) -> bool {
        self.regain(now);
        let take = |tokens: i64| (tokens >= Self::RETRY).then_some(tokens - Self::RETRY);
        self.half_tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    pub(crate) fn deposit(&self) {
        self.add(Self::SUCCESS);
    }

    /// Adds the tokens of the time since the last withdrawal. Only a withdrawal needs them, so a
    /// successful request takes no lock.
    fn regain(&self, now: Instant) {
        let mut until = self.regained_until.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.saturating_duration_since(*until);
        let halves = u32::try_from(passed.as_millis() / Self::TIME_OF_HALF.as_millis()).unwrap_or(u32::MAX);
        match halves {
            0 => return,
            // The remainder of the time counts for the next half token.
            _ => *until = now - (passed.saturating_sub(Self::TIME_OF_HALF.saturating_mul(halves))),
        }
        self.add(i64::from(halves));
    }

    fn add(&self, halves: i64) {
        let add = |tokens: i64| (tokens < Self::FULL).then_some((tokens + halves).min(Self::FULL));
        // `fetch_update` fails only if the bucket is full.
        let _ = self.half_tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::RetryBudget;
    use crate::clock;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn an_outage_is_met_with_a_bounded_number_of_retries() {
        let now = clock::now();
        let budget = RetryBudget::full(now);
        let granted = (0..1000).filter(|_| budget.withdraw(now)).count();
        assert_eq!(granted, 100);
    }

    #[test]
    fn two_successes_pay_for_one_retry_and_a_full_bucket_takes_no_more() {
        let now = clock::now();
        let budget = RetryBudget::full(now);
        budget.deposit();
        assert_eq!((0..1000).filter(|_| budget.withdraw(now)).count(), 100);
        budget.deposit();
        assert!(!budget.withdraw(now));
        budget.deposit();
        assert!(budget.withdraw(now));
    }

    #[test]
    fn ten_retries_come_back_in_a_second_and_at_most_a_full_bucket() {
        let start = clock::now();
        let budget = RetryBudget::full(start);
        assert_eq!((0..1000).filter(|_| budget.withdraw(start)).count(), 100);
        // Each withdrawal keeps the remainder of the time.
        let granted = (1..=100).filter(|nth| budget.withdraw(start + millis(10 * nth))).count();
        assert_eq!(granted, 10);
        let later = start + Duration::from_hours(1);
        assert_eq!((0..1000).filter(|_| budget.withdraw(later)).count(), 100);
        // Another thread may have taken its time earlier.
        assert!(!budget.withdraw(start));
        assert!(budget.withdraw(later + millis(100)));
    }
}

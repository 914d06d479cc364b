use std::sync::atomic::{AtomicI64, Ordering};

/// A token bucket for retries. A retry after a throttled request or a lost reply takes one token
/// from the bucket. A successful request or a false condition returns half a token to the bucket.
/// If at most a third of all requests are throttled or lose their replies, the bucket of retry
/// tokens does not become empty. When the bucket of retry tokens is empty, the client sends only
/// the first attempt of each request. A retry after a conflict takes no token, because a conflict
/// shows that DynamoDB works.
#[derive(Debug)]
pub(crate) struct RetryBudget(AtomicI64);

impl RetryBudget {
    /// The number of retries that a full retry budget allows.
    pub(crate) const CAPACITY: i64 = 100;

    // The bucket counts half tokens: a retry takes two halves, and a successful request returns one
    // half.
    const RETRY: i64 = 2;
    const SUCCESS: i64 = 1;

    pub(crate) fn full() -> Self {
        Self(AtomicI64::new(Self::CAPACITY * Self::RETRY))
    }

    pub(crate) fn withdraw(&self) -> bool {
        let take = |tokens: i64| (tokens >= Self::RETRY).then_some(tokens - Self::RETRY);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    pub(crate) fn deposit(&self) {
        let full = Self::CAPACITY * Self::RETRY;
        let add = |tokens: i64| (tokens < full).then_some(tokens + Self::SUCCESS);
        // `fetch_update` fails only if the bucket is full.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}

#[cfg(test)]
mod tests {
    use super::RetryBudget;

    #[test]
    fn an_outage_is_met_with_a_bounded_number_of_retries() {
        let budget = RetryBudget::full();
        let granted = (0..1000).filter(|_| budget.withdraw()).count();
        assert_eq!(granted, 100);
    }

    #[test]
    fn two_successes_pay_for_one_retry_and_a_full_bucket_takes_no_more() {
        let budget = RetryBudget::full();
        budget.deposit();
        assert_eq!((0..1000).filter(|_| budget.withdraw()).count(), 100);
        budget.deposit();
        assert!(!budget.withdraw());
        budget.deposit();
        assert!(budget.withdraw());
    }
}

//! All functions of the library that read a clock or sleep. The library reads the time only from
//! tokio's clock, so that a test can pause the clock.

#![expect(clippy::disallowed_methods, reason = "this is the clock that all others use")]

use std::{
    future::Future,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

pub(crate) use tokio::time::Instant;

pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Returns the output of the future, or `None` if the future takes longer than `duration`.
pub(crate) async fn within<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(duration, future).await.ok()
}

/// Returns the current time in epoch milliseconds. In a test that pauses tokio's clock, the
/// returned time advances only with tokio's clock.
pub(crate) fn epoch_millis() -> u64 {
    // Tokio's clock differs from the real clock only in a test that pauses tokio's clock. Tokio's
    // clock can be ahead of the real clock or behind the real clock. A `Duration` cannot be
    // negative, so the code computes the difference in both directions. A saturating subtraction
    // returns zero instead of a negative difference.
    let (system, own, tokio) = (SystemTime::now(), std::time::Instant::now(), Instant::now().into_std());
    let ahead = system.duration_since(UNIX_EPOCH).unwrap_or_default() + tokio.saturating_duration_since(own);
    let epoch = ahead.saturating_sub(own.saturating_duration_since(tokio));
    millis(epoch)
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Lets a test set the clock of one repository or lock client forward or back, so that the clocks
/// of clients differ.
pub trait ClockAhead {
    /// Sets the clock of the repository or lock client forward by `millis` milliseconds. A negative
    /// number of milliseconds sets the clock back.
    fn clock_ahead_by_millis(self, millis: i64) -> Self;
}

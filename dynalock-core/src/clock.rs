//! All functions of the library that read a clock or sleep. All times that the library reads follow
//! tokio's clock. A test can pause tokio's clock.

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

pub(crate) async fn within<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(duration, future).await.ok()
}

pub(crate) fn epoch_millis() -> u64 {
    // Tokio's clock differs from the real clock only in a test that pauses tokio's clock. A
    // `Duration` cannot be negative, so the code adds the lead of tokio's clock over the real
    // clock, and subtracts the lag.
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

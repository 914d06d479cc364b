//! The only reader of clocks. Tokio's, so that a test may pause it.

#![expect(clippy::disallowed_methods, reason = "this is the clock that all others use")]

use std::{
    future::Future,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

pub(crate) use tokio::time::Instant;

/// This moment.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits.
pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// The future's output, or nothing if it takes longer.
pub(crate) async fn within<F: Future>(duration: Duration, future: F) -> Option<F::Output> {
    tokio::time::timeout(duration, future).await.ok()
}

/// The time of day in epoch milliseconds. It moves with tokio's clock where a test has paused that.
pub(crate) fn epoch_millis() -> u64 {
    let (system, own, tokio) = (SystemTime::now(), std::time::Instant::now(), Instant::now().into_std());
    let ahead = system.duration_since(UNIX_EPOCH).unwrap_or_default() + tokio.saturating_duration_since(own);
    let epoch = ahead.saturating_sub(own.saturating_duration_since(tokio));
    u64::try_from(epoch.as_millis()).unwrap_or(u64::MAX)
}

/// Sets the clock of one client forward or back, for tests of clocks that differ.
pub trait ClockAhead {
    /// Sets it forward by this time, or back if that is negative.
    fn clock_ahead_by_millis(self, millis: i64) -> Self;
}

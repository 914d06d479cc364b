//! The only reader of clocks. Tokio's, so that a test may pause it.

#![expect(clippy::disallowed_methods, reason = "this is the clock that all others use")]

use std::{future::Future, time::Duration};

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

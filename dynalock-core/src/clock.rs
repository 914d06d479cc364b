//! The only reader of clocks. Tokio's, so that a test may pause it.

use std::{future::Future, time::Duration};

pub(crate) use tokio::time::Instant;

/// The time, and how to wait for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock;

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) fn now(self) -> Instant {
        Instant::now()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) async fn sleep(self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    /// The future's output, or nothing if it takes longer.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub(crate) async fn within<F: Future>(self, duration: Duration, future: F) -> Option<F::Output> {
        tokio::time::timeout(duration, future).await.ok()
    }
}

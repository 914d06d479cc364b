//! The virtual clock of a run.

use std::time::Duration;

use tokio::time::Instant;

#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
pub(crate) async fn sleep(time: Duration) {
    tokio::time::sleep(time).await;
}

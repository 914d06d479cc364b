//! Reads the clock for all modules of the crate. The crate reads all times from tokio's clock, so
//! that a test can pause the clock.

use std::time::Duration;

use tokio::time::{self, Instant};

#[expect(clippy::disallowed_methods, reason = "this is the clock that is passed in elsewhere")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "this is the clock that is passed in elsewhere")]
pub(crate) async fn sleep(time: Duration) {
    time::sleep(time).await;
}

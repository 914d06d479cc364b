//! The clocks and the pauses of the whole command line.

#![expect(clippy::disallowed_methods, reason = "this is the clock that all others use")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_smithy_types::{DateTime, date_time::Format};

pub(crate) use tokio::time::Instant;

pub(crate) fn now() -> Instant {
    Instant::now()
}

pub(crate) async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Returns the time since the epoch by the clock of this machine.
pub(crate) fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Returns the current moment in RFC 3339, to the second.
pub(crate) fn moment() -> String {
    rfc3339(i64::try_from(since_epoch().as_secs()).unwrap_or(i64::MAX))
}

/// Returns a moment in RFC 3339, or the number of seconds if RFC 3339 has no notation for the
/// moment.
pub(crate) fn rfc3339(epoch_seconds: i64) -> String {
    DateTime::from_secs(epoch_seconds).fmt(Format::DateTime).unwrap_or_else(|_| format!("{epoch_seconds} s"))
}

pub(super) const CALLS: &str = "dynalock_calls_total";
pub(super) const CALL_DURATION: &str = "dynalock_call_duration_seconds";
pub(super) const REQUESTS: &str = "dynalock_requests_total";
pub(super) const CONFLICTS: &str = "dynalock_conflicts_total";
pub(super) const RETRIES: &str = "dynalock_retries_total";
pub(super) const LOST_REPLIES: &str = "dynalock_lost_replies_total";
pub(super) const LOCK_WAIT: &str = "dynalock_lock_wait_seconds";
pub(super) const LEASES_LOST: &str = "dynalock_leases_lost_total";
pub(super) const HEARTBEATS_FAILED: &str = "dynalock_heartbeats_failed_total";
pub(super) const BATCH_CALLS: &str = "dynalock_batch_calls";

#[cfg(feature = "metrics")]
macro_rules! count {
    ($name:expr, $($label:literal => $value:expr),+) => {
        ::metrics::counter!($name, $($label => $value),+).increment(1)
    };
}

#[cfg(not(feature = "metrics"))]
macro_rules! count {
    ($name:expr, $($label:literal => $value:expr),+) => {{
        let _ = ($name, $($value),+);
    }};
}

#[cfg(feature = "metrics")]
macro_rules! measure {
    ($name:expr, $measured:expr, $($label:literal => $value:expr),+) => {
        ::metrics::histogram!($name, $($label => $value),+).record($measured)
    };
}

#[cfg(not(feature = "metrics"))]
macro_rules! measure {
    ($name:expr, $measured:expr, $($label:literal => $value:expr),+) => {{
        let _ = ($name, $measured, $($value),+);
    }};
}

pub(super) use {count, measure};

/// Tells the installed metrics recorder the descriptions and units of all metrics of the library.
/// Call `describe` once, after the program has installed its metrics recorder.
///
/// # Examples
///
/// ```
/// // A program first installs a recorder, for example the recorder of `metrics-exporter-prometheus`.
/// dynalock_core::metrics::describe();
/// ```
#[cfg(feature = "metrics")]
pub fn describe() {
    use ::metrics::{Unit, describe_counter, describe_histogram};

    describe_counter!(CALLS, "Calls of the library, by operation, table and outcome");
    describe_histogram!(CALL_DURATION, Unit::Seconds, "Time of a call, with its retries and pauses");
    describe_counter!(REQUESTS, "Requests to DynamoDB, by request, table and outcome");
    describe_counter!(CONFLICTS, "Writes that lost the race against another writer");
    describe_counter!(RETRIES, "Requests that were sent again, by reason");
    describe_counter!(LOST_REPLIES, "Writes with a lost reply, by what the library found out");
    describe_histogram!(LOCK_WAIT, Unit::Seconds, "Time until locks were granted or their wait ended");
    describe_counter!(LEASES_LOST, "Leases that ended before their holder released them, by reason");
    describe_counter!(HEARTBEATS_FAILED, "Heartbeats that failed, by error");
    describe_histogram!(BATCH_CALLS, Unit::Count, "Calls in a batch of combined calls");
}

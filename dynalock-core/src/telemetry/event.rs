use std::{sync::Arc, time::Duration};

use tracing::{Span, debug, info_span, warn};

use super::{
    SYSTEM, TARGET,
    call::{current, current_span},
    metric::{BATCH_CALLS, HEARTBEATS_FAILED, LEASES_LOST, LOCK_WAIT, LOST_REPLIES, RETRIES, count, measure},
};
use crate::error::{CancellationClass, Error, Lost};

/// `Unknown` means that the library could not find out whether DynamoDB has applied the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LostReply {
    Applied,
    NotApplied,
    Unknown,
}

impl LostReply {
    fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::NotApplied => "not_applied",
            Self::Unknown => "unknown",
        }
    }
}

pub(crate) fn conflict(pause: Duration) {
    debug!(target: TARGET, { dynalock.pause_ms = millis(pause) }, "conflict");
    if let Some(call) = current() {
        call.count_conflict();
    }
}

/// `last` is the error of the attempt before the retry.
pub(crate) fn retry(last: &Error, pause: Duration) {
    let reason = reason(last);
    let (pause, kind) = (millis(pause), last.kind());
    debug!(target: TARGET, { dynalock.reason = reason, dynalock.pause_ms = pause, "error.type" = kind, error = %last }, "retry");
    if let Some(call) = current() {
        call.count_retry();
        count!(RETRIES, "operation" => call.operation, "table" => call.table(), "reason" => reason);
    }
}

fn reason(last: &Error) -> &'static str {
    match last {
        Error::Contention(_) => "contention",
        Error::Cancelled(cancelled) if cancelled.class() == CancellationClass::Contention => "contention",
        Error::Throttled(_) | Error::Cancelled(_) => "throttled",
        _ => "lost",
    }
}

pub(crate) fn lost_reply(outcome: LostReply) {
    let call = current();
    let (operation, table) = call.map_or(("", Arc::default()), |call| (call.operation, call.table()));
    let name = outcome.name();
    match outcome {
        LostReply::Unknown => warn!(
            target: TARGET,
            { dynalock.outcome = name, db.operation.name = operation, db.collection.name = &*table },
            "lost reply"
        ),
        LostReply::Applied | LostReply::NotApplied => debug!(
            target: TARGET,
            { dynalock.outcome = name, db.operation.name = operation, db.collection.name = &*table },
            "lost reply"
        ),
    }
    count!(LOST_REPLIES, "operation" => operation, "table" => table, "outcome" => name);
}

pub(crate) fn lease_span(table: &str, fence: u64) -> Span {
    let span = info_span!(
        target: TARGET,
        parent: None,
        "lease",
        otel.kind = "internal",
        db.system.name = SYSTEM,
        db.collection.name = table,
        dynalock.fence = fence,
    );
    span.follows_from(current_span());
    span
}

pub(crate) fn heartbeat_failed(table: &Arc<str>, error: &Error) {
    debug!(target: TARGET, { "error.type" = error.kind(), error = %error }, "heartbeat failed");
    count!(HEARTBEATS_FAILED, "table" => Arc::clone(table), "reason" => error.kind());
}

pub(crate) fn lease_lost(lease: &Span, table: &Arc<str>, fence: u64, lost: &Lost) {
    let reason = lost.kind();
    lease.in_scope(|| {
        warn!(
            target: TARGET,
            { dynalock.reason = reason, dynalock.fence = fence, db.collection.name = &**table },
            "lease lost"
        );
    });
    count!(LEASES_LOST, "table" => Arc::clone(table), "reason" => reason);
}

pub(crate) fn queue_position(position: usize, waiting: usize) {
    debug!(target: TARGET, { dynalock.position = position, dynalock.waiting = waiting }, "queue position");
}

pub(crate) fn lock_waited(table: Arc<str>, waited: Duration, outcome: &'static str) {
    debug!(target: TARGET, { dynalock.waited_ms = millis(waited), dynalock.outcome = outcome }, "lock wait");
    measure!(LOCK_WAIT, waited.as_secs_f64(), "table" => table, "outcome" => outcome);
}

pub(crate) fn batch(table: &Arc<str>, calls: usize, runs: u32) {
    debug!(target: TARGET, { dynalock.calls = calls, dynalock.runs = runs }, "batch");
    #[expect(clippy::cast_precision_loss, reason = "a batch has fewer calls than 2^52")]
    let calls = calls as f64;
    measure!(BATCH_CALLS, calls, "table" => Arc::clone(table));
}

/// A failed background task does not change the result of a call, so its event has only the level
/// DEBUG.
pub(crate) fn background_failed(what: &'static str, error: &Error) {
    debug!(target: TARGET, { dynalock.work = what, "error.type" = error.kind(), error = %error }, "background work failed");
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

//! Removes the head of a queue, and an empty queue.

use std::sync::Arc;

use super::request::{DequeueReason, Duplicate};
use crate::{
    clock,
    error::Error,
    lease::{
        options::LeaseOptions,
        record::{LockRecord, Waiters},
        row::Row,
    },
    retry::{Answered, Attempts, Connection, Limits, Purpose, RowSource, SeenRow},
    telemetry,
};

/// The result of a dequeue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DequeueResult {
    Removed,
    /// The head had already been removed, either by another caller or by an earlier attempt whose
    /// reply was lost.
    AlreadyGone,
    StillThere,
}

/// The head in the row that refused the dequeue.
enum HeadSeen {
    Gone,
    /// The row has the same head. This head may be removed.
    Same,
    /// The row has the same head, and its holder has renewed the lease.
    Alive,
}

impl DequeueReason {
    fn head_in(&self, met: &LockRecord) -> HeadSeen {
        let seen = match self {
            Self::Leave { owner, .. } => {
                return if met.place_of(owner) == Some(0) { HeadSeen::Same } else { HeadSeen::Gone };
            }
            Self::Expired(seen) | Self::Operator(seen) => seen,
        };
        match met.head_observation() {
            Some(now) if now == seen => HeadSeen::Same,
            Some(now) if now.is_same_grant(seen) && matches!(self, Self::Operator(_)) => HeadSeen::Same,
            Some(now) if now.is_same_grant(seen) => HeadSeen::Alive,
            Some(_) | None => HeadSeen::Gone,
        }
    }

    /// Returns whether a late copy of the head's enqueue may still arrive, to the caller's
    /// knowledge.
    fn duplicate(&self) -> Duplicate {
        match self {
            Self::Leave { duplicate, .. } => *duplicate,
            Self::Expired(_) | Self::Operator(_) => Duplicate::Impossible,
        }
    }
}

/// Removes the head. If a waiter has entered behind the head in the meantime, a second request is
/// sent.
pub(crate) async fn dequeue(
    row: &Row,
    attempts: &mut Attempts,
    reason: &DequeueReason,
    mut waiters: Waiters,
    options: &LeaseOptions,
) -> Result<DequeueResult, Error> {
    loop {
        let (mut sent, mut now) = (clock::now(), 0);
        let request = || {
            (sent, now) = (clock::now(), options.now());
            row.dequeue(reason, waiters, now)
        };
        let (result, empty_since) = match attempts.write(request).await? {
            Answered::Applied(before) => {
                attempts.connection().local_waiters.share(&row.table, &row.key, || SeenRow {
                    item: before.clone().map(|before| row.after_dequeue(before, now)),
                    sent,
                    source: RowSource::Removal,
                });
                let before = LockRecord::of(&row.layout, before.as_ref());
                // The waiter has left in the meantime, so the request has left an empty queue.
                let was_last = waiters == Waiters::Some && before.waiters() == Waiters::None;
                (DequeueResult::Removed, before.last_fence().filter(|_| was_last))
            }
            Answered::Refused(met) => {
                let met = LockRecord::of(&row.layout, met.as_ref());
                match reason.head_in(&met) {
                    // The request that keeps the queue is also correct for an empty queue. If
                    // DynamoDB refuses it, another reason is permanent. The request is therefore
                    // sent at most twice.
                    HeadSeen::Same if waiters == Waiters::None => {
                        waiters = Waiters::Some;
                        continue;
                    }
                    HeadSeen::Same | HeadSeen::Alive => return Ok(DequeueResult::StillThere),
                    HeadSeen::Gone => (DequeueResult::AlreadyGone, met.fence.filter(|_| met.has_empty_queue)),
                }
            }
        };
        if let Some(fence) = empty_since {
            sweep(row, attempts.connection(), fence, reason.duplicate()).await;
        }
        return Ok(result);
    }
}

/// Removes the head of this record, if its lease has ended.
pub(crate) async fn evict(
    row: &Row,
    attempts: &mut Attempts,
    record: &LockRecord,
    options: &LeaseOptions,
) -> Result<DequeueResult, Error> {
    let Some(head) = record.head_observation() else { return Ok(DequeueResult::AlreadyGone) };
    dequeue(row, attempts, &DequeueReason::Expired(head.clone()), record.waiters(), options).await
}

/// Removes an empty queue. If the request fails, the empty queue stays. An empty queue is harmless,
/// because the next caller can enter it.
pub(crate) async fn sweep(row: &Row, over: &Arc<Connection>, fence: u64, duplicate: Duplicate) {
    let mut attempts = Attempts::new(over, Limits::of_one_request()).with_purpose(Purpose::Poll);
    if let Err(error) = attempts.write(|| row.sweep(fence, duplicate)).await {
        telemetry::background_failed("sweep_queue", &error);
    }
}

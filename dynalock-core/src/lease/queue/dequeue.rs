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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DequeueResult {
    Removed,
    /// Another caller, or an earlier attempt with a lost reply, had already removed the head.
    AlreadyGone,
    StillThere,
}

enum HeadSeen {
    Gone,
    Same,
    /// The head that the caller wants to remove has renewed its lease.
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

    fn duplicate(&self) -> Duplicate {
        match self {
            Self::Leave { duplicate, .. } => *duplicate,
            Self::Expired(_) | Self::Operator(_) => Duplicate::Impossible,
        }
    }
}

/// If DynamoDB refuses to remove the whole queue, a second request removes only the head.
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
                // If the last waiter has left before the removal of the head, the removal leaves an
                // empty queue.
                let was_last = waiters == Waiters::Some && before.waiters() == Waiters::None;
                (DequeueResult::Removed, before.last_fence().filter(|_| was_last))
            }
            Answered::Refused(met) => {
                let met = LockRecord::of(&row.layout, met.as_ref());
                match reason.head_in(&met) {
                    // A request that removes only the head does not depend on waiters, so a second
                    // request makes sense only after a refused removal of the whole queue.
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

pub(crate) async fn evict(
    row: &Row,
    attempts: &mut Attempts,
    record: &LockRecord,
    options: &LeaseOptions,
) -> Result<DequeueResult, Error> {
    let Some(head) = record.head_observation() else { return Ok(DequeueResult::AlreadyGone) };
    dequeue(row, attempts, &DequeueReason::Expired(head.clone()), record.waiters(), options).await
}

/// Removes an empty queue from the row. If the removal of an empty queue fails, callers can still
/// enter the queue.
pub(crate) async fn sweep(row: &Row, over: &Arc<Connection>, fence: u64, duplicate: Duplicate) {
    let mut attempts = Attempts::new(over, Limits::of_one_request()).with_purpose(Purpose::Poll);
    if let Err(error) = attempts.write(|| row.sweep(fence, duplicate)).await {
        telemetry::background_failed("sweep_queue", &error);
    }
}

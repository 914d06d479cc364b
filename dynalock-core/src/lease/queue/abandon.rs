//! Removes the queue entries of callers that stop waiting.

use std::{pin::pin, sync::Arc, time::Duration};

use futures_util::future::{Either, select};
use tokio::task::JoinHandle;

use super::{
    dequeue::{DequeueResult, dequeue},
    request::{DequeueReason, Duplicate},
};
use crate::{
    clock,
    codec::Item,
    error::{Error, Unavailable},
    lease::{
        acquire::{
            acquisition::{Acquisition, Caller, LAST_REQUEST, Stop},
            spec::AcquireSpec,
        },
        record::LockRecord,
    },
    random,
    retry::{Answered, Attempts, Backoff, Limits, PendingGuard, Purpose},
    telemetry::{self, detached},
};

/// Starts a background removal of a caller's entry from the queue of each lock.
pub(crate) fn abandon_later<'a>(all: impl Iterator<Item = &'a AcquireSpec>, owner: &Arc<str>, duplicate: Duplicate) {
    for spec in all {
        drop(begin(spec, owner, duplicate));
    }
}

/// Removes a caller's entry from the queue of each lock, and waits a short time for DynamoDB's
/// answers. If DynamoDB answers in time, the queues no longer contain the caller's entries when the
/// call ends.
pub(crate) async fn abandon_at_the_end<'a>(
    all: impl Iterator<Item = &'a AcquireSpec>,
    owner: &Arc<str>,
    duplicate: Duplicate,
) {
    let tasks: Vec<_> = all.map(|spec| begin(spec, owner, duplicate)).collect();
    let done = async {
        for task in tasks {
            drop(task.await);
        }
    };
    // If the removal of a queue entry takes longer than `LAST_REQUEST`, the removal continues in
    // the background.
    let _ = clock::within(LAST_REQUEST, done).await;
}

/// Waits until the client has removed the entries of its earlier calls from the queue. If calls did
/// not wait for removals, a client with a broken connection could fill the queue with the entries
/// of ended calls.
pub(crate) async fn after_abandoned(acquisition: &Acquisition<'_>, caller: &mut Caller) -> Result<(), Stop> {
    let AcquireSpec { row, connection, limits, .. } = acquisition.spec;
    let id = row.id();
    let (done, gone) = (pin!(connection.abandoned.done(&id)), pin!(caller.closed()));
    match clock::within(acquisition.deadline(*limits), select(done, gone)).await {
        Some(Either::Left(_)) => Ok(()),
        Some(Either::Right(_)) => Err(Stop::CallerGone),
        None => Err(acquisition.exhausted(Unavailable::Timeout).into()),
    }
}

fn begin(spec: &AcquireSpec, owner: &Arc<str>, duplicate: Duplicate) -> JoinHandle<()> {
    // If DynamoDB has not answered the call's request, the connection may be broken. The code
    // registers the removal of the queue entry before the removal task runs, so that the next call
    // of the client waits for the removal.
    let pending = (duplicate == Duplicate::Possible).then(|| spec.connection.abandoned.begin(spec.row.id()));
    let leave = leave(spec.clone(), Arc::clone(owner), duplicate, pending);
    tokio::spawn(detached("leave_queue", Arc::clone(&spec.row.table), leave, |()| None))
}

/// Removes a caller's entry from any position in the queue. The attempts to remove the queue entry
/// end after ten minutes, or after a ttl if the ttl is longer than ten minutes.
///
/// A queue entry without a waiting caller delays all later queue entries by one ttl. A client that
/// gets no answers could fill the queue with the entries of ended calls. A later call of the client
/// therefore waits until these entries are removed ([`after_abandoned`]).
async fn leave(spec: AcquireSpec, owner: Arc<str>, duplicate: Duplicate, mut pending: Option<PendingGuard>) {
    const LONGEST: Duration = Duration::from_mins(10);
    let started = clock::now();
    let (mut backoff, mut rng) = (Backoff::default(), random::generator());
    // The attempts to remove a queue entry do not use the retry budget of the calls, because the
    // attempts must continue during an outage.
    while let Err(error) = try_to_leave(&spec, &owner, duplicate).await {
        telemetry::background_failed("leave_queue", &error);
        if matches!(error, Error::TableNotFound { .. }) {
            return;
        }
        pending.get_or_insert_with(|| spec.connection.abandoned.begin(spec.row.id()));
        let pause = backoff.next(Backoff::FIRST, &mut rng);
        if clock::now().duration_since(started) + pause >= spec.options.ttl.max(LONGEST) {
            return;
        }
        clock::sleep(pause).await;
    }
}

/// A failed request ends the attempt.
async fn try_to_leave(spec: &AcquireSpec, owner: &Arc<str>, duplicate: Duplicate) -> Result<(), Error> {
    let AcquireSpec { row, options, limits, .. } = spec;
    let read = |item: Option<Item>| LockRecord::of(&row.layout, item.as_ref());
    let attempt_timeout = limits.attempt_timeout.saturating_mul(2);
    let limits = Limits { attempt_timeout, ..Limits::of_one_request() };
    let mut attempts = Attempts::new(&spec.connection, limits).with_purpose(Purpose::Poll);
    let mut record = read(attempts.read(&row.get(true)).await?);
    // The loop ends, because a queue entry only moves towards the head of the queue.
    while let Some(place) = record.place_of(owner) {
        if place == 0 {
            let reason = DequeueReason::Leave { owner: Arc::clone(owner), duplicate };
            return match dequeue(row, &mut attempts, &reason, record.waiters(), options).await? {
                DequeueResult::Removed | DequeueResult::AlreadyGone => Ok(()),
                DequeueResult::StillThere => Err(attempts.too_late()),
            };
        }
        record = match attempts.write(|| row.abandon(owner, place)).await? {
            Answered::Applied(_) => return Ok(()),
            Answered::Refused(met) => read(met),
        };
        // DynamoDB refused to remove the queue entry, although the entry has not moved towards the
        // head of the queue. The next attempt to remove the entry reads the row of the lock again.
        if record.place_of(owner).is_some_and(|now| now >= place) {
            return Err(attempts.too_late());
        }
    }
    Ok(())
}

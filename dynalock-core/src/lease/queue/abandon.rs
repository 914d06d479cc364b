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

pub(crate) fn abandon_later<'a>(all: impl Iterator<Item = &'a AcquireSpec>, owner: &Arc<str>, duplicate: Duplicate) {
    for spec in all {
        drop(begin(spec, owner, duplicate));
    }
}

/// Removes the caller's entries from the queues, and waits at most [`LAST_REQUEST`] for the
/// removal.
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
    // After `LAST_REQUEST`, the removal of the entries continues in the background.
    let _ = clock::within(LAST_REQUEST, done).await;
}

/// Waits until the client has removed the entries of its earlier calls from the queue.
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
    // registers the removal of the entry before the removal task runs, so that the next call of the
    // client waits for the removal.
    let pending = (duplicate == Duplicate::Possible).then(|| spec.connection.abandoned.begin(spec.row.id()));
    let leave = leave(spec.clone(), Arc::clone(owner), duplicate, pending);
    tokio::spawn(detached("leave_queue", Arc::clone(&spec.row.table), leave, |()| None))
}

/// The attempts to remove the queue entry end after ten minutes, or after one ttl if the ttl is
/// longer than ten minutes.
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
        // DynamoDB refused the removal of an entry that has not moved, so the next attempt reads
        // the row again.
        if record.place_of(owner).is_some_and(|now| now >= place) {
            return Err(attempts.too_late());
        }
    }
    Ok(())
}

use std::sync::Arc;

use super::{
    acquisition::{Acquired, Acquisition, AttemptResult, Caller, Denial, Order, Stop, at_the_end},
    rows::{denials, read_rows, transact},
    spec::AcquireSpec,
};
use crate::{
    clock,
    error::Error,
    lease::{clause::Expired, held_grant::KeptGrant, record::LockRecord, row::AcquireFields},
    retry::{Attempts, Backoff, Limits},
};

/// Acquires all locks by one transaction. While the call waits, it holds none of the locks, so two
/// calls for the same locks cannot deadlock.
pub(super) async fn acquire_all(
    specs: &[AcquireSpec],
    limits: Limits,
    caller: &mut Caller,
) -> Result<Vec<KeptGrant>, Stop> {
    // After a lost reply, the owner text in the row of each lock shows whether DynamoDB has applied
    // the transaction.
    let owner = specs[0].owner();
    let mut all: Vec<_> = specs.iter().map(|spec| Acquisition::new(spec, Order::Any, Arc::clone(&owner))).collect();
    let granted = acquire_together(&mut all, limits, caller).await;
    granted.map_err(|stop| at_the_end(stop, &all))
}

async fn acquire_together(
    all: &mut [Acquisition<'_>],
    limits: Limits,
    caller: &mut Caller,
) -> Result<Vec<KeptGrant>, Stop> {
    let mut backoff = Backoff::default();
    loop {
        all.iter_mut().for_each(Acquisition::begin_attempt);
        let denied = match attempt(all, limits).await {
            Ok(AttemptResult::Granted(granted)) => {
                let mut kept = Vec::with_capacity(granted.len());
                for (acquisition, acquired) in all.iter().zip(granted) {
                    kept.push(acquisition.keep(acquired).await?);
                }
                return Ok(kept);
            }
            Ok(AttemptResult::Denied(denied)) => denied,
            Ok(AttemptResult::GrantOver) => {
                renew_owner(all);
                all[0].pause_before_retry(&mut backoff).await?;
                continue;
            }
            Err(error) => {
                // If the reply to the transaction was lost, DynamoDB may have granted the locks.
                give_back(all);
                return Err(error.into());
            }
        };
        // A refusal because of a lock without another holder shows that an earlier grant to this
        // call has ended. After the end of a grant, the next attempt needs a new owner text.
        if !denied.iter().all(|denial| denial.record.is_held_by_another(&all[0].owner)) {
            renew_owner(all);
        }
        for Denial { index, record } in denied {
            all[index].after_denial(record, caller).await?;
        }
    }
}

async fn attempt(all: &[Acquisition<'_>], limits: Limits) -> Result<AttemptResult<Vec<Acquired>, Vec<Denial>>, Error> {
    let first = &all[0];
    let mut attempts = first.attempts_within(limits);
    // All attempts of the transaction send the same request. The leases begin before the first
    // attempt, because DynamoDB does not report which attempt was applied.
    let sent = clock::now();
    let writes = all.iter().map(|Acquisition { spec, owner, .. }| {
        let (now, until) = (spec.options.now(), spec.options.until());
        let fields = AcquireFields { owner, until, now, payload: spec.payload.as_deref() };
        spec.row.acquire(&fields, &Expired::Nobody)
    });
    match transact(&mut attempts, first.spec, writes).await? {
        None if clock::now().duration_since(sent) < first.spec.options.ttl / 2 => {
            return read(all, &mut attempts, sent).await;
        }
        None => {}
        Some(reasons) => {
            let denied = denials(all.iter().map(|acquisition| acquisition.spec), reasons);
            if !denied.iter().any(|denial| denial.record.owner.as_deref() == Some(&*first.owner)) {
                return Ok(AttemptResult::Denied(denied));
            }
        }
    }
    // The answer took half a ttl or longer, or DynamoDB applied a repetition of the transaction at
    // an unknown time. The call therefore renews each lease by a heartbeat.
    let result = read(all, &mut attempts, clock::now()).await?;
    if let AttemptResult::Granted(granted) = &result {
        for Acquired { grant, .. } in granted {
            match first.beat_in_time(grant, None).await {
                Ok(()) => {}
                Err(Error::Lost(lost)) if lost.is_over() => return Ok(AttemptResult::GrantOver),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(result)
}

/// Reads the fences of the locks, because the answer to a transaction does not contain them.
async fn read(
    all: &[Acquisition<'_>],
    attempts: &mut Attempts,
    sent: clock::Instant,
) -> Result<AttemptResult<Vec<Acquired>, Vec<Denial>>, Error> {
    let rows = read_rows(attempts, all.iter().map(|acquisition| acquisition.spec)).await?;
    let mut granted = Vec::with_capacity(all.len());
    let mut denied = Vec::new();
    for (index, (acquisition, row)) in all.iter().zip(rows).enumerate() {
        let record = LockRecord::of(&acquisition.spec.row.layout, row.as_ref());
        match record.fence {
            Some(fence) if record.owner.as_deref() == Some(&*acquisition.owner) => {
                let grant = acquisition.grant(fence, acquisition.taken_over_before(fence), sent);
                granted.push(Acquired { grant, row });
            }
            _ => denied.push(Denial { index, record }),
        }
    }
    Ok(if denied.is_empty() { AttemptResult::Granted(granted) } else { AttemptResult::Denied(denied) })
}

/// Selects a new owner text for the next attempt. A delayed duplicate of an earlier attempt may
/// still acquire the locks, but only with the earlier owner text.
fn renew_owner(all: &mut [Acquisition<'_>]) {
    give_back(all);
    let owner = all[0].spec.owner();
    for acquisition in all {
        acquisition.owner = Arc::clone(&owner);
    }
}

fn give_back(all: &[Acquisition<'_>]) {
    for Acquisition { spec, owner, .. } in all {
        spec.give_back(owner);
    }
}

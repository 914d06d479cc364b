//! Asking for several locks, all or none.

use std::sync::Arc;

use super::{
    observer::ExpiryObserver,
    one::{AcquireSpec, Acquired, Caller, WaitResult},
};
use crate::{
    clock,
    codec::Item,
    error::{ActionReason, Error},
    lease::{
        held_grant::Acquirer,
        record::LockRecord,
        row::{AcquireFields, Expired},
    },
    operation::{Failure, Transact, Write},
    random,
    retry::{Attempts, Limits},
};

/// What it is asked for, each lock once, in the order in which they are waited for: that of their names.
pub(crate) struct AllSpec {
    /// At least one.
    pub(crate) locks: Vec<AcquireSpec>,
    /// Those of the transaction.
    pub(crate) limits: Limits,
}

/// What one request came to.
enum AllAttemptResult {
    Acquired(Vec<Acquired>),
    /// The locks that were taken, by their places.
    Refused(Vec<(usize, LockRecord)>),
}

/// One transaction over rows of one table, sent until it is answered: under one token, it is applied once. The reasons if it was refused.
pub(crate) async fn together(
    attempts: &mut Attempts,
    AcquireSpec { connection, row, .. }: &AcquireSpec,
    writes: impl Iterator<Item = Write>,
) -> Result<Option<Vec<ActionReason>>, Error> {
    let token = format!("{:032x}", random::generator().u128(..));
    let request = Transact::new(writes, Some(token)).map_err(|why| Error::Rejected(why.after(attempts.spent())))?;
    let client = connection.client.clone();
    attempts
        .repeat_of(request.len(), &row.table, || async {
            match Box::pin(request.send(&client)).await {
                Ok(()) => Ok(None),
                Err(Failure::Cancelled(reasons)) if reasons.show_conflicts() => Ok(Some(reasons.into_vec())),
                Err(Failure::Cancelled(reasons)) => Err(reasons.into_failure()),
                Err(failure) => Err(failure),
            }
        })
        .await
}

/// The error of a call for several locks whose wait is over: [`AcquireSpec::at_the_end`], of the first lock that was in the way.
pub(crate) fn at_the_end<'a>(error: Error, all: impl Iterator<Item = (&'a AcquireSpec, &'a ExpiryObserver)>) -> Error {
    all.fold(error, |error, (spec, observer)| spec.at_the_end(error, observer))
}

impl Acquirer for AllSpec {
    type Grant = Vec<Acquired>;

    fn ask(&self, caller: &mut impl Caller) -> impl Future<Output = Result<Option<Vec<Acquired>>, Error>> + Send {
        self.acquire(caller)
    }
}

impl AllSpec {
    /// Asks until all are granted at once or the wait is over; nothing if the caller is gone. Nothing is held meanwhile, so nobody waits for
    /// one who waits.
    async fn acquire(&self, caller: &mut impl Caller) -> Result<Option<Vec<Acquired>>, Error> {
        let mut waits: Vec<_> = self.locks.iter().map(AcquireSpec::observer).collect();
        let granted = self.acquire_as(&mut waits, caller).await;
        granted.map_err(|error| at_the_end(error, self.locks.iter().zip(&waits)))
    }

    async fn acquire_as(
        &self,
        waits: &mut [ExpiryObserver],
        caller: &mut impl Caller,
    ) -> Result<Option<Vec<Acquired>>, Error> {
        let mut owner = self.locks[0].owner();
        loop {
            let asked = self.ask(&owner, waits).await;
            let taken = match asked {
                Ok(AllAttemptResult::Acquired(all)) => return Ok(Some(all)),
                Ok(AllAttemptResult::Refused(taken)) => taken,
                Err(error) => {
                    // They may have been granted all the same.
                    self.give_back(&owner);
                    return Err(error);
                }
            };
            if !taken.iter().all(|(_, record)| record.is_of_another(&owner)) {
                self.give_back(&owner);
                owner = self.locks[0].owner();
            }
            for wait in &mut *waits {
                wait.requests += 1;
            }
            for (place, record) in taken {
                // One by one and before: a transaction tells nothing of who held them.
                if self.locks[place].has_dead_head(&record, &mut waits[place])
                    && self.locks[place].evict(&record, &mut waits[place]).await?
                {
                    continue;
                }
                if self.locks[place].clear(&record, &mut waits[place]).await? {
                    continue;
                }
                let is_in_the_way = |record: &LockRecord| record.is_of_another(&owner);
                match self.locks[place].wait(&mut waits[place], record, is_in_the_way, caller).await? {
                    WaitResult::ToAsk => {}
                    WaitResult::Gone => return Ok(None),
                }
            }
        }
    }

    /// One transaction.
    async fn ask(&self, owner: &Arc<str>, waits: &[ExpiryObserver]) -> Result<AllAttemptResult, Error> {
        let mut attempts = Attempts::new(&self.locks[0].connection, waits[0].within_wait(self.limits));
        // All of it is of this moment, whichever attempt is applied.
        let sent = clock::now();
        let writes = self.locks.iter().map(|spec| {
            let (now, until) = (spec.options.now(), spec.options.until());
            let claim = AcquireFields { owner, until, now, payload: spec.payload.as_deref() };
            Write::from(spec.row.acquire(&claim, &Expired::Nobody))
        });
        let Some(reasons) = together(&mut attempts, &self.locks[0], writes).await? else {
            return self.read(&mut attempts, owner, sent, waits).await;
        };
        let in_the_way = self.taken(&reasons);
        match in_the_way.iter().any(|(_, record)| record.owner.as_deref() == Some(owner)) {
            // A copy of it was applied, nobody knows when: each lease counts from a beat.
            true => {
                let asked = self.read(&mut attempts, owner, clock::now(), waits).await?;
                if let AllAttemptResult::Acquired(all) = &asked {
                    for granted in all {
                        match self.locks[0].beat_in_time(&granted.grant, None, &waits[0]).await {
                            Ok(()) => {}
                            Err(Error::Lost(lost)) if lost.is_over() => {
                                return Ok(AllAttemptResult::Refused(vec![(0, LockRecord::default())]));
                            }
                            Err(error) => return Err(error),
                        }
                    }
                }
                Ok(asked)
            }
            false => Ok(AllAttemptResult::Refused(in_the_way)),
        }
    }

    /// The locks that were in the way.
    fn taken(&self, reasons: &[ActionReason]) -> Vec<(usize, LockRecord)> {
        let guilty = reasons.iter().enumerate().filter(|(_, reason)| reason.class().is_some());
        guilty.map(|(place, reason)| (place, self.record(place, reason.item.as_ref()))).collect()
    }

    /// Reads the fences, which a transaction does not return, and whether all is ours.
    async fn read(
        &self,
        attempts: &mut Attempts,
        owner: &Arc<str>,
        sent: clock::Instant,
        waits: &[ExpiryObserver],
    ) -> Result<AllAttemptResult, Error> {
        let table = &self.locks[0].row.table;
        let rows = attempts.read_many(table, self.locks.iter().map(|spec| spec.row.key.clone()).collect()).await?;
        let mut granted = Vec::with_capacity(self.locks.len());
        let mut taken = Vec::new();
        for (place, spec) in self.locks.iter().enumerate() {
            let is_of = |row: &&Item| spec.row.key.iter().all(|(name, value)| row.get(name) == Some(value));
            let row = rows.iter().find(is_of).cloned();
            let record = self.record(place, row.as_ref());
            match record.fence {
                Some(fence) if record.owner.as_deref() == Some(owner) => {
                    let taken_over = waits[place].taken_over_before(fence);
                    let grant = spec.grant(Arc::clone(owner), fence, taken_over, sent);
                    granted.push(Acquired { grant, row });
                }
                _ => taken.push((place, record)),
            }
        }
        Ok(if taken.is_empty() { AllAttemptResult::Acquired(granted) } else { AllAttemptResult::Refused(taken) })
    }

    fn record(&self, place: usize, row: Option<&Item>) -> LockRecord {
        LockRecord::of(&self.locks[place].row.layout, row)
    }

    fn give_back(&self, owner: &Arc<str>) {
        for spec in &self.locks {
            spec.give_back(Arc::clone(owner));
        }
    }
}

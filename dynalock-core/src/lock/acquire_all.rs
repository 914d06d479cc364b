//! Asking for several locks, all or none.

use std::sync::Arc;

use super::{
    acquire::{Asking, Caller, Granted, Waited},
    guard::Ask,
    mark::Mark,
    row::{Claim, Dead},
    watcher::Watcher,
};
use crate::{
    clock,
    codec::Item,
    error::Error,
    operation::{Failure, Reason, Transact, Write},
    random,
    retry::{Effort, Limits},
};

/// What it is asked for, each lock once, in the order in which they are waited for: that of their names.
pub(super) struct AskingAll {
    /// At least one.
    pub(super) locks: Vec<Asking>,
    /// Those of the transaction.
    pub(super) limits: Limits,
}

/// What one request came to.
enum Asked {
    Granted(Vec<Granted>),
    /// The locks that were taken, by their places.
    Refused(Vec<(usize, Mark)>),
}

/// One transaction over rows of one table, sent until it is answered: under one token, it is applied once. The reasons if it was refused.
pub(super) async fn together(
    effort: &mut Effort,
    Asking { connection, row, .. }: &Asking,
    writes: impl Iterator<Item = Write>,
) -> Result<Option<Vec<Reason>>, Error> {
    let token = format!("{:032x}", random::generator().u128(..));
    let request = Transact::new(writes, Some(token)).map_err(|why| Error::Rejected(why.after(effort.spent())))?;
    let client = connection.client.clone();
    effort
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

/// The error of a call for several locks whose wait is over: [`Asking::at_the_end`], of the first lock that was in the way.
pub(super) fn at_the_end<'a>(error: Error, all: impl Iterator<Item = (&'a Asking, &'a Watcher)>) -> Error {
    all.fold(error, |error, (asking, watcher)| asking.at_the_end(error, watcher))
}

impl Ask for AskingAll {
    type Grant = Vec<Granted>;

    fn ask(&self, caller: &mut impl Caller) -> impl Future<Output = Result<Option<Vec<Granted>>, Error>> + Send {
        self.acquire(caller)
    }
}

impl AskingAll {
    /// Asks until all are granted at once or the wait is over; nothing if the caller is gone. Nothing is held meanwhile, so nobody waits for
    /// one who waits.
    async fn acquire(&self, caller: &mut impl Caller) -> Result<Option<Vec<Granted>>, Error> {
        let mut waits: Vec<_> = self.locks.iter().map(Asking::watcher).collect();
        let granted = self.acquire_as(&mut waits, caller).await;
        granted.map_err(|error| at_the_end(error, self.locks.iter().zip(&waits)))
    }

    async fn acquire_as(&self, waits: &mut [Watcher], caller: &mut impl Caller) -> Result<Option<Vec<Granted>>, Error> {
        let mut owner = self.locks[0].owner();
        loop {
            let asked = self.ask(&owner, waits).await;
            let taken = match asked {
                Ok(Asked::Granted(all)) => return Ok(Some(all)),
                Ok(Asked::Refused(taken)) => taken,
                Err(error) => {
                    // They may have been granted all the same.
                    self.give_back(&owner);
                    return Err(error);
                }
            };
            if !taken.iter().all(|(_, mark)| mark.is_of_another(&owner)) {
                self.give_back(&owner);
                owner = self.locks[0].owner();
            }
            for wait in &mut *waits {
                wait.requests += 1;
            }
            for (place, mark) in taken {
                // One by one and before: a transaction tells nothing of who held them.
                if self.locks[place].has_dead_head(&mark, &mut waits[place])
                    && self.locks[place].evict(&mark, &mut waits[place]).await?
                {
                    continue;
                }
                if self.locks[place].clear(&mark, &mut waits[place]).await? {
                    continue;
                }
                let is_in_the_way = |mark: &Mark| mark.is_of_another(&owner);
                match self.locks[place].wait(&mut waits[place], mark, is_in_the_way, caller).await? {
                    Waited::ToAsk => {}
                    Waited::Gone => return Ok(None),
                }
            }
        }
    }

    /// One transaction.
    async fn ask(&self, owner: &Arc<str>, waits: &[Watcher]) -> Result<Asked, Error> {
        let mut effort = Effort::new(&self.locks[0].connection, waits[0].within_wait(self.limits));
        // All of it is of this moment, whichever attempt is applied.
        let sent = clock::now();
        let writes = self.locks.iter().map(|asking| {
            let (now, until) = (asking.terms.now(), asking.terms.until());
            let claim = Claim { owner, until, now, payload: asking.payload.as_deref() };
            Write::from(asking.row.acquire(&claim, &Dead::Nobody))
        });
        let Some(reasons) = together(&mut effort, &self.locks[0], writes).await? else {
            return self.read(&mut effort, owner, sent, waits).await;
        };
        let in_the_way = self.taken(&reasons);
        match in_the_way.iter().any(|(_, mark)| mark.owner.as_deref() == Some(owner)) {
            // A copy of it was applied, nobody knows when: each lease counts from a beat.
            true => {
                let asked = self.read(&mut effort, owner, clock::now(), waits).await?;
                if let Asked::Granted(all) = &asked {
                    for granted in all {
                        match self.locks[0].beat_in_time(&granted.grip, None, &waits[0]).await {
                            Ok(()) => {}
                            Err(Error::Lost(lost)) if lost.is_over() => {
                                return Ok(Asked::Refused(vec![(0, Mark::default())]));
                            }
                            Err(error) => return Err(error),
                        }
                    }
                }
                Ok(asked)
            }
            false => Ok(Asked::Refused(in_the_way)),
        }
    }

    /// The locks that were in the way.
    fn taken(&self, reasons: &[Reason]) -> Vec<(usize, Mark)> {
        let guilty = reasons.iter().enumerate().filter(|(_, reason)| reason.class().is_some());
        guilty.map(|(place, reason)| (place, self.mark(place, reason.item.as_ref()))).collect()
    }

    /// Reads the fences, which a transaction does not return, and whether all is ours.
    async fn read(
        &self,
        effort: &mut Effort,
        owner: &Arc<str>,
        sent: clock::Instant,
        waits: &[Watcher],
    ) -> Result<Asked, Error> {
        let table = &self.locks[0].row.table;
        let rows = effort.read_many(table, self.locks.iter().map(|asking| asking.row.key.clone()).collect()).await?;
        let mut granted = Vec::with_capacity(self.locks.len());
        let mut taken = Vec::new();
        for (place, asking) in self.locks.iter().enumerate() {
            let is_of = |row: &&Item| asking.row.key.iter().all(|(name, value)| row.get(name) == Some(value));
            let row = rows.iter().find(is_of).cloned();
            let mark = self.mark(place, row.as_ref());
            match mark.fence {
                Some(fence) if mark.owner.as_deref() == Some(owner) => {
                    let taken_over = waits[place].taken_over_before(fence);
                    let grip = asking.grip(Arc::clone(owner), fence, taken_over, sent);
                    granted.push(Granted { grip, row });
                }
                _ => taken.push((place, mark)),
            }
        }
        Ok(if taken.is_empty() { Asked::Granted(granted) } else { Asked::Refused(taken) })
    }

    fn mark(&self, place: usize, row: Option<&Item>) -> Mark {
        Mark::of(&self.locks[place].row.layout, row)
    }

    fn give_back(&self, owner: &Arc<str>) {
        for asking in &self.locks {
            asking.give_back(Arc::clone(owner));
        }
    }
}

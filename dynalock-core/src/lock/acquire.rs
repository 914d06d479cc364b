//! Asking for a lock, and waiting for it.

use std::{future::Future, sync::Arc, time::Duration};

use tokio::sync::oneshot;

use super::{
    grip::Grip,
    guard::Ask,
    mark::Mark,
    row::{Claim, Dead, Row},
    terms::{Expiry, Terms, Wait},
};
use crate::{
    clock::{self, Instant},
    codec::Item,
    error::{Error, Locked, Lost},
    random,
    retry::{Answered, Connection, Effort, Limits},
};

/// What it is asked for, and by whom.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    pub(super) connection: Arc<Connection>,
    pub(super) row: Row,
    /// The name of the lock.
    pub(super) label: Arc<str>,
    pub(super) terms: Terms,
    pub(super) wait: Wait,
    /// The name of the owner, without a nonce.
    pub(super) name: Arc<str>,
    pub(super) payload: Option<Arc<[u8]>>,
    pub(super) limits: Limits,
}

/// What one request came to.
pub(super) enum Asked {
    Granted(Granted),
    Refused(Mark),
}

/// A lock that was asked for and is ours.
pub(super) struct Granted {
    pub(super) grip: Arc<Grip>,
    /// Its row without this grant.
    pub(super) row: Option<Item>,
}

/// Who waits for the answer.
pub(super) trait Caller: Send {
    /// Ends when nobody waits any more.
    fn gone(&mut self) -> impl Future<Output = ()> + Send;
}

impl<T: Send> Caller for oneshot::Sender<T> {
    fn gone(&mut self) -> impl Future<Output = ()> + Send {
        self.closed()
    }
}

/// Somebody's sign of life, and since when it has been the last one.
#[derive(Debug, Clone)]
struct Watched {
    owner: Option<String>,
    beat: Option<u64>,
    end: Option<String>,
    /// After the response that showed it first.
    since: Instant,
}

/// One asker on its way to one lock.
pub(super) struct Waiting {
    pub(super) started: Instant,
    pub(super) requests: u32,
    pub(super) end: Option<Instant>,
    rng: fastrand::Rng,
    watched: Option<Watched>,
}

/// How a wait for a lock ended.
pub(super) enum Waited {
    /// It may be free.
    ToAsk,
    /// Nobody waits for it any more.
    Gone,
}

impl Ask for Asking {
    type Grant = Granted;

    fn ask(&self, caller: &mut impl Caller) -> impl Future<Output = Result<Option<Granted>, Error>> + Send {
        self.acquire(caller)
    }
}

impl Asking {
    /// Asks until the lock is granted or the wait is over; nothing if the caller is gone.
    async fn acquire(&self, caller: &mut impl Caller) -> Result<Option<Granted>, Error> {
        let mut waiting = self.waiting();
        let mut owner = self.owner();
        loop {
            waiting.requests += 1;
            let mark = match self.ask(&owner, &self.dead(&waiting)).await? {
                Asked::Granted(granted) => return Ok(Some(granted)),
                Asked::Refused(mark) => mark,
            };
            if !mark.is_of_another(&owner) {
                owner = self.owner();
            }
            match self.wait(&mut waiting, mark, &owner, caller).await? {
                Waited::ToAsk => {}
                Waited::Gone => return Ok(None),
            }
        }
    }

    pub(super) fn waiting(&self) -> Waiting {
        let started = clock::now();
        let end = match self.wait {
            Wait::No => Some(started),
            Wait::For(duration) => started.checked_add(duration),
            Wait::Forever => None,
        };
        Waiting { started, requests: 0, end, rng: random::generator(), watched: None }
    }

    /// Waits until the lock may be free, by cheap reads.
    pub(super) async fn wait(
        &self,
        waiting: &mut Waiting,
        mut mark: Mark,
        owner: &str,
        caller: &mut impl Caller,
    ) -> Result<Waited, Error> {
        loop {
            waiting.watch(&mark);
            let left = waiting.end.map_or(Duration::MAX, |end| end.saturating_duration_since(clock::now()));
            if left.is_zero() {
                return Err(self.locked(&mark, waiting));
            }
            let pause = self.pause(&mark, waiting).min(left);
            if clock::within(pause, caller.gone()).await.is_some() {
                return Ok(Waited::Gone);
            }
            if self.left(&mark, waiting).is_zero() {
                return Ok(Waited::ToAsk);
            }
            match self.look().await? {
                Some(seen) if seen.is_of_another(owner) => mark = seen,
                Some(_) | None => return Ok(Waited::ToAsk),
            }
        }
    }

    /// One conditional write, for this owner.
    pub(super) async fn ask(&self, owner: &Arc<str>, dead: &Dead) -> Result<Asked, Error> {
        let mut effort = Effort::new(&self.connection, self.limits);
        let mut sent = clock::now();
        let mut now = 0;
        let answer = effort
            .update(|| {
                sent = clock::now();
                now = self.terms.now();
                let claim = Claim { owner, until: self.terms.until(), now, payload: self.payload.as_deref() };
                self.row.acquire(&claim, dead)
            })
            .await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                // It may have been granted all the same.
                self.give_back(Arc::clone(owner), 0);
                return Err(error);
            }
        };
        match answer {
            Answered::Applied(before) => {
                let mark = before.as_ref().map(|item| Mark::read(&self.row.layout, item)).unwrap_or_default();
                let fence = mark.fence.unwrap_or(now).saturating_add(1);
                let crashed = mark.owner.is_some().then_some(fence.saturating_sub(1));
                Ok(Asked::Granted(Granted {
                    grip: self.grip(Arc::clone(owner), (fence, crashed), 0, sent),
                    row: before,
                }))
            }
            Answered::Refused(None) if self.row.existing.is_some() => {
                let (attempts, elapsed) = effort.spent();
                Err(Error::NotFound { table: Arc::clone(&self.row.table), attempts, elapsed })
            }
            Answered::Refused(met) => {
                let mark = met.as_ref().map(|item| Mark::read(&self.row.layout, item)).unwrap_or_default();
                match (&mark.owner, mark.fence) {
                    // An attempt whose reply was lost was granted. The lease counts from a beat.
                    (Some(holder), Some(fence)) if **holder == **owner => {
                        let grip =
                            self.grip(Arc::clone(owner), (fence, Some(fence.saturating_sub(1))), 0, clock::now());
                        match grip.beat().await {
                            Ok(()) => Ok(Asked::Granted(Granted { grip, row: met })),
                            Err(Error::Lost(Lost::Stolen { .. } | Lost::Expired | Lost::Deleted)) => {
                                Ok(Asked::Refused(Mark::default()))
                            }
                            Err(error) => {
                                self.give_back(Arc::clone(owner), fence);
                                Err(error)
                            }
                        }
                    }
                    _ => Ok(Asked::Refused(mark)),
                }
            }
        }
    }

    /// The row, as it was some moments ago.
    pub(super) async fn look(&self) -> Result<Option<Mark>, Error> {
        let item = Effort::new(&self.connection, self.limits).read(&self.row.get(false)).await?;
        Ok(item.map(|item| Mark::read(&self.row.layout, &item)))
    }

    /// Whose lease this asker may take over.
    pub(super) fn dead(&self, waiting: &Waiting) -> Dead {
        match (self.terms.dead_before(), &waiting.watched) {
            (Some(moment), _) => Dead::EndedBefore(moment),
            (None, Some(Watched { owner: Some(owner), beat, end, since }))
                if clock::now() >= *since + self.terms.ttl =>
            {
                Dead::Silent { owner: owner.clone(), beat: *beat, end: end.clone() }
            }
            (None, _) => Dead::Nobody,
        }
    }

    /// How long until the lease of the holder has ended, if it is not renewed.
    pub(super) fn left(&self, mark: &Mark, waiting: &Waiting) -> Duration {
        match self.terms.expiry {
            Expiry::Clock { max_skew } => {
                let skew = u64::try_from(max_skew.as_millis()).unwrap_or(u64::MAX);
                let step = self.row.layout.unit.to_millis(1);
                let until = mark.until.unwrap_or(u64::MAX).saturating_add(skew).saturating_add(step);
                Duration::from_millis(until.saturating_sub(self.terms.now()))
            }
            Expiry::Observed => {
                let since = waiting.watched.as_ref().map_or_else(clock::now, |watched| watched.since);
                (since + self.terms.ttl).saturating_duration_since(clock::now())
            }
        }
    }

    /// Until the lease can have ended, or the next cheap look, whichever is first; never nothing.
    pub(super) fn pause(&self, mark: &Mark, waiting: &mut Waiting) -> Duration {
        const SHORTEST: Duration = Duration::from_millis(10);
        const LONGEST: Duration = Duration::from_secs(1);
        let look = (self.terms.ttl / 20).clamp(SHORTEST, LONGEST).mul_f64(0.5 + waiting.rng.f64());
        let jitter = SHORTEST.mul_f64(waiting.rng.f64());
        self.left(mark, waiting).saturating_add(jitter).min(look).max(Duration::from_millis(1))
    }

    /// A name, and a nonce for one grant: kept until it is granted, so that a copy that comes late is the grant and no ghost.
    pub(super) fn owner(&self) -> Arc<str> {
        let nonce = random::generator().u64(..);
        match &*self.name {
            "" => format!("{nonce:016x}").into(),
            name => format!("{name}:{nonce:016x}").into(),
        }
    }

    pub(super) fn grip(&self, owner: Arc<str>, fences: (u64, Option<u64>), beat: u64, sent: Instant) -> Arc<Grip> {
        let of = (Arc::clone(&self.connection), self.row.clone(), self.terms);
        Arc::new(Grip::new(of, owner, fences, beat, sent))
    }

    /// Releases, in the background, what may have been granted.
    pub(super) fn give_back(&self, owner: Arc<str>, fence: u64) {
        let grip = self.grip(owner, (fence, None), 0, clock::now());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { grip.release(&grip.connection).await });
        }
    }

    pub(super) fn locked(&self, mark: &Mark, waiting: &Waiting) -> Error {
        Error::Locked(Box::new(Locked {
            table: Arc::clone(&self.row.table),
            owner: mark.owner.as_deref().unwrap_or_default().into(),
            fence: mark.fence.unwrap_or(0),
            remaining: mark.remaining(self.terms.passed()),
            attempts: waiting.requests,
            elapsed: clock::now().duration_since(waiting.started),
        }))
    }
}

impl Waiting {
    /// Starts anew when there is a sign of life.
    pub(super) fn watch(&mut self, mark: &Mark) {
        let is_as_seen = |seen: &Watched| (&seen.owner, seen.beat, &seen.end) == (&mark.owner, mark.beat, &mark.end);
        if !self.watched.as_ref().is_some_and(is_as_seen) {
            let (owner, beat, end) = (mark.owner.clone(), mark.beat, mark.end.clone());
            self.watched = Some(Watched { owner, beat, end, since: clock::now() });
        }
    }
}

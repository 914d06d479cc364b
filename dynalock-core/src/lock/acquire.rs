//! Asking for a lock, and waiting for it.

use std::{future::Future, sync::Arc};

use tokio::sync::oneshot;

use super::{
    grip::Grip,
    guard::{Ask, Background},
    mark::Mark,
    name::parts,
    row::{Claim, Row},
    terms::{Terms, Wait},
    watcher::Watcher,
};
use crate::{
    clock::{self, Instant},
    codec::Item,
    error::{Error, Locked, Spent},
    expression::Hold,
    random,
    retry::{Answered, Backoff, Connection, Effort, Limits},
};

/// What it is asked for, and by whom.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    pub(super) connection: Arc<Connection>,
    pub(super) row: Row,
    /// The name of the lock's row; for an item, its key if errors may show it.
    pub(super) label: Arc<str>,
    pub(super) terms: Terms,
    pub(super) wait: Wait,
    /// The name of the owner, without a nonce.
    pub(super) name: Arc<str>,
    pub(super) payload: Option<Arc<[u8]>>,
    pub(super) limits: Limits,
    pub(super) background: Background,
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
    /// Asks until the lock is granted or the wait is over; `None` if the caller is gone.
    async fn acquire(&self, caller: &mut impl Caller) -> Result<Option<Granted>, Error> {
        let mut watcher = self.watcher();
        let granted = self.acquire_as(&mut watcher, caller).await;
        granted.map_err(|error| self.at_the_end(error, &watcher))
    }

    async fn acquire_as(&self, watcher: &mut Watcher, caller: &mut impl Caller) -> Result<Option<Granted>, Error> {
        let mut owner = self.owner();
        loop {
            let mark = match self.ask(&mut owner, watcher).await? {
                Asked::Granted(granted) => return Ok(Some(granted)),
                Asked::Refused(mark) => mark,
            };
            match self.wait(watcher, mark, |mark| mark.is_of_another(&owner), caller).await? {
                Waited::ToAsk => {}
                Waited::Gone => return Ok(None),
            }
        }
    }

    /// Waits until nothing is in the way any more, by cheap reads.
    pub(super) async fn wait(
        &self,
        watcher: &mut Watcher,
        mut mark: Mark,
        is_in_the_way: impl Fn(&Mark) -> bool + Send,
        caller: &mut impl Caller,
    ) -> Result<Waited, Error> {
        loop {
            watcher.watch(&mark);
            let left = watcher.left();
            if left.is_zero() {
                return Err(self.locked(&mark, watcher));
            }
            let pause = self.pause(&mark, watcher).min(left);
            if clock::within(pause, caller.gone()).await.is_some() {
                return Ok(Waited::Gone);
            }
            if self.left(&mark, watcher).is_zero() {
                watcher.expects_the_end();
                return Ok(Waited::ToAsk);
            }
            match self.look(watcher).await? {
                Some(seen) if is_in_the_way(&seen) => mark = seen,
                Some(_) | None => return Ok(Waited::ToAsk),
            }
        }
    }

    /// Repeats the request until the lock is granted or another caller has it. If a dead head of the queue was in the
    /// way, it removes the head and sends the request again. If no holder was in the way, it draws a new owner first,
    /// because the grant of the old owner is over.
    pub(super) async fn ask(&self, owner: &mut Arc<str>, watcher: &mut Watcher) -> Result<Asked, Error> {
        let mut backoff = Backoff::default();
        watcher.requests += 1;
        loop {
            let asked = self.ask_once(owner, watcher).await?;
            let Asked::Refused(mark) = &asked else { return Ok(asked) };
            if !mark.is_of_another(owner) {
                self.pause_before_retry(watcher, &mut backoff).await?;
                *owner = self.owner();
                watcher.requests += 1;
            } else if !self.has_dead_head(mark, watcher) || !self.evict(mark, watcher).await? {
                return Ok(asked);
            }
        }
    }

    /// One conditional write, for this owner; and a read of the item if its lease is in a row beside it.
    async fn ask_once(&self, owner: &Arc<str>, watcher: &Watcher) -> Result<Asked, Error> {
        match self.ask_row(owner, watcher).await? {
            Asked::Granted(granted) if self.row.is_beside() => {
                self.with_item(granted, watcher).await.map(Asked::Granted)
            }
            asked => Ok(asked),
        }
    }

    /// The grant with the item instead of the row beside it. A lease of nothing is given back before that is said.
    pub(super) async fn with_item(&self, granted: Granted, watcher: &Watcher) -> Result<Granted, Error> {
        let mut effort = self.effort(watcher);
        match effort.read(&self.row.get_item()).await {
            Ok(item @ Some(_)) => Ok(Granted { row: item, ..granted }),
            Ok(None) => {
                if let Err(error) = granted.grip.release(&self.connection).await {
                    tracing::debug!(%error, "the lease of an item that is not there ends by itself");
                }
                let spent = effort.spent();
                Err(self.not_found(Spent { attempts: spent.attempts + 1, ..spent }))
            }
            Err(error) => {
                release_later(granted.grip);
                Err(error)
            }
        }
    }

    async fn ask_row(&self, owner: &Arc<str>, watcher: &Watcher) -> Result<Asked, Error> {
        let dead = &self.dead(watcher);
        let mut effort = self.effort(watcher);
        let mut sent = clock::now();
        let mut now = 0;
        let request = || {
            sent = clock::now();
            now = self.terms.now();
            let claim = Claim { owner, until: self.terms.until(), now, payload: self.payload.as_deref() };
            self.row.acquire(&claim, dead)
        };
        let answer = match effort.update(request).await {
            Ok(answer) => answer,
            Err(error) => {
                // It may have been granted all the same.
                self.give_back(Arc::clone(owner));
                return Err(error);
            }
        };
        match answer {
            Answered::Applied(before) => {
                let mark = Mark::of(&self.row.layout, before.as_ref());
                let fence = mark.fence.unwrap_or(now).saturating_add(1);
                let taken_over = mark.owner_fence().or_else(|| watcher.taken_over_before(fence));
                // Most of the lease may be over by the time of the answer.
                if clock::now().duration_since(sent) >= self.terms.ttl / 2 {
                    let grip = self.grip(Arc::clone(owner), fence, taken_over, clock::now());
                    return self.confirm(grip, before, watcher).await;
                }
                let grip = self.grip(Arc::clone(owner), fence, taken_over, sent);
                Ok(Asked::Granted(Granted { grip, row: before }))
            }
            Answered::Refused(None) if self.row.existing.is_some() => Err(self.not_found(effort.spent())),
            Answered::Refused(met) => {
                let mark = Mark::of(&self.row.layout, met.as_ref());
                match (&mark.owner, mark.fence) {
                    // An attempt whose reply was lost was granted. The lease counts from a beat.
                    (Some(holder), Some(fence)) if **holder == **owner => {
                        // Whether the holder before had released it is not known.
                        let taken_over = fence.checked_sub(1);
                        let grip = self.grip(Arc::clone(owner), fence, taken_over, clock::now());
                        self.confirm(grip, met, watcher).await
                    }
                    _ => Ok(Asked::Refused(mark)),
                }
            }
        }
    }

    /// Renews a grant that is old or of unknown age, so its lease counts from a heartbeat. If the grant is already
    /// over, the result is a refusal with no holder in the way.
    async fn confirm(&self, grip: Arc<Grip>, row: Option<Item>, watcher: &Watcher) -> Result<Asked, Error> {
        match self.beat_in_time(&grip, None, watcher).await {
            Ok(()) => Ok(Asked::Granted(Granted { grip, row })),
            Err(Error::Lost(lost)) if lost.is_over() => Ok(Asked::Refused(Mark::default())),
            Err(error) => {
                release_later(grip);
                Err(error)
            }
        }
    }

    /// One heartbeat, which ends like any other request of the call, though the lease may last longer.
    pub(super) async fn beat_in_time(
        &self,
        grip: &Grip,
        payload: Option<&[u8]>,
        watcher: &Watcher,
    ) -> Result<(), Error> {
        let beat = clock::within(self.limits(watcher).deadline, grip.beat_with(payload)).await;
        beat.unwrap_or_else(|| Err(watcher.unanswered()))
    }

    /// The row, as it was some moments ago.
    pub(super) async fn look(&self, watcher: &Watcher) -> Result<Option<Mark>, Error> {
        let item = self.effort(watcher).read(&self.row.get(false)).await?;
        Ok(item.map(|item| Mark::read(&self.row.layout, &item)))
    }

    /// A name, and a nonce for one grant: kept until it is granted, so that a copy that comes late is the grant and no ghost.
    pub(super) fn owner(&self) -> Arc<str> {
        let nonce = random::generator().u64(..);
        match &*self.name {
            "" => format!("{nonce:016x}").into(),
            name => format!("{name}:{nonce:016x}").into(),
        }
    }

    /// The grant of a request that was sent at this moment, before its first heartbeat.
    pub(super) fn grip(&self, owner: Arc<str>, fence: u64, taken_over: Option<u64>, sent: Instant) -> Arc<Grip> {
        let of = (Arc::clone(&self.connection), self.row.clone(), self.terms);
        Arc::new(Grip::new(of, (Hold::Plain, owner), (fence, taken_over), 0, sent))
    }

    /// Releases, in the background, what may have been granted.
    pub(super) fn give_back(&self, owner: Arc<str>) {
        let asking = self.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let limits = Limits { deadline: asking.terms.ttl, ..Limits::default() };
                Effort::new(&asking.connection, limits).update(|| asking.row.disown(&owner)).await
            });
        }
    }

    /// The error of a lease of an item that is not there.
    pub(super) fn not_found(&self, spent: Spent) -> Error {
        Error::NotFound { table: Arc::clone(&self.row.table), key: self.shown_name(), spent }
    }

    /// The name of the lock, or the key of the item, as far as errors show it.
    fn shown_name(&self) -> Option<Arc<str>> {
        match parts(&self.label) {
            ("", _) => None,
            (name, None) => Some(name.into()),
            (name, Some(namespace)) => Some(format!("{name} of namespace {namespace}").into()),
        }
    }

    pub(super) fn locked(&self, mark: &Mark, watcher: &Watcher) -> Error {
        Error::Locked(Box::new(Locked {
            table: Arc::clone(&self.row.table),
            name: self.shown_name(),
            owner: mark.holder().unwrap_or_default().into(),
            fence: mark.last_fence().unwrap_or(0),
            remaining: mark.remaining(self.terms.passed(), self.terms.ttl),
            spent: watcher.spent(),
        }))
    }
}

fn release_later(grip: Arc<Grip>) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { grip.release(&grip.connection).await });
    }
}

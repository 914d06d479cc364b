//! Asking for a lock, and waiting for it.

use std::{future::Future, sync::Arc};

use tokio::sync::oneshot;

use super::observer::ExpiryObserver;
use crate::{
    clock::{self, Instant},
    codec::Item,
    error::{Error, Locked, Spent},
    lease::{
        clause::GrantKind,
        grant::Grant,
        held_grant::{Acquirer, Background},
        name::parts,
        options::{LeaseOptions, Wait},
        record::LockRecord,
        row::{AcquireFields, Row},
    },
    random,
    retry::{Answered, Attempts, Backoff, Connection, Limits},
};

/// What it is asked for, and by whom.
#[derive(Debug, Clone)]
pub(crate) struct AcquireSpec {
    pub(crate) connection: Arc<Connection>,
    pub(crate) row: Row,
    /// The name of the lock's row; for an item, its key if errors may show it.
    pub(crate) label: Arc<str>,
    pub(crate) options: LeaseOptions,
    pub(crate) wait: Wait,
    /// The name of the owner, without a nonce.
    pub(crate) name: Arc<str>,
    pub(crate) payload: Option<Arc<[u8]>>,
    pub(crate) limits: Limits,
    pub(crate) background: Background,
}

/// What one request came to.
pub(crate) enum AttemptResult {
    Acquired(Acquired),
    Denied(LockRecord),
}

/// A lock that was asked for and is ours.
pub(crate) struct Acquired {
    pub(crate) grant: Arc<Grant>,
    /// Its row without this grant.
    pub(crate) row: Option<Item>,
}

/// Who waits for the answer.
pub(crate) trait Caller: Send {
    /// Ends when nobody waits any more.
    fn gone(&mut self) -> impl Future<Output = ()> + Send;
}

impl<T: Send> Caller for oneshot::Sender<T> {
    fn gone(&mut self) -> impl Future<Output = ()> + Send {
        self.closed()
    }
}

/// How a wait for a lock ended.
pub(crate) enum WaitResult {
    /// It may be free.
    ToAsk,
    /// Nobody waits for it any more.
    Gone,
}

impl Acquirer for AcquireSpec {
    type Grant = Acquired;

    fn ask(&self, caller: &mut impl Caller) -> impl Future<Output = Result<Option<Acquired>, Error>> + Send {
        self.acquire(caller)
    }
}

impl AcquireSpec {
    /// Asks until the lock is granted or the wait is over; `None` if the caller is gone.
    async fn acquire(&self, caller: &mut impl Caller) -> Result<Option<Acquired>, Error> {
        let mut observer = self.observer();
        let granted = self.acquire_as(&mut observer, caller).await;
        granted.map_err(|error| self.at_the_end(error, &observer))
    }

    async fn acquire_as(
        &self,
        observer: &mut ExpiryObserver,
        caller: &mut impl Caller,
    ) -> Result<Option<Acquired>, Error> {
        let mut owner = self.owner();
        loop {
            let record = match self.ask(&mut owner, observer).await? {
                AttemptResult::Acquired(granted) => return Ok(Some(granted)),
                AttemptResult::Denied(record) => record,
            };
            match self.wait(observer, record, |record| record.is_of_another(&owner), caller).await? {
                WaitResult::ToAsk => {}
                WaitResult::Gone => return Ok(None),
            }
        }
    }

    /// Waits until nothing is in the way any more, by cheap reads.
    pub(crate) async fn wait(
        &self,
        observer: &mut ExpiryObserver,
        mut record: LockRecord,
        is_in_the_way: impl Fn(&LockRecord) -> bool + Send,
        caller: &mut impl Caller,
    ) -> Result<WaitResult, Error> {
        loop {
            observer.watch(&record);
            let left = observer.left();
            if left.is_zero() {
                return Err(self.locked(&record, observer));
            }
            let pause = self.pause(&record, observer).min(left);
            if clock::within(pause, caller.gone()).await.is_some() {
                return Ok(WaitResult::Gone);
            }
            if self.left(&record, observer).is_zero() {
                observer.expects_the_end();
                return Ok(WaitResult::ToAsk);
            }
            match self.look(observer).await? {
                Some(seen) if is_in_the_way(&seen) => record = seen,
                Some(_) | None => return Ok(WaitResult::ToAsk),
            }
        }
    }

    /// Repeats the request until the lock is granted or another caller has it. If a dead head of the queue was in the
    /// way, it removes the head and sends the request again. If no holder was in the way, it draws a new owner first,
    /// because the grant of the old owner is over.
    pub(crate) async fn ask(
        &self,
        owner: &mut Arc<str>,
        observer: &mut ExpiryObserver,
    ) -> Result<AttemptResult, Error> {
        let mut backoff = Backoff::default();
        observer.requests += 1;
        loop {
            let asked = self.ask_once(owner, observer).await?;
            let AttemptResult::Denied(record) = &asked else { return Ok(asked) };
            if !record.is_of_another(owner) {
                self.pause_before_retry(observer, &mut backoff).await?;
                *owner = self.owner();
                observer.requests += 1;
            } else if !self.has_dead_head(record, observer) || !self.evict(record, observer).await? {
                return Ok(asked);
            }
        }
    }

    /// One conditional write, for this owner; and a read of the item if its lease is in a row beside it.
    async fn ask_once(&self, owner: &Arc<str>, observer: &ExpiryObserver) -> Result<AttemptResult, Error> {
        match self.ask_row(owner, observer).await? {
            AttemptResult::Acquired(granted) if self.row.is_beside() => {
                self.with_item(granted, observer).await.map(AttemptResult::Acquired)
            }
            asked => Ok(asked),
        }
    }

    /// The grant with the item instead of the row beside it. A lease of nothing is given back before that is said.
    pub(crate) async fn with_item(&self, granted: Acquired, observer: &ExpiryObserver) -> Result<Acquired, Error> {
        let mut attempts = self.attempts(observer);
        match attempts.read(&self.row.get_item()).await {
            Ok(item @ Some(_)) => Ok(Acquired { row: item, ..granted }),
            Ok(None) => {
                if let Err(error) = granted.grant.release(&self.connection).await {
                    tracing::debug!(%error, "the lease of an item that is not there ends by itself");
                }
                let spent = attempts.spent();
                Err(self.not_found(Spent { attempts: spent.attempts + 1, ..spent }))
            }
            Err(error) => {
                release_later(granted.grant);
                Err(error)
            }
        }
    }

    async fn ask_row(&self, owner: &Arc<str>, observer: &ExpiryObserver) -> Result<AttemptResult, Error> {
        let dead = &self.dead(observer);
        let mut attempts = self.attempts(observer);
        let mut sent = clock::now();
        let mut now = 0;
        let request = || {
            sent = clock::now();
            now = self.options.now();
            let claim = AcquireFields { owner, until: self.options.until(), now, payload: self.payload.as_deref() };
            self.row.acquire(&claim, dead)
        };
        let answer = match attempts.update(request).await {
            Ok(answer) => answer,
            Err(error) => {
                // It may have been granted all the same.
                self.give_back(Arc::clone(owner));
                return Err(error);
            }
        };
        match answer {
            Answered::Applied(before) => {
                let record = LockRecord::of(&self.row.layout, before.as_ref());
                let fence = record.fence.unwrap_or(now).saturating_add(1);
                let taken_over = record.owner_fence().or_else(|| observer.taken_over_before(fence));
                // Most of the lease may be over by the time of the answer.
                if clock::now().duration_since(sent) >= self.options.ttl / 2 {
                    let grant = self.grant(Arc::clone(owner), fence, taken_over, clock::now());
                    return self.confirm(grant, before, observer).await;
                }
                let grant = self.grant(Arc::clone(owner), fence, taken_over, sent);
                Ok(AttemptResult::Acquired(Acquired { grant, row: before }))
            }
            Answered::Refused(None) if self.row.existing.is_some() => Err(self.not_found(attempts.spent())),
            Answered::Refused(met) => {
                let record = LockRecord::of(&self.row.layout, met.as_ref());
                match (&record.owner, record.fence) {
                    // An attempt whose reply was lost was granted. The lease counts from a beat.
                    (Some(holder), Some(fence)) if **holder == **owner => {
                        // Whether the holder before had released it is not known.
                        let taken_over = fence.checked_sub(1);
                        let grant = self.grant(Arc::clone(owner), fence, taken_over, clock::now());
                        self.confirm(grant, met, observer).await
                    }
                    _ => Ok(AttemptResult::Denied(record)),
                }
            }
        }
    }

    /// Renews a grant that is old or of unknown age, so its lease counts from a heartbeat. If the grant is already
    /// over, the result is a refusal with no holder in the way.
    async fn confirm(
        &self,
        grant: Arc<Grant>,
        row: Option<Item>,
        observer: &ExpiryObserver,
    ) -> Result<AttemptResult, Error> {
        match self.beat_in_time(&grant, None, observer).await {
            Ok(()) => Ok(AttemptResult::Acquired(Acquired { grant, row })),
            Err(Error::Lost(lost)) if lost.is_over() => Ok(AttemptResult::Denied(LockRecord::default())),
            Err(error) => {
                release_later(grant);
                Err(error)
            }
        }
    }

    /// One heartbeat, which ends like any other request of the call, though the lease may last longer.
    pub(crate) async fn beat_in_time(
        &self,
        grant: &Grant,
        payload: Option<&[u8]>,
        observer: &ExpiryObserver,
    ) -> Result<(), Error> {
        let beat = clock::within(self.limits(observer).deadline, grant.beat_with(payload)).await;
        beat.unwrap_or_else(|| Err(observer.unanswered()))
    }

    /// The row, as it was some moments ago.
    pub(crate) async fn look(&self, observer: &ExpiryObserver) -> Result<Option<LockRecord>, Error> {
        let item = self.attempts(observer).read(&self.row.get(false)).await?;
        Ok(item.map(|item| LockRecord::read(&self.row.layout, &item)))
    }

    /// A name, and a nonce for one grant: kept until it is granted, so that a copy that comes late is the grant and no ghost.
    pub(crate) fn owner(&self) -> Arc<str> {
        let nonce = random::generator().u64(..);
        match &*self.name {
            "" => format!("{nonce:016x}").into(),
            name => format!("{name}:{nonce:016x}").into(),
        }
    }

    /// The grant of a request that was sent at this moment, before its first heartbeat.
    pub(crate) fn grant(&self, owner: Arc<str>, fence: u64, taken_over: Option<u64>, sent: Instant) -> Arc<Grant> {
        let of = (Arc::clone(&self.connection), self.row.clone(), self.options);
        Arc::new(Grant::new(of, (GrantKind::Plain, owner), (fence, taken_over), 0, sent))
    }

    /// Releases, in the background, what may have been granted.
    pub(crate) fn give_back(&self, owner: Arc<str>) {
        let spec = self.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let limits = Limits { deadline: spec.options.ttl, ..Limits::default() };
                Attempts::new(&spec.connection, limits).update(|| spec.row.disown(&owner)).await
            });
        }
    }

    /// The error of a lease of an item that is not there.
    pub(crate) fn not_found(&self, spent: Spent) -> Error {
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

    pub(crate) fn locked(&self, record: &LockRecord, observer: &ExpiryObserver) -> Error {
        Error::Locked(Box::new(Locked {
            table: Arc::clone(&self.row.table),
            name: self.shown_name(),
            owner: record.holder().unwrap_or_default().into(),
            fence: record.last_fence().unwrap_or(0),
            remaining: record.remaining(self.options.passed(), self.options.ttl),
            spent: observer.spent(),
        }))
    }
}

fn release_later(grant: Arc<Grant>) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { grant.release(&grant.connection).await });
    }
}

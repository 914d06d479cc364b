//! Asking for several locks in the order of those who ask.

use std::{sync::Arc, time::Duration};

use super::{enter::QueuePosition, request::Duplicate};
use crate::{
    clock::{self, Instant},
    codec::Item,
    error::{ActionReason, Error},
    lease::{
        acquire::{
            all::{at_the_end, together},
            observer::ExpiryObserver,
            one::{AcquireSpec, Acquired, Caller, WaitResult},
        },
        held_grant::{Acquirer, HeldGrant, KeptGrant},
        record::LockRecord,
    },
    operation::Write,
    retry::{Attempts, Limits},
};

/// What it is asked for in turn, each lock once: at least one.
///
/// All places are taken in one transaction, so of any two who want several of the same locks, one stands before the other in all of their queues: nobody
/// waits for one who waits for him.
pub(crate) struct AllFairSpec {
    pub(crate) locks: Vec<AcquireSpec>,
    /// Those of the transaction. A read must not take that long: a head that is silent for a ttl is taken out.
    pub(crate) limits: Limits,
    /// How many may stand in each queue, its head counted.
    pub(crate) most: usize,
}

/// DynamoDB remembers the token of a transaction that has happened.
const COPIES: Duplicate = Duplicate::Impossible;

/// One of the locks on the way.
struct QueuedLock<'a> {
    spec: &'a AcquireSpec,
    observer: ExpiryObserver,
    /// Sent before the last answer that showed somebody else at the head.
    last_other: Option<Instant>,
    index: usize,
    record: LockRecord,
    /// Once its turn has come: it is kept while the others are waited for.
    held: Option<KeptGrant>,
}

impl Acquirer for AllFairSpec {
    type Grant = Vec<KeptGrant>;

    async fn ask(&self, caller: &mut impl Caller) -> Result<Option<Vec<KeptGrant>>, Error> {
        let mut stands: Vec<_> = self.locks.iter().map(QueuedLock::new).collect();
        for QueuedLock { spec, observer, .. } in &stands {
            if let WaitResult::Gone = spec.after_abandoned(observer, caller).await? {
                return Ok(None);
            }
        }
        let mut me = self.locks[0].entry();
        let granted = self.stand(&mut me, &mut stands, caller).await;
        match &granted {
            Ok(Some(_)) | Err(Error::QueueFull { .. }) => {}
            Err(Error::Locked(_)) => AcquireSpec::abandon_at_the_end(self.locks.iter(), &me, COPIES).await,
            Ok(None) | Err(_) => self.locks.iter().for_each(|spec| spec.abandon_later(Arc::clone(&me), COPIES)),
        }
        granted.map_err(|error| at_the_end(error, stands.iter().map(|stand| (stand.spec, &stand.observer))))
    }
}

impl AllFairSpec {
    /// Enters all queues at once, and waits for its turn in each; nothing if the caller is gone.
    async fn stand(
        &self,
        me: &mut Arc<str>,
        stands: &mut [QueuedLock<'_>],
        caller: &mut impl Caller,
    ) -> Result<Option<Vec<KeptGrant>>, Error> {
        let Some(entered) = self.enter(me, stands, caller).await? else { return Ok(None) };
        let me = &*me;
        loop {
            self.look(me, stands, entered).await?;
            let Some(next) = stands.iter().position(|stand| stand.held.is_none()) else {
                return Ok(Some(stands.iter_mut().filter_map(|stand| stand.held.take()).collect()));
            };
            let left = stands[next].observer.left();
            if left.is_zero() {
                let QueuedLock { spec, record, observer, .. } = &stands[next];
                return Err(spec.locked(record, observer));
            }
            let pause = stands.iter_mut().filter(|stand| stand.held.is_none()).map(QueuedLock::pause).min();
            if clock::within(pause.unwrap_or(left).min(left), caller.gone()).await.is_some() {
                return Ok(None);
            }
        }
    }

    /// Takes a place in each queue, and says when, in epoch milliseconds; nothing if the caller is gone.
    async fn enter(
        &self,
        me: &mut Arc<str>,
        stands: &mut [QueuedLock<'_>],
        caller: &mut impl Caller,
    ) -> Result<Option<u64>, Error> {
        loop {
            let (sent, entered) = (clock::now(), self.locks[0].options.now());
            for stand in &mut *stands {
                stand.observer.requests += 1;
            }
            let Some(reasons) = self.enqueue(me, entered, &stands[0].observer).await? else {
                // Whose turn it is already, it is since then.
                for stand in stands {
                    stand.last_other = Some(sent);
                }
                return Ok(Some(entered));
            };
            let in_the_way: Vec<_> =
                stands.iter_mut().zip(reasons).filter(|(_, reason)| reason.class().is_some()).collect();
            for (QueuedLock { spec, observer, .. }, reason) in in_the_way {
                let record = LockRecord::of(&spec.row.layout, reason.item.as_ref());
                if record.place_of(me).is_some() {
                    // A copy whose reply was lost was applied.
                    return Ok(Some(entered));
                }
                if spec.has_dead_head(&record, observer) && spec.evict(&record, observer).await? {
                    continue;
                }
                if record.owner.is_none() && record.queue.len() >= self.most {
                    return Err(spec.full(&record, observer));
                } else if !spec.clear(&record, observer).await?
                    && let WaitResult::Gone =
                        spec.wait(observer, record, |record| record.owner.is_some(), caller).await?
                {
                    return Ok(None);
                }
            }
            *me = self.locks[0].entry();
        }
    }

    /// One transaction; its reasons if it was refused.
    async fn enqueue(&self, me: &str, now: u64, observer: &ExpiryObserver) -> Result<Option<Vec<ActionReason>>, Error> {
        let first = &self.locks[0];
        let mut attempts = Attempts::new(&first.connection, observer.within_wait(self.limits));
        let writes = self.locks.iter().map(|spec| Write::from(spec.row.enqueue(me, now, self.most)));
        together(&mut attempts, first, writes).await
    }

    /// Reads all rows, takes the locks whose turn has come, and dead heads out of the way.
    async fn look(&self, me: &Arc<str>, stands: &mut [QueuedLock<'_>], entered: u64) -> Result<(), Error> {
        let first = &self.locks[0];
        let sent = clock::now();
        let keys = self.locks.iter().map(|spec| spec.row.key.clone()).collect();
        let rows = first.attempts(&stands[0].observer).read_many(&first.row.table, keys).await?;
        for stand in stands {
            let key = &stand.spec.row.key;
            let row = rows.iter().find(|row| key.iter().all(|(name, value)| row.get(name) == Some(value)));
            if !stand.take_in(me, row.cloned(), sent, entered).await? {
                return Err(stand.spec.evicted(&stand.observer));
            }
        }
        Ok(())
    }
}

impl<'a> QueuedLock<'a> {
    fn new(spec: &'a AcquireSpec) -> Self {
        Self { spec, observer: spec.observer(), last_other: None, index: 0, record: LockRecord::default(), held: None }
    }

    /// Goes on by what its row says; `false` if its place is gone.
    async fn take_in(&mut self, me: &Arc<str>, row: Option<Item>, sent: Instant, entered: u64) -> Result<bool, Error> {
        let record = LockRecord::of(&self.spec.row.layout, row.as_ref());
        let Some(index) = record.place_of(me) else { return Ok(false) };
        (self.record, self.index) = (record.clone(), index);
        match &self.held {
            Some(held) => {
                // Nobody else renews it if it has no heartbeat of its own, or was held for its longest already.
                if held.guard.grant.remaining() < self.spec.options.ttl / 2 {
                    match self.spec.beat_in_time(&held.guard.grant, None, &self.observer).await {
                        Ok(()) | Err(Error::Lost(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
                return Ok(!held.guard.grant.remaining().is_zero());
            }
            None if index == 0 => {
                let place =
                    QueuePosition { row, record, index, last_other: self.last_other, entered, duplicate: COPIES };
                let Some(granted) = self.spec.take(me, place, &self.observer).await? else { return Ok(false) };
                let Acquired { grant, row } = granted;
                let guard = HeldGrant::new(grant, self.spec.background.clone());
                self.held = Some(KeptGrant { guard, row });
            }
            None => {
                self.last_other = Some(sent);
                if self.spec.has_dead_head(&record, &mut self.observer) {
                    self.spec.evict(&record, &mut self.observer).await?;
                }
            }
        }
        Ok(true)
    }

    fn pause(&mut self) -> Duration {
        self.spec.pause_in_queue(&self.record, self.index, &mut self.observer)
    }
}

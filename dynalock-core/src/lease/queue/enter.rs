//! Asking for a lock in the order of those who ask.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use super::{
    request::Duplicate,
    status::{QueueStatus, WaitEstimate},
};
use crate::{
    clock::{self, Instant},
    codec::Item,
    error::Error,
    lease::{
        acquire::{
            observer::ExpiryObserver,
            one::{AcquireSpec, Acquired, Caller, WaitResult},
        },
        clause::GrantKind,
        grant::Grant,
        held_grant::Acquirer,
        options::Expiry,
        record::{LockRecord, entry},
    },
    retry::Answered,
};

/// What it is asked for in turn.
pub(crate) struct FairSpec {
    pub(crate) spec: AcquireSpec,
    /// How many may stand in the queue, its head counted.
    pub(crate) most: usize,
    /// What is said of the wait.
    pub(crate) progress: watch::Sender<Option<QueueStatus>>,
}

/// What an enqueue came to.
enum EnterResult {
    Entered(QueuePosition),
    /// What is in the way: an owner, or a full queue.
    Refused(LockRecord),
}

/// Where somebody stands, by the row as it was seen last.
pub(crate) struct QueuePosition {
    pub(crate) row: Option<Item>,
    pub(crate) record: LockRecord,
    /// How many stand before; it never grows, though old reads may say so.
    pub(crate) index: usize,
    /// Sent before the last consistent answer that showed somebody else at the head: the turn came after it. Nothing if it is not known.
    pub(crate) last_other: Option<Instant>,
    /// Epoch milliseconds when it was entered: where the fences of a new row start.
    pub(crate) entered: u64,
    /// Whether a copy of the request for it may come yet.
    pub(crate) duplicate: Duplicate,
}

impl Acquirer for FairSpec {
    type Grant = Acquired;

    async fn ask(&self, caller: &mut impl Caller) -> Result<Option<Acquired>, Error> {
        let mut observer = self.spec.observer();
        let granted = self.ask_in_turn(&mut observer, caller).await;
        granted.map_err(|error| self.spec.at_the_end(error, &observer))
    }
}

impl FairSpec {
    async fn ask_in_turn(
        &self,
        observer: &mut ExpiryObserver,
        caller: &mut impl Caller,
    ) -> Result<Option<Acquired>, Error> {
        if let WaitResult::Gone = self.spec.after_abandoned(observer, caller).await? {
            return Ok(None);
        }
        let mut me = self.spec.entry();
        let place = match self.enter(&mut me, observer, caller).await {
            Ok(Some(place)) => place,
            Ok(None) => return Ok(None),
            Err(refused @ (Error::Locked(_) | Error::QueueFull { .. } | Error::NotFound { .. })) => {
                return Err(refused);
            }
            Err(error) => {
                self.spec.abandon_later(me, Duplicate::Possible);
                return Err(error);
            }
        };
        let duplicate = place.duplicate;
        let granted = self.stand(&me, place, observer, caller).await;
        match &granted {
            Ok(Some(_)) | Err(Error::NotFound { .. }) => {}
            Err(Error::Locked(_)) => AcquireSpec::abandon_at_the_end([&self.spec].into_iter(), &me, duplicate).await,
            // Also where it was taken out: a late copy may have brought it back.
            Ok(None) | Err(_) => self.spec.abandon_later(me, duplicate),
        }
        granted
    }

    /// Waits in the queue for its turn; nothing if the caller is gone.
    async fn stand(
        &self,
        me: &Arc<str>,
        mut place: QueuePosition,
        observer: &mut ExpiryObserver,
        caller: &mut impl Caller,
    ) -> Result<Option<Acquired>, Error> {
        let speed = WaitEstimate::new(place.index);
        while place.index > 0 {
            QueueStatus::new(&place.record, place.index, &speed).report(&self.progress);
            let mut is_next = place.index == 1;
            if self.spec.has_dead_head(&place.record, observer) && self.spec.evict(&place.record, observer).await? {
                is_next = true;
            } else {
                let left = observer.left();
                if left.is_zero() {
                    return Err(self.spec.locked(&place.record, observer));
                }
                let pause = self.spec.pause_in_queue(&place.record, place.index, observer).min(left);
                if clock::within(pause, caller.gone()).await.is_some() {
                    return Ok(None);
                }
            }
            place = self.look(me, place, is_next, observer).await?;
        }
        match self.spec.take(me, place, observer).await? {
            Some(granted) if self.spec.row.is_beside() => self.spec.with_item(granted, observer).await.map(Some),
            Some(granted) => Ok(Some(granted)),
            None => Err(self.spec.evicted(observer)),
        }
    }

    /// Takes a place, under an entry of the moment; nothing if the caller is gone.
    async fn enter(
        &self,
        me: &mut Arc<str>,
        observer: &mut ExpiryObserver,
        caller: &mut impl Caller,
    ) -> Result<Option<QueuePosition>, Error> {
        loop {
            observer.requests += 1;
            let record = match self.enqueue(me, observer).await? {
                EnterResult::Entered(place) => return Ok(Some(place)),
                EnterResult::Refused(record) => record,
            };
            if !self.spec.has_dead_head(&record, observer) || !self.spec.evict(&record, observer).await? {
                if record.owner.is_none() && record.queue.len() >= self.most {
                    return Err(self.spec.full(&record, observer));
                } else if !self.spec.clear(&record, observer).await?
                    && let WaitResult::Gone =
                        self.spec.wait(observer, record, |record| record.owner.is_some(), caller).await?
                {
                    return Ok(None);
                }
            }
            // Not before the wait: others count its lease from the time that it names.
            *me = self.spec.entry();
        }
    }

    /// One conditional write.
    async fn enqueue(&self, me: &Arc<str>, observer: &ExpiryObserver) -> Result<EnterResult, Error> {
        let AcquireSpec { row, options, .. } = &self.spec;
        let mut attempts = self.spec.attempts(observer);
        let (mut sent, mut entered) = (clock::now(), 0);
        let request = || {
            (sent, entered) = (clock::now(), options.now());
            row.enqueue(me, entered, self.most)
        };
        let answer = attempts.update(request).await?;
        let (item, is_applied) = match answer {
            Answered::Applied(before) => (before, true),
            Answered::Refused(None) if row.existing.is_some() => {
                return Err(self.spec.not_found(attempts.spent()));
            }
            Answered::Refused(met) => (met, false),
        };
        let mut record = LockRecord::of(&row.layout, item.as_ref());
        if is_applied {
            record.queue.push(me.to_string());
        }
        Ok(match record.place_of(me) {
            // Of a copy whose reply was lost nobody knows when it came to be the head.
            Some(index) => {
                let last_other = (is_applied || index > 0).then_some(sent);
                let duplicate = Duplicate::of(&attempts);
                EnterResult::Entered(QueuePosition { row: item, record, index, last_other, entered, duplicate })
            }
            None => EnterResult::Refused(record),
        })
    }

    /// Reads the row. An old read may show anything that was true once: that somebody has been evicted is for a consistent one to say.
    async fn look(
        &self,
        me: &str,
        place: QueuePosition,
        is_next: bool,
        observer: &ExpiryObserver,
    ) -> Result<QueuePosition, Error> {
        let row = &self.spec.row;
        let mut consistent = is_next;
        loop {
            let sent = clock::now();
            let item = self.spec.attempts(observer).read(&row.get(consistent)).await?;
            let record = LockRecord::of(&row.layout, item.as_ref());
            match record.place_of(me) {
                Some(index) => {
                    let last_other = match (consistent, index) {
                        (true, 1..) => Some(sent),
                        (true, 0) | (false, 1..) => place.last_other,
                        // It may have been so before the last look: the copy of a request may have brought it back since.
                        (false, 0) => None,
                    };
                    return Ok(QueuePosition { row: item, record, index: index.min(place.index), last_other, ..place });
                }
                None if consistent && item.is_none() && row.existing.is_some() => {
                    return Err(self.spec.not_found(observer.spent()));
                }
                None if consistent => return Err(self.spec.evicted(observer)),
                None => consistent = true,
            }
        }
    }
}

impl AcquireSpec {
    /// What this asker is called in a queue that it enters now.
    pub(crate) fn entry(&self) -> Arc<str> {
        entry(&self.owner(), self.options.ttl, self.options.now()).into()
    }

    /// The turn has come: the lease counts from when nobody else can count it yet, or from a heartbeat. Nothing if others have ended it.
    pub(crate) async fn take(
        &self,
        me: &Arc<str>,
        place: QueuePosition,
        observer: &ExpiryObserver,
    ) -> Result<Option<Acquired>, Error> {
        let Self { connection, row, options, payload, .. } = self;
        let QueuePosition { row: item, record, last_other, entered, duplicate, .. } = place;
        let now = clock::now();
        let fresh = self.since(last_other, &record, now).filter(|since| now.duration_since(*since) < options.ttl / 2);
        let fence = GrantKind::Fair.fence(record.fence.unwrap_or(entered));
        let fences = (fence, observer.taken_over_before(fence));
        let of = (Arc::clone(connection), row.clone(), *options);
        let sent = fresh.unwrap_or(now);
        let grant = Grant::new(of, (GrantKind::Fair, Arc::clone(me)), fences, record.beat.unwrap_or(0), sent);
        let grant = Arc::new(grant.with_place(record.waiters(), duplicate));
        if fresh.is_none() || payload.is_some() {
            match self.beat_in_time(&grant, payload.as_deref(), observer).await {
                Ok(()) => {}
                Err(Error::Lost(lost)) if lost.is_over() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Acquired { grant, row: item }))
    }

    /// From when on a head that has not beaten has its lease; nothing if that is not known.
    ///
    /// Who watches counts from when it has seen it there, which was after the last consistent answer that showed somebody else. Who goes by
    /// clocks counts from its turn, and the skew: so it may, too, from its turn by its own clock without the skew.
    fn since(&self, last_other: Option<Instant>, record: &LockRecord, now: Instant) -> Option<Instant> {
        let Expiry::Clock { max_skew } = self.options.expiry else { return last_other };
        let age = self.options.now().saturating_sub(record.head_since().unwrap_or(0));
        let turn = now.checked_sub(Duration::from_millis(age))?;
        last_other.map(|seen| seen.min(turn)).max(turn.checked_sub(max_skew))
    }

    /// A queue that is full; of one who does not wait, it is full as soon as there is a head.
    pub(crate) fn full(&self, record: &LockRecord, observer: &ExpiryObserver) -> Error {
        if observer.only_tries() {
            return self.locked(record, observer);
        }
        Error::QueueFull { table: Arc::clone(&self.row.table), waiting: record.queue.len(), spent: observer.spent() }
    }

    pub(crate) fn evicted(&self, observer: &ExpiryObserver) -> Error {
        let table = Arc::clone(&self.row.table);
        Error::Evicted { table, spent: observer.spent() }
    }
}

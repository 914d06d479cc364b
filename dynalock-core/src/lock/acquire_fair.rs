//! Asking for a lock in the order of those who ask.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use super::{
    acquire::{Asking, Caller, Granted, Waited},
    grip::Grip,
    guard::Ask,
    mark::{Mark, entry},
    queue::Copies,
    queued::{Speed, Waiting},
    terms::Expiry,
    watcher::Watcher,
};
use crate::{
    clock::{self, Instant},
    codec::Item,
    error::Error,
    expression::Hold,
    retry::Answered,
};

/// What it is asked for in turn.
pub(super) struct AskingFair {
    pub(super) asking: Asking,
    /// How many may stand in the queue, its head counted.
    pub(super) most: usize,
    /// What is said of the wait.
    pub(super) progress: watch::Sender<Option<Waiting>>,
}

/// What an enqueue came to.
enum Entered {
    Place(Place),
    /// What is in the way: an owner, or a full queue.
    Refused(Mark),
}

/// Where somebody stands, by the row as it was seen last.
pub(super) struct Place {
    pub(super) row: Option<Item>,
    pub(super) mark: Mark,
    /// How many stand before; it never grows, though old reads may say so.
    pub(super) index: usize,
    /// Sent before the last consistent answer that showed somebody else at the head: the turn came after it. Nothing if it is not known.
    pub(super) last_other: Option<Instant>,
    /// Epoch milliseconds when it was entered: where the fences of a new row start.
    pub(super) entered: u64,
    /// Whether a copy of the request for it may come yet.
    pub(super) copies: Copies,
}

impl Ask for AskingFair {
    type Grant = Granted;

    async fn ask(&self, caller: &mut impl Caller) -> Result<Option<Granted>, Error> {
        let mut watcher = self.asking.watcher();
        let granted = self.ask_in_turn(&mut watcher, caller).await;
        granted.map_err(|error| self.asking.at_the_end(error, &watcher))
    }
}

impl AskingFair {
    async fn ask_in_turn(&self, watcher: &mut Watcher, caller: &mut impl Caller) -> Result<Option<Granted>, Error> {
        if let Waited::Gone = self.asking.after_abandoned(watcher, caller).await? {
            return Ok(None);
        }
        let mut me = self.asking.entry();
        let place = match self.enter(&mut me, watcher, caller).await {
            Ok(Some(place)) => place,
            Ok(None) => return Ok(None),
            Err(refused @ (Error::Locked(_) | Error::QueueFull { .. } | Error::NotFound { .. })) => {
                return Err(refused);
            }
            Err(error) => {
                self.asking.abandon_later(me, Copies::MayCome);
                return Err(error);
            }
        };
        let copies = place.copies;
        let granted = self.stand(&me, place, watcher, caller).await;
        match &granted {
            Ok(Some(_)) | Err(Error::NotFound { .. }) => {}
            Err(Error::Locked(_)) => Asking::abandon_at_the_end([&self.asking].into_iter(), &me, copies).await,
            // Also where it was taken out: a late copy may have brought it back.
            Ok(None) | Err(_) => self.asking.abandon_later(me, copies),
        }
        granted
    }

    /// Waits in the queue for its turn; nothing if the caller is gone.
    async fn stand(
        &self,
        me: &Arc<str>,
        mut place: Place,
        watcher: &mut Watcher,
        caller: &mut impl Caller,
    ) -> Result<Option<Granted>, Error> {
        let speed = Speed::new(place.index);
        while place.index > 0 {
            Waiting::new(&place.mark, place.index, &speed).report(&self.progress);
            let mut is_next = place.index == 1;
            if self.asking.has_dead_head(&place.mark, watcher) && self.asking.evict(&place.mark, watcher).await? {
                is_next = true;
            } else {
                let left = watcher.left();
                if left.is_zero() {
                    return Err(self.asking.locked(&place.mark, watcher));
                }
                let pause = self.asking.pause_in_queue(&place.mark, place.index, watcher).min(left);
                if clock::within(pause, caller.gone()).await.is_some() {
                    return Ok(None);
                }
            }
            place = self.look(me, place, is_next, watcher).await?;
        }
        match self.asking.take(me, place, watcher).await? {
            Some(granted) if self.asking.row.is_beside() => self.asking.with_item(granted, watcher).await.map(Some),
            Some(granted) => Ok(Some(granted)),
            None => Err(self.asking.evicted(watcher)),
        }
    }

    /// Takes a place, under an entry of the moment; nothing if the caller is gone.
    async fn enter(
        &self,
        me: &mut Arc<str>,
        watcher: &mut Watcher,
        caller: &mut impl Caller,
    ) -> Result<Option<Place>, Error> {
        loop {
            watcher.requests += 1;
            let mark = match self.enqueue(me, watcher).await? {
                Entered::Place(place) => return Ok(Some(place)),
                Entered::Refused(mark) => mark,
            };
            if !self.asking.has_dead_head(&mark, watcher) || !self.asking.evict(&mark, watcher).await? {
                if mark.owner.is_none() && mark.queue.len() >= self.most {
                    return Err(self.asking.full(&mark, watcher));
                } else if !self.asking.clear(&mark, watcher).await?
                    && let Waited::Gone = self.asking.wait(watcher, mark, |mark| mark.owner.is_some(), caller).await?
                {
                    return Ok(None);
                }
            }
            // Not before the wait: others count its lease from the time that it names.
            *me = self.asking.entry();
        }
    }

    /// One conditional write.
    async fn enqueue(&self, me: &Arc<str>, watcher: &Watcher) -> Result<Entered, Error> {
        let Asking { row, terms, .. } = &self.asking;
        let mut effort = self.asking.effort(watcher);
        let (mut sent, mut entered) = (clock::now(), 0);
        let request = || {
            (sent, entered) = (clock::now(), terms.now());
            row.enqueue(me, entered, self.most)
        };
        let answer = effort.update(request).await?;
        let (item, is_applied) = match answer {
            Answered::Applied(before) => (before, true),
            Answered::Refused(None) if row.existing.is_some() => {
                return Err(self.asking.not_found(effort.spent()));
            }
            Answered::Refused(met) => (met, false),
        };
        let mut mark = Mark::of(&row.layout, item.as_ref());
        if is_applied {
            mark.queue.push(me.to_string());
        }
        Ok(match mark.place_of(me) {
            // Of a copy whose reply was lost nobody knows when it came to be the head.
            Some(index) => {
                let last_other = (is_applied || index > 0).then_some(sent);
                let copies = Copies::of(&effort);
                Entered::Place(Place { row: item, mark, index, last_other, entered, copies })
            }
            None => Entered::Refused(mark),
        })
    }

    /// Reads the row. An old read may show anything that was true once: that somebody has been evicted is for a consistent one to say.
    async fn look(&self, me: &str, place: Place, is_next: bool, watcher: &Watcher) -> Result<Place, Error> {
        let row = &self.asking.row;
        let mut consistent = is_next;
        loop {
            let sent = clock::now();
            let item = self.asking.effort(watcher).read(&row.get(consistent)).await?;
            let mark = Mark::of(&row.layout, item.as_ref());
            match mark.place_of(me) {
                Some(index) => {
                    let last_other = match (consistent, index) {
                        (true, 1..) => Some(sent),
                        (true, 0) | (false, 1..) => place.last_other,
                        // It may have been so before the last look: the copy of a request may have brought it back since.
                        (false, 0) => None,
                    };
                    return Ok(Place { row: item, mark, index: index.min(place.index), last_other, ..place });
                }
                None if consistent && item.is_none() && row.existing.is_some() => {
                    return Err(self.asking.not_found(watcher.spent()));
                }
                None if consistent => return Err(self.asking.evicted(watcher)),
                None => consistent = true,
            }
        }
    }
}

impl Asking {
    /// What this asker is called in a queue that it enters now.
    pub(super) fn entry(&self) -> Arc<str> {
        entry(&self.owner(), self.terms.ttl, self.terms.now()).into()
    }

    /// The turn has come: the lease counts from when nobody else can count it yet, or from a heartbeat. Nothing if others have ended it.
    pub(super) async fn take(&self, me: &Arc<str>, place: Place, watcher: &Watcher) -> Result<Option<Granted>, Error> {
        let Self { connection, row, terms, payload, .. } = self;
        let Place { row: item, mark, last_other, entered, copies, .. } = place;
        let now = clock::now();
        let fresh = self.since(last_other, &mark, now).filter(|since| now.duration_since(*since) < terms.ttl / 2);
        let fence = Hold::Fair.fence(mark.fence.unwrap_or(entered));
        let fences = (fence, watcher.taken_over_before(fence));
        let of = (Arc::clone(connection), row.clone(), *terms);
        let sent = fresh.unwrap_or(now);
        let grip = Grip::new(of, (Hold::Fair, Arc::clone(me)), fences, mark.beat.unwrap_or(0), sent);
        let grip = Arc::new(grip.with_place(mark.behind(), copies));
        if fresh.is_none() || payload.is_some() {
            match self.beat_in_time(&grip, payload.as_deref(), watcher).await {
                Ok(()) => {}
                Err(Error::Lost(lost)) if lost.is_over() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Granted { grip, row: item }))
    }

    /// From when on a head that has not beaten has its lease; nothing if that is not known.
    ///
    /// Who watches counts from when it has seen it there, which was after the last consistent answer that showed somebody else. Who goes by
    /// clocks counts from its turn, and the skew: so it may, too, from its turn by its own clock without the skew.
    fn since(&self, last_other: Option<Instant>, mark: &Mark, now: Instant) -> Option<Instant> {
        let Expiry::Clock { max_skew } = self.terms.expiry else { return last_other };
        let age = self.terms.now().saturating_sub(mark.head_since().unwrap_or(0));
        let turn = now.checked_sub(Duration::from_millis(age))?;
        last_other.map(|seen| seen.min(turn)).max(turn.checked_sub(max_skew))
    }

    /// A queue that is full; of one who does not wait, it is full as soon as there is a head.
    pub(super) fn full(&self, mark: &Mark, watcher: &Watcher) -> Error {
        if watcher.only_tries() {
            return self.locked(mark, watcher);
        }
        Error::QueueFull { table: Arc::clone(&self.row.table), waiting: mark.queue.len(), spent: watcher.spent() }
    }

    pub(super) fn evicted(&self, watcher: &Watcher) -> Error {
        let table = Arc::clone(&self.row.table);
        Error::Evicted { table, spent: watcher.spent() }
    }
}

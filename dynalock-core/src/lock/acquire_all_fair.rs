//! Asking for several locks in the order of those who ask.

use std::{sync::Arc, time::Duration};

use super::{
    acquire::{Asking, Caller, Waited},
    acquire_all::{at_the_end, together},
    acquire_fair::Place,
    guard::Ask,
    held::Held,
    mark::Mark,
    queue::Copies,
    watcher::Watcher,
};
use crate::{
    clock::{self, Instant},
    codec::Item,
    error::Error,
    operation::{Reason, Write},
    retry::{Effort, Limits},
};

/// What it is asked for in turn, each lock once: at least one.
///
/// All places are taken in one transaction, so of any two who want several of the same locks, one stands before the other in all of their queues: nobody
/// waits for one who waits for him.
pub(super) struct AskingAllFair {
    pub(super) locks: Vec<Asking>,
    /// Those of the transaction. A read must not take that long: a head that is silent for a ttl is taken out.
    pub(super) limits: Limits,
    /// How many may stand in each queue, its head counted.
    pub(super) most: usize,
}

/// DynamoDB remembers the token of a transaction that has happened.
const COPIES: Copies = Copies::None;

/// One of the locks on the way.
struct Stand<'a> {
    asking: &'a Asking,
    watcher: Watcher,
    /// Sent before the last answer that showed somebody else at the head.
    last_other: Option<Instant>,
    index: usize,
    mark: Mark,
    /// Once its turn has come: it is kept while the others are waited for.
    held: Option<Held>,
}

impl Ask for AskingAllFair {
    type Grant = Vec<Held>;

    async fn ask(&self, caller: &mut impl Caller) -> Result<Option<Vec<Held>>, Error> {
        let mut stands: Vec<_> = self.locks.iter().map(Stand::new).collect();
        for Stand { asking, watcher, .. } in &stands {
            if let Waited::Gone = asking.after_abandoned(watcher, caller).await? {
                return Ok(None);
            }
        }
        let mut me = self.locks[0].entry();
        let granted = self.stand(&mut me, &mut stands, caller).await;
        match &granted {
            Ok(Some(_)) | Err(Error::QueueFull { .. }) => {}
            Err(Error::Locked(_)) => Asking::abandon_at_the_end(self.locks.iter(), &me, COPIES).await,
            Ok(None) | Err(_) => self.locks.iter().for_each(|asking| asking.abandon_later(Arc::clone(&me), COPIES)),
        }
        granted.map_err(|error| at_the_end(error, stands.iter().map(|stand| (stand.asking, &stand.watcher))))
    }
}

impl AskingAllFair {
    /// Enters all queues at once, and waits for its turn in each; nothing if the caller is gone.
    async fn stand(
        &self,
        me: &mut Arc<str>,
        stands: &mut [Stand<'_>],
        caller: &mut impl Caller,
    ) -> Result<Option<Vec<Held>>, Error> {
        let Some(entered) = self.enter(me, stands, caller).await? else { return Ok(None) };
        let me = &*me;
        loop {
            self.look(me, stands, entered).await?;
            let Some(next) = stands.iter().position(|stand| stand.held.is_none()) else {
                return Ok(Some(stands.iter_mut().filter_map(|stand| stand.held.take()).collect()));
            };
            let left = stands[next].watcher.left();
            if left.is_zero() {
                let Stand { asking, mark, watcher, .. } = &stands[next];
                return Err(asking.locked(mark, watcher));
            }
            let pause = stands.iter_mut().filter(|stand| stand.held.is_none()).map(Stand::pause).min();
            if clock::within(pause.unwrap_or(left).min(left), caller.gone()).await.is_some() {
                return Ok(None);
            }
        }
    }

    /// Takes a place in each queue, and says when, in epoch milliseconds; nothing if the caller is gone.
    async fn enter(
        &self,
        me: &mut Arc<str>,
        stands: &mut [Stand<'_>],
        caller: &mut impl Caller,
    ) -> Result<Option<u64>, Error> {
        loop {
            let (sent, entered) = (clock::now(), self.locks[0].terms.now());
            for stand in &mut *stands {
                stand.watcher.requests += 1;
            }
            let Some(reasons) = self.enqueue(me, entered, &stands[0].watcher).await? else {
                // Whose turn it is already, it is since then.
                for stand in stands {
                    stand.last_other = Some(sent);
                }
                return Ok(Some(entered));
            };
            let in_the_way: Vec<_> =
                stands.iter_mut().zip(reasons).filter(|(_, reason)| reason.class().is_some()).collect();
            for (Stand { asking, watcher, .. }, reason) in in_the_way {
                let mark = Mark::of(&asking.row.layout, reason.item.as_ref());
                if mark.place_of(me).is_some() {
                    // A copy whose reply was lost was applied.
                    return Ok(Some(entered));
                }
                if asking.has_dead_head(&mark, watcher) && asking.evict(&mark, watcher).await? {
                    continue;
                }
                if mark.owner.is_none() && mark.queue.len() >= self.most {
                    return Err(asking.full(&mark, watcher));
                } else if !asking.clear(&mark, watcher).await?
                    && let Waited::Gone = asking.wait(watcher, mark, |mark| mark.owner.is_some(), caller).await?
                {
                    return Ok(None);
                }
            }
            *me = self.locks[0].entry();
        }
    }

    /// One transaction; its reasons if it was refused.
    async fn enqueue(&self, me: &str, now: u64, watcher: &Watcher) -> Result<Option<Vec<Reason>>, Error> {
        let first = &self.locks[0];
        let mut effort = Effort::new(&first.connection, watcher.within_wait(self.limits));
        let writes = self.locks.iter().map(|asking| Write::from(asking.row.enqueue(me, now, self.most)));
        together(&mut effort, first, writes).await
    }

    /// Reads all rows, takes the locks whose turn has come, and dead heads out of the way.
    async fn look(&self, me: &Arc<str>, stands: &mut [Stand<'_>], entered: u64) -> Result<(), Error> {
        let first = &self.locks[0];
        let sent = clock::now();
        let keys = self.locks.iter().map(|asking| asking.row.key.clone()).collect();
        let rows = first.effort(&stands[0].watcher).read_many(&first.row.table, keys).await?;
        for stand in stands {
            let key = &stand.asking.row.key;
            let row = rows.iter().find(|row| key.iter().all(|(name, value)| row.get(name) == Some(value)));
            if !stand.take_in(me, row.cloned(), sent, entered).await? {
                return Err(stand.asking.evicted(&stand.watcher));
            }
        }
        Ok(())
    }
}

impl<'a> Stand<'a> {
    fn new(asking: &'a Asking) -> Self {
        Self { asking, watcher: asking.watcher(), last_other: None, index: 0, mark: Mark::default(), held: None }
    }

    /// Goes on by what its row says; `false` if its place is gone.
    async fn take_in(&mut self, me: &Arc<str>, row: Option<Item>, sent: Instant, entered: u64) -> Result<bool, Error> {
        let mark = Mark::of(&self.asking.row.layout, row.as_ref());
        let Some(index) = mark.place_of(me) else { return Ok(false) };
        (self.mark, self.index) = (mark.clone(), index);
        match &self.held {
            Some(held) => {
                // Nobody else renews it if it has no heartbeat of its own, or was held for its longest already.
                if held.remaining() < self.asking.terms.ttl / 2 {
                    match self.asking.beat_in_time(held.grip(), None, &self.watcher).await {
                        Ok(()) | Err(Error::Lost(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
                return Ok(!held.remaining().is_zero());
            }
            None if index == 0 => {
                let place = Place { row, mark, index, last_other: self.last_other, entered, copies: COPIES };
                let Some(granted) = self.asking.take(me, place, &self.watcher).await? else { return Ok(false) };
                let Asking { label, background, .. } = self.asking;
                self.held = Some(Held::new(Arc::clone(label), granted, background.clone()));
            }
            None => {
                self.last_other = Some(sent);
                if self.asking.has_dead_head(&mark, &mut self.watcher) {
                    self.asking.evict(&mark, &mut self.watcher).await?;
                }
            }
        }
        Ok(true)
    }

    fn pause(&mut self) -> Duration {
        self.asking.pause_in_queue(&self.mark, self.index, &mut self.watcher)
    }
}

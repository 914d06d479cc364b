//! Taking who holds a lock or waits for it out of its row, by itself or by whoever is in its way, and the queue with its last head.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tokio::task::JoinHandle;

use super::{
    acquire::{Asking, Caller, Waited},
    mark::Mark,
    queue::{Behind, Copies, Evidence, Exit},
    row::{Row, RowId},
    terms::Terms,
    watcher::{LAST_REQUEST, Watcher},
};
use crate::{
    clock,
    codec::Item,
    error::Error,
    operation::Update,
    random,
    retry::{Answered, Backoff, Begun, Connection, Effort, Limits},
};

/// What became of a head that was to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Departed {
    Now,
    /// It was gone already: somebody else was first, or an attempt whose reply was lost.
    Before,
    /// It is there still.
    No,
}

/// What a row that has refused the request says of the head.
enum Head {
    Gone,
    /// It is there, and may go.
    Same,
    /// It is there, and has shown itself.
    Alive,
}

impl Row {
    /// The head goes by its own request, as somebody who holds the lock or gives up.
    pub(super) async fn leave_as(
        &self,
        effort: &mut Effort,
        (entry, behind): (&str, Behind),
        copies: Copies,
        terms: &Terms,
    ) -> Result<Departed, Error> {
        let leave = |behind| self.leave(entry, behind, Exit { copies, now: terms.now() });
        let head = |met: &Mark| if met.place_of(entry) == Some(0) { Head::Same } else { Head::Gone };
        self.depart(effort, behind, copies, leave, head).await
    }

    /// Takes out a head, as the mark shows it, that has died, or that is to go.
    pub(super) async fn take_out(
        &self,
        effort: &mut Effort,
        mark: &Mark,
        evidence: Evidence,
        terms: &Terms,
    ) -> Result<Departed, Error> {
        let Some(head) = mark.head_sighting() else { return Ok(Departed::Before) };
        let evict = |behind| self.evict(head, evidence, behind, terms.now());
        let head_in = |met: &Mark| match met.head_sighting() {
            Some(now) if now == head => Head::Same,
            Some(now) if now.is_same_stay(head) && evidence == Evidence::Order => Head::Same,
            Some(now) if now.is_same_stay(head) => Head::Alive,
            Some(_) | None => Head::Gone,
        };
        self.depart(effort, mark.behind(), Copies::None, evict, head_in).await
    }

    /// Takes a dead head out of the queue; `false` if it is there still.
    pub(super) async fn evict_dead(&self, effort: &mut Effort, mark: &Mark, terms: &Terms) -> Result<bool, Error> {
        Ok(self.take_out(effort, mark, Evidence::Silence, terms).await? != Departed::No)
    }

    /// Sends the request, and once more if somebody has come behind the head since.
    async fn depart(
        &self,
        effort: &mut Effort,
        mut behind: Behind,
        copies: Copies,
        request: impl Fn(Behind) -> Update,
        head_in: impl Fn(&Mark) -> Head,
    ) -> Result<Departed, Error> {
        loop {
            let (departed, empty_since) = match effort.update(|| request(behind)).await? {
                Answered::Applied(before) => {
                    let before = Mark::of(&self.layout, before.as_ref());
                    let was_last = behind == Behind::Somebody && before.behind() == Behind::Nobody;
                    (Departed::Now, before.last_fence().filter(|_| was_last))
                }
                Answered::Refused(met) => {
                    let met = Mark::of(&self.layout, met.as_ref());
                    match head_in(&met) {
                        // The request that leaves those behind in their places fits nobody behind, too: a refusal of that has another
                        // reason, which does not pass by sending it again.
                        Head::Same if behind == Behind::Nobody => {
                            behind = Behind::Somebody;
                            continue;
                        }
                        Head::Same | Head::Alive => return Ok(Departed::No),
                        Head::Gone => (Departed::Before, met.fence.filter(|_| met.is_abandoned)),
                    }
                }
            };
            if let Some(fence) = empty_since {
                self.sweep_up(effort.connection(), fence, copies).await;
            }
            return Ok(departed);
        }
    }

    /// Removes what a queue has left in which nobody stands since that fence. What stays, if this fails, is in nobody's way.
    pub(super) async fn sweep_up(&self, over: &Arc<Connection>, fence: u64, copies: Copies) {
        let mut effort = Effort::new(over, Limits::of_one_request());
        if let Err(error) = effort.update(|| self.sweep(fence, copies)).await {
            tracing::debug!(%error, "an empty queue stays in its row");
        }
    }
}

impl Asking {
    /// Takes a dead head out of the queue; `false` if it is there still, since it has shown itself meanwhile.
    pub(super) async fn evict(&self, mark: &Mark, watcher: &mut Watcher) -> Result<bool, Error> {
        let mut effort = self.effort(watcher);
        let departed = self.row.take_out(&mut effort, mark, Evidence::Silence, &self.terms).await?;
        // After a lost reply, the departure cannot be told from one that somebody else has caused.
        if departed == Departed::Now || departed == Departed::Before && effort.is_in_doubt() {
            watcher.taken_over = mark.last_fence();
        }
        Ok(departed != Departed::No)
    }

    /// Takes away an owner whose lease has ended; `false` if there is none.
    pub(super) async fn clear(&self, mark: &Mark, watcher: &mut Watcher) -> Result<bool, Error> {
        watcher.watch(mark);
        if mark.owner.is_none() || !self.left(mark, watcher).is_zero() {
            return Ok(false);
        }
        let Some(clear) = self.row.clear(mark, &self.dead(watcher)) else { return Ok(false) };
        let answer = self.effort(watcher).update(|| clear.clone()).await?;
        let is_cleared = matches!(answer, Answered::Applied(_));
        if is_cleared {
            watcher.taken_over = mark.fence;
        }
        Ok(is_cleared)
    }

    /// Gives up a place in the queue, also if the entry has moved. It tries until the entry is gone, for at most ten
    /// minutes, or for a ttl if that is longer.
    ///
    /// Each entry that stays delays the callers behind it by a ttl, and a client without replies would add entry after
    /// entry. Later calls of the client therefore wait until the entry is removed
    /// ([`after_abandoned`](Self::after_abandoned)).
    async fn abandon(&self, entry: &str, copies: Copies, mut pending: Option<Begun<RowId>>) {
        const LONGEST: Duration = Duration::from_mins(10);
        let started = clock::now();
        let (mut backoff, mut rng) = (Backoff::default(), random::generator());
        // Retries of its own, and none of the budget that all calls share: an outage is what this is for.
        while let Err(error) = self.abandon_once(entry, copies).await {
            tracing::debug!(%error, "a place in a queue could not be given up");
            if matches!(error, Error::TableNotFound { .. }) {
                return;
            }
            pending.get_or_insert_with(|| self.connection.abandoned.begin(self.row.id()));
            let pause = backoff.next(Backoff::FIRST, &mut rng);
            if clock::now().duration_since(started) + pause >= self.terms.ttl.max(LONGEST) {
                return;
            }
            clock::sleep(pause).await;
        }
    }

    /// One try, whose requests are not sent again.
    async fn abandon_once(&self, entry: &str, copies: Copies) -> Result<(), Error> {
        let read = |item: Option<Item>| Mark::of(&self.row.layout, item.as_ref());
        let once = Limits::of_one_request();
        let limits = Limits { attempt_timeout: self.limits.attempt_timeout.saturating_mul(2), ..once };
        let mut effort = Effort::new(&self.connection, limits);
        let mut mark = read(effort.read(&self.row.get(true)).await?);
        // A place only gets better: so this ends.
        while let Some(index) = mark.place_of(entry) {
            if index == 0 {
                let who = (entry, mark.behind());
                return match self.row.leave_as(&mut effort, who, copies, &self.terms).await? {
                    Departed::Now | Departed::Before => Ok(()),
                    Departed::No => Err(effort.too_late()),
                };
            }
            mark = match effort.update(|| self.row.abandon(entry, index)).await? {
                Answered::Applied(_) => return Ok(()),
                Answered::Refused(met) => read(met),
            };
            if mark.place_of(entry).is_some_and(|place| place >= index) {
                return Err(effort.too_late());
            }
        }
        Ok(())
    }

    /// Gives up, in the background, a place that may have been taken.
    pub(super) fn abandon_later(&self, entry: Arc<str>, copies: Copies) {
        drop(self.abandoning(entry, copies));
    }

    /// Gives up a place in each queue, and waits a moment for the answers. If DynamoDB answers in time, the entries
    /// are gone when the call ends.
    pub(super) async fn abandon_at_the_end(all: impl Iterator<Item = &Self>, entry: &Arc<str>, copies: Copies) {
        let tasks: Vec<_> = all.filter_map(|asking| asking.abandoning(Arc::clone(entry), copies)).collect();
        let done = async {
            for task in tasks {
                drop(task.await);
            }
        };
        // What takes longer goes on in the background.
        let _ = clock::within(LAST_REQUEST, done).await;
    }

    /// A task, unless the runtime has ended.
    fn abandoning(&self, entry: Arc<str>, copies: Copies) -> Option<JoinHandle<()>> {
        let asking = self.clone();
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        // Whose request was in doubt is cut off perhaps: the next call is to know of it at once.
        let pending = (copies == Copies::MayCome).then(|| self.connection.abandoned.begin(self.row.id()));
        Some(runtime.spawn(async move { asking.abandon(&entry, copies, pending).await }))
    }

    /// Waits until no earlier place in the queue has still to be given up: a client whose line is cut would fill the queue otherwise.
    pub(super) async fn after_abandoned(&self, watcher: &Watcher, caller: &mut impl Caller) -> Result<Waited, Error> {
        let id = self.row.id();
        let (mut done, mut gone) = (pin!(self.connection.abandoned.done(&id)), pin!(caller.gone()));
        let either = poll_fn(|context| match done.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Waited::ToAsk),
            Poll::Pending => gone.as_mut().poll(context).map(|()| Waited::Gone),
        });
        let waited = clock::within(self.limits(watcher).deadline, either).await;
        waited.ok_or_else(|| watcher.unanswered())
    }
}

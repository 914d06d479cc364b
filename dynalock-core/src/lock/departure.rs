//! Taking who holds a lock or waits for it out of its row, by itself or by whoever is in its way, and the queue with its last head.

use std::{sync::Arc, time::Duration};

use super::{
    acquire::Asking,
    mark::Mark,
    queue::{Behind, Copies, Evidence, Exit},
    row::{Note, Row},
    terms::Terms,
    watcher::Watcher,
};
use crate::{
    codec::Item,
    error::Error,
    operation::Update,
    retry::{Answered, Connection, Effort, Limits},
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
    /// It is there under another fence, or has shown itself.
    Alive,
}

impl Row {
    /// The head goes by its own request, as somebody who holds the lock or gives up.
    pub(super) async fn leave_as(
        &self,
        effort: &mut Effort,
        (entry, behind): (&str, Behind),
        (note, copies): (Note, Copies),
        terms: &Terms,
    ) -> Result<Departed, Error> {
        let leave = |behind| self.leave(entry, behind, Exit { note, copies, now: terms.now() });
        let head = |met: &Mark| match (met.place_of(entry), note) {
            (Some(0), Note::Told(fence)) if met.last_fence() != Some(fence) => Head::Alive,
            (Some(0), _) => Head::Same,
            _ => Head::Gone,
        };
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
        let Some(head) = mark.head() else { return Ok(Departed::Before) };
        let evict = |behind| self.evict(&head, evidence, behind, terms.now());
        let head_in = |met: &Mark| match met.head() {
            Some(now) if now == head => Head::Same,
            Some(now) if now.is_same_stay(&head) && evidence == Evidence::Order => Head::Same,
            Some(now) if now.is_same_stay(&head) => Head::Alive,
            Some(_) | None => Head::Gone,
        };
        self.depart(effort, mark.behind(), Copies::None, evict, head_in).await
    }

    /// Takes a dead head out of the queue; `false` if it is there still.
    pub(super) async fn evict_dead(&self, effort: &mut Effort, mark: &Mark, terms: &Terms) -> Result<bool, Error> {
        Ok(self.take_out(effort, mark, Evidence::Silence, terms).await? != Departed::No)
    }

    /// Sends the request until it fits who stands behind.
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
                        Head::Same if effort.may_go_on(Duration::ZERO) => {
                            behind = met.behind();
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
    pub(super) async fn evict(&self, mark: &Mark) -> Result<bool, Error> {
        self.row.evict_dead(&mut Effort::new(&self.connection, self.limits), mark, &self.terms).await
    }

    /// Takes away an owner whose lease has ended; `false` if there is none.
    pub(super) async fn clear(&self, mark: &Mark, watcher: &mut Watcher) -> Result<bool, Error> {
        watcher.watch(mark);
        if mark.owner.is_none() || !self.left(mark, watcher).is_zero() {
            return Ok(false);
        }
        let Some(clear) = self.row.clear(mark, &self.dead(watcher)) else { return Ok(false) };
        let answer = Effort::new(&self.connection, self.limits).update(|| clear.clone()).await?;
        Ok(matches!(answer, Answered::Applied(_)))
    }

    /// Gives up a place in the queue, wherever it is by now.
    pub(super) async fn abandon(&self, entry: &str, copies: Copies) -> Result<(), Error> {
        let read = |item: Option<Item>| Mark::of(&self.row.layout, item.as_ref());
        let mut effort = Effort::new(&self.connection, self.limits);
        let mut mark = read(effort.read(&self.row.get(true)).await?);
        while let Some(index) = mark.place_of(entry) {
            if index == 0 {
                let (who, how) = ((entry, mark.behind()), (Note::Untold(None), copies));
                return self.row.leave_as(&mut effort, who, how, &self.terms).await.map(drop);
            }
            mark = match effort.update(|| self.row.abandon(entry, index)).await? {
                Answered::Applied(_) => return Ok(()),
                Answered::Refused(met) => read(met),
            };
        }
        Ok(())
    }

    /// Gives up, in the background, a place that may have been taken.
    pub(super) fn abandon_later(&self, entry: Arc<str>, copies: Copies) {
        let asking = self.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { asking.abandon(&entry, copies).await });
        }
    }
}

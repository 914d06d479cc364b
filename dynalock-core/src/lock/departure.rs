//! Taking the head out of a queue, by itself or by whoever is in its way, and the queue out of the row with its last head.

use super::{
    mark::Mark,
    queue::{Behind, Copies, Evidence, Exit},
    row::Row,
    terms::Terms,
};
use crate::{
    error::Error,
    operation::Update,
    retry::{Answered, Effort, Limits},
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

impl Row {
    /// The head goes by its own request, as somebody who holds the lock or gives up.
    pub(super) async fn leave_as(
        &self,
        effort: &mut Effort,
        entry: &str,
        behind: Behind,
        exit: impl Fn() -> Exit,
    ) -> Result<Departed, Error> {
        let copies = exit().copies;
        let leave = |behind| self.leave(entry, behind, exit());
        self.depart(effort, behind, copies, leave, |met| (met.place_of(entry) == Some(0)).then_some(true)).await
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
        let is_there = |met: &Mark| {
            let now = met.head().filter(|now| now.is_same_stay(&head))?;
            Some(evidence == Evidence::Order || now == head)
        };
        self.depart(effort, mark.behind(), Copies::None, evict, is_there).await
    }

    /// Takes a dead head out of the queue; `false` if it is there still.
    pub(super) async fn evict_dead(&self, effort: &mut Effort, mark: &Mark, terms: &Terms) -> Result<bool, Error> {
        Ok(self.take_out(effort, mark, Evidence::Silence, terms).await? != Departed::No)
    }

    /// Sends the request until it fits who stands behind. `is_there` says of a row that has refused it whether the head is there, and may go.
    async fn depart(
        &self,
        effort: &mut Effort,
        mut behind: Behind,
        copies: Copies,
        request: impl Fn(Behind) -> Update,
        is_there: impl Fn(&Mark) -> Option<bool>,
    ) -> Result<Departed, Error> {
        loop {
            let (met, departed) = match effort.update(|| request(behind)).await? {
                Answered::Applied(before) => {
                    let before = Mark::of(&self.layout, before.as_ref());
                    let is_last = behind == Behind::Somebody && before.behind() == Behind::Nobody;
                    (before.last_fence().filter(|_| is_last), Departed::Now)
                }
                Answered::Refused(met) => {
                    let met = Mark::of(&self.layout, met.as_ref());
                    match is_there(&met) {
                        Some(true) if behind != met.behind() => {
                            behind = met.behind();
                            continue;
                        }
                        Some(_) => return Ok(Departed::No),
                        None => (met.fence.filter(|_| met.is_abandoned), Departed::Before),
                    }
                }
            };
            if let Some(fence) = met {
                self.sweep_up(effort, fence, copies).await;
            }
            return Ok(departed);
        }
    }

    /// Removes what a queue has left in which nobody stands since that fence. What stays, if this fails, is in nobody's way.
    pub(super) async fn sweep_up(&self, effort: &Effort, fence: u64, copies: Copies) {
        let swept =
            Effort::new(effort.connection(), Limits::of_one_request()).update(|| self.sweep(fence, copies)).await;
        if let Err(error) = swept {
            tracing::debug!(%error, "an empty queue stays in its row");
        }
    }
}

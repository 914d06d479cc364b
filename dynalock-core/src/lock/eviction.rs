//! Taking a dead head out of the queue, by whoever is in its way: who waits, who asks, and who wants to write.

use super::{mark::Mark, queue::Evidence, row::Row, terms::Terms};
use crate::{
    error::Error,
    retry::{Answered, Effort},
};

/// What became of an eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evicted {
    Now,
    /// It was gone already: somebody else was first, or an attempt whose reply was lost.
    Before,
    /// It is there still, since it has shown itself.
    No,
}

impl Row {
    /// Takes a head out of the queue, as the mark shows it.
    pub(super) async fn take_out(
        &self,
        effort: &mut Effort,
        mark: &Mark,
        evidence: Evidence,
        terms: &Terms,
    ) -> Result<Evicted, Error> {
        let Some(head) = mark.head() else { return Ok(Evicted::Before) };
        let mut behind = mark.behind();
        loop {
            let met = match effort.update(|| self.evict(&head, evidence, behind, terms.now())).await? {
                Answered::Applied(_) => return Ok(Evicted::Now),
                Answered::Refused(met) => Mark::of(&self.layout, met.as_ref()),
            };
            let Some(now) = met.head().filter(|now| now.is_same_stay(&head)) else { return Ok(Evicted::Before) };
            let is_refused_for_others = evidence == Evidence::Order || now == head;
            if !is_refused_for_others || behind == met.behind() {
                return Ok(Evicted::No);
            }
            behind = met.behind();
        }
    }

    /// Takes a dead head out of the queue; `false` if it is there still.
    pub(super) async fn evict_dead(&self, effort: &mut Effort, mark: &Mark, terms: &Terms) -> Result<bool, Error> {
        Ok(self.take_out(effort, mark, Evidence::Silence, terms).await? != Evicted::No)
    }
}

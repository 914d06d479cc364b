//! Taking a dead head out of the queue, by whoever is in its way: who waits, who asks, and who wants to write.

use super::{
    mark::{Mark, Sighting},
    queue::Evidence,
    row::Row,
    terms::Terms,
};
use crate::{
    error::Error,
    retry::{Answered, Effort},
};

impl Row {
    /// Takes a dead head out of the queue; `false` if it is there still.
    pub(super) async fn evict_dead(&self, effort: &mut Effort, head: &Sighting, terms: &Terms) -> Result<bool, Error> {
        match effort.update(|| self.evict(head, Evidence::Silence, terms.now())).await? {
            Answered::Applied(_) => Ok(true),
            // Somebody else was first, or an attempt whose reply was lost.
            Answered::Refused(now) => {
                let now = Mark::of(&self.layout, now.as_ref()).head();
                Ok(now.is_none_or(|now| now.holder != head.holder || now.stored_fence != head.stored_fence))
            }
        }
    }
}

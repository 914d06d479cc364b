//! Leaving a queue, and leaving nothing of it behind.

use std::sync::Arc;

use super::{grip::Grip, mark::Mark, queue::Behind};
use crate::{
    error::Error,
    retry::{Connection, Effort, Limits},
};

impl Grip {
    /// Takes its place out of the queue, and the queue out of the row if nobody stands behind. An expression cannot ask for that, and to be wrong about
    /// it costs one more write: so who has seen nobody there looks once more, by a cheap read.
    pub(super) async fn leave(&self, effort: &mut Effort, over: &Arc<Connection>) -> Result<(), Error> {
        let behind = match self.behind() {
            // If it cannot be told, the answer to the request will tell.
            Behind::Nobody => self.look(over, false).await.map_or(Behind::Somebody, |mark| mark.behind()),
            Behind::Somebody => Behind::Somebody,
        };
        self.row.leave_as(effort, (&*self.owner, behind), self.copies, &self.terms).await.map(drop)
    }

    /// Takes away what a write has left of the queue if it was the last: it did not ask who stood behind.
    pub(super) async fn tidy(&self, over: &Arc<Connection>) {
        let mark = self.look(over, true).await;
        if mark.is_some_and(|mark| mark.is_abandoned && mark.fence == Some(self.fence)) {
            self.row.sweep_up(over, self.fence, self.copies).await;
        }
    }

    async fn look(&self, over: &Arc<Connection>, consistent: bool) -> Option<Mark> {
        let once = Limits::of_one_request();
        // What it is for must have time enough while the lease lasts.
        let limits = Limits { attempt_timeout: once.attempt_timeout.min(self.terms.ttl / 4), ..once };
        let mut effort = Effort::new(over, limits);
        let row = effort.read(&self.row.get(consistent)).await.ok()?;
        Some(Mark::of(&self.row.layout, row.as_ref()))
    }
}

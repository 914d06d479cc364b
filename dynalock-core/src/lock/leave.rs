//! Leaving a queue, and leaving nothing of it behind.

use std::sync::Arc;

use super::{
    grip::Grip,
    mark::Mark,
    queue::{Behind, Exit},
};
use crate::{
    codec::Item,
    error::Error,
    retry::{Answered, Connection, Effort},
};

impl Grip {
    /// Takes its place out of the queue, and the queue out of the row if nobody stands behind. An expression cannot ask for that, and to be wrong about
    /// it would cost one more write: so who has seen nobody there looks once more, by a cheap read.
    pub(super) async fn leave(&self, effort: &mut Effort, over: &Arc<Connection>) -> Result<(), Error> {
        let mut behind = match self.behind() {
            Behind::Nobody => self.look_behind(over).await,
            Behind::Somebody => Behind::Somebody,
        };
        loop {
            let answer = effort.update(|| {
                let exit = Exit { behind, copies: self.copies, now: self.terms.now() };
                self.row.leave(&self.owner, exit)
            });
            match answer.await? {
                Answered::Applied(before) => {
                    if behind == Behind::Somebody && self.mark(before.as_ref()).behind() == Behind::Nobody {
                        self.sweep(over).await;
                    }
                    return Ok(());
                }
                Answered::Refused(met) => {
                    let met = self.mark(met.as_ref());
                    if met.place_of(&self.owner) != Some(0) {
                        return Ok(());
                    }
                    behind = met.behind();
                }
            }
        }
    }

    /// As much as a write has left of the queue that was the holder's last, and knew nothing of who stood behind.
    pub(super) async fn tidy(&self, over: &Arc<Connection>) {
        let row = Effort::new(over, self.one_request()).read(&self.row.get(true)).await;
        let is_empty =
            |row: Item| row.get(self.row.layout.queue).and_then(|queue| queue.as_l().ok()).is_some_and(Vec::is_empty);
        if row.ok().flatten().is_some_and(is_empty) {
            self.sweep(over).await;
        }
    }

    async fn look_behind(&self, over: &Arc<Connection>) -> Behind {
        let row = Effort::new(over, self.one_request()).read(&self.row.get(false)).await;
        // If it cannot be told, the answer to the leave will tell.
        row.map_or(Behind::Somebody, |row| self.mark(row.as_ref()).behind())
    }

    /// What stays, if this fails, is in nobody's way.
    async fn sweep(&self, over: &Arc<Connection>) {
        drop(Effort::new(over, self.one_request()).update(|| self.row.sweep(self.copies)).await);
    }

    fn mark(&self, row: Option<&Item>) -> Mark {
        Mark::of(&self.row.layout, row)
    }
}

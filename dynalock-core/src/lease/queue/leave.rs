//! Leaving a queue, and leaving nothing of it behind.

use std::sync::Arc;

use crate::{
    error::Error,
    lease::{
        grant::Grant,
        record::{LockRecord, Waiters},
    },
    retry::{Attempts, Connection, Limits},
};

impl Grant {
    /// Takes its place out of the queue, and the queue out of the row if nobody stands behind. An expression cannot ask for that, and to be wrong about
    /// it costs one more write: so who has seen nobody there looks once more, by a cheap read.
    pub(crate) async fn leave(&self, attempts: &mut Attempts, over: &Arc<Connection>) -> Result<(), Error> {
        let waiters = match self.waiters() {
            // If it cannot be told, the answer to the request will tell.
            Waiters::None => self.look(over, false).await.map_or(Waiters::Some, |record| record.waiters()),
            Waiters::Some => Waiters::Some,
        };
        self.row.leave_as(attempts, (&*self.owner, waiters), self.duplicate, &self.options).await.map(drop)
    }

    /// Takes away what a write has left of the queue if it was the last: it did not ask who stood behind.
    pub(crate) async fn tidy(&self, over: &Arc<Connection>) {
        let record = self.look(over, true).await;
        if record.is_some_and(|record| record.is_abandoned && record.fence == Some(self.fence)) {
            self.row.sweep_up(over, self.fence, self.duplicate).await;
        }
    }

    async fn look(&self, over: &Arc<Connection>, consistent: bool) -> Option<LockRecord> {
        let once = Limits::of_one_request();
        // What it is for must have time enough while the lease lasts.
        let limits = Limits { attempt_timeout: once.attempt_timeout.min(self.options.ttl / 4), ..once };
        let mut attempts = Attempts::new(over, limits);
        let row = attempts.read(&self.row.get(consistent)).await.ok()?;
        Some(LockRecord::of(&self.row.layout, row.as_ref()))
    }
}

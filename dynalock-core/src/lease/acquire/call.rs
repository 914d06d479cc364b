//! Runs each call that acquires locks in a separate task.

use std::sync::Arc;

use tokio::sync::{oneshot, watch};

use super::{
    acquisition::{Caller, Stop},
    all::acquire_all,
    any::acquire_any,
    spec::AcquireSpec,
};
use crate::{
    clock,
    error::{Error, Result, Unavailable},
    lease::{
        held_grant::KeptGrant,
        queue::{
            QueueStatus,
            enter::{QueueLimits, acquire_in_order},
        },
    },
    retry::Limits,
    telemetry::{continued, lock_waited},
};

/// A call that acquires locks.
pub(crate) struct AcquireCall {
    /// The locks to acquire. A call names at least one lock. A call for all locks names each lock
    /// once, sorted by name.
    pub(crate) locks: Vec<AcquireSpec>,
    pub(crate) mode: AcquireMode,
}

/// The number of locks that a call needs, and the order in which callers get them.
pub(crate) enum AcquireMode {
    /// The call needs the first lock that is free.
    Any,
    /// The call needs all locks. The call acquires them by a transaction with these limits.
    All(Limits),
    /// The call needs all locks. The call enters the queue of each lock, and holds a lock when its
    /// entry is the head of the queue.
    Queue(QueueLimits, watch::Sender<Option<QueueStatus>>),
}

impl AcquireCall {
    /// Acquires the locks in a task that starts immediately. If the caller has dropped its future,
    /// the drop of the guard releases the locks.
    pub(crate) fn acquire<G: Send + 'static>(
        mut self,
        make: impl FnOnce(Vec<KeptGrant>) -> Result<G> + Send + 'static,
    ) -> impl Future<Output = Result<G>> + Send + 'static {
        if let Some((first, others)) = self.locks.split_first_mut() {
            for other in others {
                other.call_cost.clone_from(&first.call_cost);
            }
        }
        // The acquire runs in its own task: if it stopped with the caller's future, a granted lock
        // would be held for a whole ttl.
        let (mut caller, answer) = oneshot::channel();
        tokio::spawn(continued(async move {
            let (table, started) = (Arc::clone(&self.locks[0].row.table), clock::now());
            let acquired = self.run(&mut caller).await;
            let outcome = match &acquired {
                Ok(_) => "granted",
                Err(Stop::Failed(error)) => error.kind(),
                Err(Stop::CallerGone) => "dropped",
            };
            lock_waited(table, clock::now().duration_since(started), outcome);
            let granted = match acquired {
                Ok(granted) => make(granted),
                Err(Stop::Failed(error)) => Err(error),
                Err(Stop::CallerGone) => return,
            };
            // If no caller receives the result, the drop of the guard in it releases the lock.
            drop(caller.send(granted));
        }));
        // The task always sends a result, unless its runtime ends.
        async { answer.await.unwrap_or(Err(Error::Unavailable(Unavailable::RuntimeEnded))) }
    }

    /// Acquires one lock, like [`acquire`](Self::acquire).
    pub(crate) fn acquire_one<G: Send + 'static>(
        self,
        make: impl FnOnce(KeptGrant) -> Result<G> + Send + 'static,
    ) -> impl Future<Output = Result<G>> + Send + 'static {
        // A successful call has at least one grant.
        self.acquire(|granted| {
            granted.into_iter().next().map_or(Err(Error::Unavailable(Unavailable::RuntimeEnded)), make)
        })
    }

    async fn run(self, caller: &mut impl Caller) -> Result<Vec<KeptGrant>, Stop> {
        match self.mode {
            // One lock needs no transaction.
            AcquireMode::All(_) if self.locks.len() == 1 => Ok(vec![acquire_any(&self.locks, caller).await?]),
            AcquireMode::Any => Ok(vec![acquire_any(&self.locks, caller).await?]),
            // The boxes keep the task of one plain lock small.
            AcquireMode::All(limits) => Box::pin(acquire_all(&self.locks, limits, caller)).await,
            AcquireMode::Queue(limits, progress) => {
                Box::pin(acquire_in_order(&self.locks, limits, &progress, caller)).await
            }
        }
    }
}

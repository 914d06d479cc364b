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

pub(crate) struct AcquireCall {
    /// A call names at least one lock. A call that needs all of its locks names each lock once, and
    /// sorts the locks by name.
    pub(crate) locks: Vec<AcquireSpec>,
    pub(crate) mode: AcquireMode,
}

pub(crate) enum AcquireMode {
    /// The call acquires the first free lock.
    Any,
    All(Limits),
    Queue(QueueLimits, watch::Sender<Option<QueueStatus>>),
}

impl AcquireCall {
    /// Acquires the locks in a spawned task. If the caller drops the returned future, the spawned
    /// task releases all locks that it has acquired.
    pub(crate) fn acquire(self) -> impl Future<Output = Result<Vec<KeptGrant>>> + Send + 'static {
        // Without a separate task, a lock that DynamoDB grants while the caller drops the future
        // would stay held for a whole ttl.
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
                Ok(granted) => Ok(granted),
                Err(Stop::Failed(error)) => Err(error),
                Err(Stop::CallerGone) => return,
            };
            // If no caller receives the result, the grants in the result are dropped, and the drop
            // releases the locks.
            drop(caller.send(granted));
        }));
        // The task always sends a result to a waiting caller, unless the runtime of the task ends.
        async { answer.await.unwrap_or(Err(Error::Unavailable(Unavailable::RuntimeEnded))) }
    }

    pub(crate) fn acquire_one(self) -> impl Future<Output = Result<KeptGrant>> + Send + 'static {
        let acquired = self.acquire();
        // A successful call has acquired at least one lock.
        async { acquired.await?.pop().ok_or(Error::Unavailable(Unavailable::RuntimeEnded)) }
    }

    async fn run(self, caller: &mut Caller) -> Result<Vec<KeptGrant>, Stop> {
        match self.mode {
            // A call for one lock needs no transaction.
            AcquireMode::All(_) if self.locks.len() == 1 => Ok(vec![acquire_any(&self.locks, caller).await?]),
            AcquireMode::Any => Ok(vec![acquire_any(&self.locks, caller).await?]),
            // The code boxes the futures for several locks and for queues, so that the task for one
            // lock without a queue stays small.
            AcquireMode::All(limits) => Box::pin(acquire_all(&self.locks, limits, caller)).await,
            AcquireMode::Queue(limits, progress) => {
                Box::pin(acquire_in_order(&self.locks, limits, &progress, caller)).await
            }
        }
    }
}

//! A call that acquires locks, in a task of its own.

use tokio::sync::{oneshot, watch};

use super::{
    acquisition::{Caller, Stop},
    all::acquire_all,
    any::acquire_any,
    spec::AcquireSpec,
};
use crate::{
    error::{Error, Result, Unavailable},
    lease::{
        held_grant::KeptGrant,
        queue::{
            QueueStatus,
            enter::{QueueLimits, acquire_in_order},
        },
    },
    retry::Limits,
};

/// A call that acquires locks.
pub(crate) struct AcquireCall {
    /// At least one. A call for all of them names each lock once, in the order of the names.
    pub(crate) locks: Vec<AcquireSpec>,
    pub(crate) mode: AcquireMode,
}

/// The locks that a call needs, and their order.
pub(crate) enum AcquireMode {
    /// The first lock that is free.
    Any,
    /// All locks, by a transaction with these limits.
    All(Limits),
    /// All locks, each when the caller is the head of its queue.
    Queue(QueueLimits, watch::Sender<Option<QueueStatus>>),
}

impl AcquireCall {
    /// Acquires the locks in a task, which starts now. A grant whose caller has gone away is released.
    pub(crate) fn acquire<G: Send + 'static>(
        self,
        make: impl FnOnce(Vec<KeptGrant>) -> Result<G> + Send + 'static,
    ) -> impl Future<Output = Result<G>> + Send + 'static {
        let (mut caller, answer) = oneshot::channel();
        tokio::spawn(async move {
            let granted = match self.run(&mut caller).await {
                Ok(granted) => make(granted),
                Err(Stop::Failed(error)) => Err(error),
                Err(Stop::CallerGone) => return,
            };
            // An answer that nobody receives is dropped, and the guard in it releases.
            drop(caller.send(granted));
        });
        // The task ends without an answer only if its runtime ends.
        async { answer.await.unwrap_or(Err(Error::Unavailable(Unavailable::RuntimeEnded))) }
    }

    /// Like [`acquire`](Self::acquire), for a call that is granted one lock.
    pub(crate) fn acquire_one<G: Send + 'static>(
        self,
        make: impl FnOnce(KeptGrant) -> Result<G> + Send + 'static,
    ) -> impl Future<Output = Result<G>> + Send + 'static {
        // A call is granted at least one lock.
        self.acquire(|granted| {
            granted.into_iter().next().map_or(Err(Error::Unavailable(Unavailable::RuntimeEnded)), make)
        })
    }

    async fn run(self, caller: &mut impl Caller) -> Result<Vec<KeptGrant>, Stop> {
        match self.mode {
            // One lock needs no transaction.
            AcquireMode::All(_) if self.locks.len() == 1 => Ok(vec![acquire_any(&self.locks, caller).await?]),
            AcquireMode::Any => Ok(vec![acquire_any(&self.locks, caller).await?]),
            AcquireMode::All(limits) => acquire_all(&self.locks, limits, caller).await,
            AcquireMode::Queue(limits, progress) => acquire_in_order(&self.locks, limits, &progress, caller).await,
        }
    }
}

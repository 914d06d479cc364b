use std::{
    fmt,
    future::{Future, poll_fn},
    mem,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tokio::{
    runtime::Handle,
    sync::oneshot,
    task::{AbortHandle, JoinHandle},
};

use super::{
    acquire::{Asking, Granted},
    grip::Grip,
    row::PAYLOAD,
    token::LockToken,
};
use crate::{
    codec::Item,
    error::{Error, Lost, Result},
};

/// A named lock that is held: [`Locks::acquire`](crate::Locks::acquire).
///
/// Its lease is renewed in the background until it is released or dropped. [`release`](Self::release) says whether DynamoDB has heard of
/// it; dropping the guard releases in the background as best it can: if that fails, or the runtime ends first, the lease ends by itself.
/// It holds no longer than its lease, whatever the process is doing: [`lost`](Self::lost) and [`run`](Self::run) tell in time, and what the
/// lock protects outside of DynamoDB should refuse an older [`fence`](Self::fence) than it has seen.
#[must_use = "a lock that is dropped is released"]
pub struct Held {
    name: Arc<str>,
    grip: Arc<Grip>,
    payload: Option<Vec<u8>>,
    heartbeat: Option<AbortHandle>,
    runtime: Handle,
    /// Whether nothing is left to do when it is dropped.
    done: bool,
}

impl Held {
    /// Asks in a task of its own: if nobody waits for the answer when a grant comes, it is released.
    pub(super) async fn acquire(asking: Asking) -> Result<Self> {
        let (mut answer, asked) = oneshot::channel();
        tokio::spawn(async move {
            let held = match asking.acquire(&mut answer).await {
                Ok(Some(granted)) => Ok(Self::new(asking.label, granted)),
                Ok(None) => return,
                Err(error) => Err(error),
            };
            // What comes back is dropped, and so released.
            drop(answer.send(held));
        });
        // The task ends without an answer only if the runtime does.
        asked.await.unwrap_or(Err(Error::Lost(Lost::Expired)))
    }

    /// Takes care of a grant.
    pub(super) fn new(name: Arc<str>, Granted { grip, row }: Granted) -> Self {
        let heartbeat = grip.terms.heartbeat.then(|| tokio::spawn(Arc::clone(&grip).keep()).abort_handle());
        let payload = row.as_ref().and_then(payload_of);
        Self { name, grip, payload, heartbeat, runtime: Handle::current(), done: false }
    }

    /// The name of the lock.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A number that grows with each grant of this lock, over releases and crashes. Give it to what the lock protects, which can then refuse
    /// what comes from an earlier holder.
    pub fn fence(&self) -> u64 {
        self.grip.fence
    }

    /// The holder as others see it: the name that was given, and the nonce of this grant.
    pub fn owner(&self) -> &str {
        &self.grip.owner
    }

    /// What the holder before has left in the lock, or this one has given it.
    pub fn payload(&self) -> Option<&[u8]> {
        self.payload.as_deref()
    }

    /// The fence of the holder before, if that did not release the lock and its lease was taken over: what it was doing may be half done. After
    /// a lost reply this cannot be told from a release, and counts as a crash.
    pub fn acquired_after_crash(&self) -> Option<u64> {
        self.grip.crashed
    }

    /// The time that is left before somebody else may enter, if no heartbeat renews it; zero if the lock is lost.
    pub fn remaining(&self) -> Duration {
        self.grip.remaining()
    }

    /// Renews the lease now.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if it is lost; [`Error::Rejected`], [`Error::TableNotFound`].
    pub async fn extend(&self) -> Result<()> {
        self.grip.beat().await
    }

    /// Ends when the lock is lost, before anybody else may enter, with the cause.
    pub fn lost(&self) -> impl Future<Output = Lost> + Send + 'static {
        let grip = Arc::clone(&self.grip);
        async move { grip.lost().await }
    }

    /// Runs `work`, and drops it where it stands if the lock is lost: before anybody else may enter.
    ///
    /// # Errors
    ///
    /// [`Error::Lost`] if `work` was dropped.
    pub async fn run<O>(&self, work: impl Future<Output = O> + Send) -> Result<O> {
        let (mut lost, mut work) = (pin!(self.grip.lost()), pin!(work));
        poll_fn(|context| match lost.as_mut().poll(context) {
            Poll::Ready(lost) => Poll::Ready(Err(Error::Lost(lost))),
            Poll::Pending => work.as_mut().poll(context).map(Ok),
        })
        .await
    }

    /// Lets the next one in.
    ///
    /// # Errors
    ///
    /// [`Error::Exhausted`] if DynamoDB did not answer while the lease lasted, which has ended by then; [`Error::Rejected`]. That the lock was
    /// lost before is no error.
    pub async fn release(self) -> Result<()> {
        self.releasing().await.unwrap_or(Ok(()))
    }

    /// In a task of its own: a caller who goes away leaves no lock behind.
    pub(super) fn releasing(mut self) -> JoinHandle<Result<()>> {
        self.stop();
        let grip = Arc::clone(&self.grip);
        self.done = true;
        self.runtime.spawn(async move { grip.release().await })
    }

    /// Gives the lock to a token, which another task or process [resumes](crate::Locks::resume). No heartbeat renews it meanwhile.
    pub fn detach(mut self) -> LockToken {
        self.stop();
        self.done = true;
        self.token()
    }

    /// What [`detach`](Self::detach) gives, to be written down by a process that may die. It is for whoever knows that this guard is gone: two
    /// who use one grant do not keep each other out.
    pub fn token(&self) -> LockToken {
        LockToken::of(&self.name, &self.grip)
    }

    fn stop(&mut self) {
        if let Some(heartbeat) = mem::take(&mut self.heartbeat) {
            heartbeat.abort();
        }
    }
}

pub(super) fn payload_of(row: &Item) -> Option<Vec<u8>> {
    row.get(PAYLOAD).and_then(|value| value.as_b().ok()).map(|blob| blob.as_ref().to_vec())
}

impl Drop for Held {
    fn drop(&mut self) {
        self.stop();
        if !self.done {
            let grip = Arc::clone(&self.grip);
            // A runtime that has ended takes no tasks; the lease ends by itself then.
            drop(self.runtime.spawn(async move { grip.release().await }));
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held")
            .field("name", &self.name)
            .field("owner", &self.grip.owner)
            .field("fence", &self.grip.fence)
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

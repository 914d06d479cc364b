use std::{
    future::{Future, poll_fn},
    io, mem,
    pin::pin,
    sync::Arc,
    task::Poll,
};

use tokio::{
    runtime::Handle,
    sync::oneshot,
    task::{AbortHandle, JoinHandle},
};

use super::{acquire::one::Caller, clause::GrantKind, grant::Grant, options::Heartbeat};
use crate::{
    error::{Error, Lost, Result, Unavailable},
    model::Item,
    retry::{Connection, Thread},
};

/// Keeps a lock alive while it exists, and releases it when it is dropped, as best it can.
pub(crate) struct HeldGrant {
    pub(crate) grant: Arc<Grant>,
    heartbeat: Option<AbortHandle>,
    background: Background,
    after: OnDrop,
}

/// A grant that is kept alive, with its row as it was without the grant.
pub(crate) struct KeptGrant {
    pub(crate) guard: HeldGrant,
    pub(crate) row: Option<Item>,
}

/// Where a lock is renewed and released in the background.
#[derive(Debug, Clone)]
pub(crate) enum Background {
    /// The runtime of the caller.
    Here {
        runtime: Handle,
        connection: Arc<Connection>,
    },
    Thread(Arc<Thread>),
}

/// What is left to do when the guard is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDrop {
    Release,
    Nothing,
}

impl Background {
    /// Starts the thread if the heartbeats need one. The caller does so before it asks for the lock, so that a failure costs no grant.
    pub(crate) fn start(heartbeat: Heartbeat, connection: &Arc<Connection>) -> Result<Self> {
        match heartbeat {
            Heartbeat::Task | Heartbeat::Off => {
                Ok(Self::Here { runtime: Handle::current(), connection: Arc::clone(connection) })
            }
            Heartbeat::Thread => {
                let no_thread = |error: io::Error| Error::Unavailable(Unavailable::NoThread(error.to_string().into()));
                connection.thread().map(Self::Thread).map_err(no_thread)
            }
        }
    }

    fn runtime(&self) -> &Handle {
        match self {
            Self::Here { runtime, .. } => runtime,
            Self::Thread(thread) => &thread.runtime,
        }
    }

    fn connection(&self) -> &Arc<Connection> {
        match self {
            Self::Here { connection, .. } => connection,
            Self::Thread(thread) => &thread.connection,
        }
    }

    /// Begins to release, in a task that keeps the thread until it is done.
    fn release(&self, grant: &Arc<Grant>) -> JoinHandle<Result<()>> {
        let (background, grant) = (self.clone(), Arc::clone(grant));
        self.runtime().spawn(async move { grant.release(background.connection()).await })
    }
}

impl HeldGrant {
    pub(crate) fn new(grant: Arc<Grant>, background: Background) -> Self {
        let keep = || {
            let over = Arc::clone(background.connection());
            background.runtime().spawn(Arc::clone(&grant).keep(over)).abort_handle()
        };
        let heartbeat = (grant.options.heartbeat != Heartbeat::Off).then(keep);
        Self { grant, heartbeat, background, after: OnDrop::Release }
    }

    /// Lets the next one in.
    pub(crate) async fn release(self) -> Result<()> {
        self.releasing().await
    }

    /// In a task of its own, which has begun: a caller who goes away leaves no lock behind.
    pub(crate) fn releasing(mut self) -> impl Future<Output = Result<()>> + Send + 'static {
        self.end();
        let released = self.background.release(&self.grant);
        // Nobody aborts the task but its runtime, when that is shut down under a caller who waits elsewhere.
        async { released.await.unwrap_or(Err(Error::Unavailable(Unavailable::RuntimeEnded))) }
    }

    /// There is nothing more to renew or release here.
    pub(crate) fn end(&mut self) {
        self.stop();
        self.after = OnDrop::Nothing;
    }

    /// A write has released it. Of a queue that ends with it a write leaves the empty list, which is taken away in the background.
    pub(crate) fn end_released(&mut self) {
        self.end();
        self.grant.lose(Lost::Expired);
        if self.grant.hold == GrantKind::Fair {
            let (background, grant) = (self.background.clone(), Arc::clone(&self.grant));
            self.background.runtime().spawn(async move { grant.tidy(background.connection()).await });
        }
    }

    fn stop(&mut self) {
        if let Some(heartbeat) = mem::take(&mut self.heartbeat) {
            heartbeat.abort();
        }
    }
}

impl Drop for HeldGrant {
    fn drop(&mut self) {
        self.stop();
        if self.after == OnDrop::Release {
            // A runtime that has ended takes no tasks; the lease ends by itself then.
            drop(self.background.release(&self.grant));
        }
    }
}

/// What is asked for by one caller.
pub(crate) trait Acquirer: Send + 'static {
    type Grant: Send;

    /// Asks until it is granted or the wait is over; nothing if the caller is gone.
    fn ask(&self, caller: &mut impl Caller) -> impl Future<Output = Result<Option<Self::Grant>>> + Send;
}

/// Asks in a task of its own, which begins now: if nobody waits for the answer when a grant comes, it is released.
pub(crate) fn acquire<A: Acquirer + Sync, G: Send + 'static>(
    spec: A,
    make: impl FnOnce(A, A::Grant) -> Result<G> + Send + 'static,
) -> impl Future<Output = Result<G>> + Send + 'static {
    let (mut answer, asked) = oneshot::channel();
    tokio::spawn(async move {
        let granted = match spec.ask(&mut answer).await {
            Ok(Some(grant)) => make(spec, grant),
            Ok(None) => return,
            Err(error) => Err(error),
        };
        // What comes back is dropped, and so released.
        drop(answer.send(granted));
    });
    // The task ends without an answer only if the runtime does.
    async { asked.await.unwrap_or(Err(Error::Lost(Lost::Expired))) }
}

/// Runs `work`, and drops it where it stands if the lock is lost.
pub(crate) async fn run<O>(lost: impl Future<Output = Lost> + Send, work: impl Future<Output = O> + Send) -> Result<O> {
    let (mut lost, mut work) = (pin!(lost), pin!(work));
    poll_fn(|context| match lost.as_mut().poll(context) {
        Poll::Ready(lost) => Poll::Ready(Err(Error::Lost(lost))),
        Poll::Pending => work.as_mut().poll(context).map(Ok),
    })
    .await
}

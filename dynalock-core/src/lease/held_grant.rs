//! A held lock, with the task that sends the heartbeats of the lock.

use std::{future::Future, io, pin::pin, sync::Arc};

use futures_util::future::{Either, select};
use tokio::{runtime::Handle, task::AbortHandle};

use super::{grant::Grant, options::Heartbeat, record::GrantKind};
use crate::{
    clock,
    error::{Error, Lost, Result, Unavailable},
    model::Item,
    retry::{Connection, Thread},
    telemetry::{continued, detached, in_lease},
};

/// A held lock. Unless heartbeats are off, a background task renews the lease while the `HeldGrant`
/// exists. When the `HeldGrant` is dropped, a background task tries to release the lock.
pub(crate) struct HeldGrant {
    pub(crate) grant: Arc<Grant>,
    heartbeat: Option<AbortHandle>,
    background: Background,
    /// `true` if a drop of the `HeldGrant` must release the lock.
    is_held: bool,
}

/// A held lock, with the item or the lock row that the acquire call has read.
pub(crate) struct KeptGrant {
    pub(crate) guard: HeldGrant,
    pub(crate) row: Option<Item>,
}

/// The tokio runtime on which a lock is renewed and released in the background, and the connection
/// of this runtime.
#[derive(Debug, Clone)]
pub(crate) struct Background {
    runtime: Handle,
    connection: Arc<Connection>,
    /// The heartbeat thread, which runs as long as a lock refers to the thread.
    _thread: Option<Arc<Thread>>,
}

impl Background {
    /// Starts the heartbeat thread if `heartbeat` is [`Heartbeat::Thread`]. An acquire call starts
    /// the heartbeat thread before it sends a request, so that a failed start leaves no lock held.
    pub(crate) fn start(heartbeat: Heartbeat, connection: &Arc<Connection>) -> Result<Self> {
        match heartbeat {
            Heartbeat::Task | Heartbeat::Off => {
                Ok(Self { runtime: Handle::current(), connection: Arc::clone(connection), _thread: None })
            }
            Heartbeat::Thread => {
                let no_thread = |error: io::Error| Error::Unavailable(Unavailable::NoThread(error.to_string().into()));
                let thread = connection.thread().map_err(no_thread)?;
                let (runtime, connection) = (thread.runtime.clone(), Arc::clone(&thread.connection));
                Ok(Self { runtime, connection, _thread: Some(thread) })
            }
        }
    }

    // A future that names only the field `connection` would capture only this field, and would not
    // keep the heartbeat thread alive.
    fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Returns a future that releases the lock, and that keeps the heartbeat thread alive until the
    /// release is done.
    fn release(&self, grant: &Arc<Grant>) -> impl Future<Output = Result<()>> + Send + use<> {
        // `release` records the release of the lock before the returned future runs. Code that
        // watches the lock learns of the release even if the tokio runtime of the lock has ended.
        grant.end_by_release();
        let (background, grant) = (self.clone(), Arc::clone(grant));
        async move { grant.release(background.connection()).await }
    }
}

impl HeldGrant {
    pub(crate) fn new(grant: Arc<Grant>, background: Background) -> Self {
        let keep = || {
            let over = Arc::clone(&background.connection);
            background.runtime.spawn(Arc::clone(&grant).keep(over)).abort_handle()
        };
        let heartbeat = (grant.options.heartbeat != Heartbeat::Off).then(keep);
        Self { grant, heartbeat, background, is_held: true }
    }

    pub(crate) async fn release(self) -> Result<()> {
        self.releasing().await
    }

    /// Starts the release of the lock. If the caller drops the returned future, the release
    /// continues.
    pub(crate) fn releasing(mut self) -> impl Future<Output = Result<()>> + Send + 'static {
        self.end();
        let release = continued(self.background.release(&self.grant));
        let released = self.background.runtime.spawn(release);
        // The caller may wait on a different tokio runtime than the runtime of the lock, which may
        // end or stand still. A release ends by itself after a read of at most a quarter of the ttl
        // and requests for at most one ttl.
        let limit = self.grant.options.ttl.saturating_mul(3) / 2;
        async move {
            let answer = clock::within(limit, released).await;
            answer.and_then(std::result::Result::ok).unwrap_or(Err(Error::Unavailable(Unavailable::RuntimeEnded)))
        }
    }

    /// Stops the heartbeats, and disables the release by a drop of the guard.
    pub(crate) fn end(&mut self) {
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.abort();
        }
        self.is_held = false;
    }

    /// Stops the heartbeats after a write has released the lease. The write that releases a lease
    /// may leave an empty queue, which a background task removes.
    pub(crate) fn end_released(&mut self) {
        self.end();
        self.grant.end_by_release();
        if self.grant.kind == GrantKind::Fair {
            let (background, grant) = (self.background.clone(), Arc::clone(&self.grant));
            let table = Arc::clone(&grant.row.table);
            let sweep = async move { grant.sweep_queue(background.connection()).await };
            self.background.runtime.spawn(detached("sweep_queue", table, sweep, |()| None));
        }
    }
}

impl Drop for HeldGrant {
    fn drop(&mut self) {
        if self.is_held {
            self.end();
            // If the tokio runtime of the lock has ended, the release task never runs, and the
            // lease expires.
            let (grant, release) = (&self.grant, self.background.release(&self.grant));
            let release = in_lease(&grant.span, "release", Arc::clone(&grant.row.table), release);
            self.background.runtime.spawn(release);
        }
    }
}

/// Runs `work`, and drops `work` if the lock is lost.
pub(crate) async fn run<O>(lost: impl Future<Output = Lost> + Send, work: impl Future<Output = O> + Send) -> Result<O> {
    // `select` polls `lost` before `work`, so no step of `work` runs after the loss of the lock.
    match select(pin!(lost), pin!(work)).await {
        Either::Left((lost, _)) => Err(Error::Lost(lost)),
        Either::Right((output, _)) => Ok(output),
    }
}

use std::{future::Future, io, pin::pin, sync::Arc};

use futures_util::future::{Either, select};
use tokio::{runtime::Handle, task::AbortHandle};

use super::{grant::Grant, options::Heartbeat, record::GrantKind};
use crate::{
    clock,
    error::{Error, Lost, Result, Unavailable},
    model::Item,
    retry::{Connection, HeartbeatThread},
    telemetry::{continued, detached, in_lease},
};

/// While a `HeldGrant` exists, a background task renews the lease, unless heartbeats are off. The
/// drop of a `HeldGrant` starts a release in the background.
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

/// The runtime and the connection for the heartbeats and the release of a lock.
#[derive(Debug, Clone)]
pub(crate) struct Background {
    runtime: Handle,
    connection: Arc<Connection>,
    /// The reference to the heartbeat thread keeps the thread running.
    _thread: Option<Arc<HeartbeatThread>>,
}

impl Background {
    /// An acquire call starts the heartbeat thread before the first request, so that a failed start
    /// leaves no lock held.
    pub(crate) fn start(heartbeat: Heartbeat, connection: &Arc<Connection>) -> Result<Self> {
        match heartbeat {
            Heartbeat::Task | Heartbeat::Off => {
                Ok(Self { runtime: Handle::current(), connection: Arc::clone(connection), _thread: None })
            }
            Heartbeat::Thread => {
                let no_thread = |error: io::Error| Error::Unavailable(Unavailable::NoThread(error.to_string().into()));
                let thread = connection.heartbeat_thread().map_err(no_thread)?;
                let (runtime, connection) = (thread.runtime().clone(), Arc::clone(&thread.connection));
                Ok(Self { runtime, connection, _thread: Some(thread) })
            }
        }
    }

    // A future that names only the field `connection` would capture only this field, and would not
    // keep the heartbeat thread alive.
    fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    fn release(&self, grant: &Arc<Grant>) -> impl Future<Output = Result<()>> + Send + use<> {
        // The code records the release at once, because the returned future never runs if the
        // runtime of the lock has ended.
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

    /// The release continues if the caller drops the returned future.
    pub(crate) fn releasing(mut self) -> impl Future<Output = Result<()>> + Send + 'static {
        self.end();
        let release = continued(self.background.release(&self.grant));
        let released = self.background.runtime.spawn(release);
        // The runtime of the lock may have ended or may be blocked, so the wait for the release
        // needs a limit. A release takes at most a quarter of a ttl for a read, and one ttl for the
        // other requests.
        let limit = self.grant.options.ttl.saturating_mul(3) / 2;
        async move {
            let answer = clock::within(limit, released).await;
            answer.and_then(std::result::Result::ok).unwrap_or(Err(Error::Unavailable(Unavailable::RuntimeEnded)))
        }
    }

    pub(crate) fn end(&mut self) {
        if let Some(heartbeat) = &self.heartbeat {
            heartbeat.abort();
        }
        self.is_held = false;
    }

    /// Stops the heartbeats after a write that has released the lease, so that the drop of the
    /// `HeldGrant` sends no second release. Then `end_released` wakes the waiters of this process.
    pub(crate) fn end_released(&mut self) {
        self.end();
        self.grant.end_by_release();
        match self.grant.kind {
            // A read that was sent now would show no owner.
            GrantKind::Plain => self.grant.share_release(None, clock::now()),
            GrantKind::Fair => {
                let (background, grant) = (self.background.clone(), Arc::clone(&self.grant));
                let table = Arc::clone(&grant.row.table);
                let sweep = async move { grant.sweep_queue(background.connection()).await };
                self.background.runtime.spawn(detached("sweep_queue", table, sweep, |()| None));
            }
        }
    }
}

impl Drop for HeldGrant {
    fn drop(&mut self) {
        if self.is_held {
            self.end();
            // If the runtime of the lock has ended, the release task never runs, and the lease
            // expires.
            let (grant, release) = (&self.grant, self.background.release(&self.grant));
            let release = in_lease(&grant.span, "release", Arc::clone(&grant.row.table), release);
            self.background.runtime.spawn(release);
        }
    }
}

pub(crate) async fn run<O>(lost: impl Future<Output = Lost> + Send, work: impl Future<Output = O> + Send) -> Result<O> {
    // `select` polls `lost` before `work`, so no step of `work` runs after the loss of the lock.
    match select(pin!(lost), pin!(work)).await {
        Either::Left((lost, _)) => Err(Error::Lost(lost)),
        Either::Right((output, _)) => Ok(output),
    }
}

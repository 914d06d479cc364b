use std::{
    io,
    sync::{Arc, mpsc},
    thread,
};

use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::oneshot,
};

use super::Connection;

/// A thread that sends the heartbeats of leases in its own runtime. The thread continues its work
/// while the caller's runtime is blocked. The thread ends when the last lock that uses the thread
/// is dropped.
///
/// The thread opens its own HTTP connections, because an HTTP connection depends on a task of the
/// runtime that has opened the connection.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) runtime: Handle,
    pub(crate) connection: Arc<Connection>,
    /// The sender of a channel to the heartbeat thread. When the sender is dropped, the heartbeat
    /// thread ends.
    _alive: oneshot::Sender<()>,
}

impl Thread {
    pub(super) fn start(connection: Connection) -> io::Result<Self> {
        let (give, take) = mpsc::channel::<Runtime>();
        let (alive, ended) = oneshot::channel::<()>();
        // `start` first starts the thread and then builds the runtime, and the thread waits for the
        // runtime. If `start` built the runtime first, `start` would have to drop the runtime when
        // the thread fails to start. Inside a task of another runtime, the drop of a runtime
        // panics.
        thread::Builder::new().name("dynalock-heartbeat".to_owned()).spawn(move || {
            let Ok(runtime) = take.recv() else { return };
            // The sender `alive` never sends a value. `ended` completes when `alive` is dropped.
            let _ = runtime.block_on(ended);
            // `shutdown_background` does not wait for blocking work of the runtime, for example the
            // lookup of a host name.
            runtime.shutdown_background();
        })?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        give.send(runtime).map_err(|mpsc::SendError(runtime)| {
            runtime.shutdown_background();
            io::Error::other("the thread has ended")
        })?;
        Ok(Self { runtime: handle, connection: Arc::new(connection), _alive: alive })
    }
}

#[cfg(test)]
mod tests {
    use std::future;

    use aws_sdk_dynamodb::Client;
    use aws_sdk_dynamodb::config::{
        BehaviorVersion, Config, IdentityCache, StalledStreamProtectionConfig, retry::RetryConfig,
        timeout::TimeoutConfig,
    };

    use super::*;

    #[test]
    fn it_is_one_for_all_and_ends_with_its_last_user() {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::disabled())
            .identity_cache(IdentityCache::no_cache())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        let connection = Connection::over(&Client::from_conf(config.build()));
        let first = connection.thread().unwrap();
        let second = connection.thread().unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let (lives, ended) = mpsc::channel::<()>();
        first.runtime.spawn(async move {
            future::pending::<()>().await;
            drop(lives);
        });
        drop(first);
        assert_eq!(ended.try_recv(), Err(mpsc::TryRecvError::Empty));
        drop(second);
        // When the thread ends, it drops the runtime, and the runtime drops the spawned task that
        // owns `lives`.
        assert_eq!(ended.recv(), Err(mpsc::RecvError));
        let next = connection.thread().unwrap();
        assert_eq!(next.runtime.block_on(async { 5 }), 5);
    }
}

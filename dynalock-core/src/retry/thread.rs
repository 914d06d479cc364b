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

/// The heartbeat thread ends when the last lock that uses the thread is dropped.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) runtime: Handle,
    pub(crate) connection: Arc<Connection>,
    /// The heartbeat thread ends when `_alive` is dropped.
    _alive: oneshot::Sender<()>,
}

impl Thread {
    pub(super) fn start(connection: Connection) -> io::Result<Self> {
        let (give, take) = mpsc::channel::<Runtime>();
        let (alive, ended) = oneshot::channel::<()>();
        // `start` builds the runtime only after the thread has started. If the thread failed to
        // start, a drop of the runtime inside a task of another runtime would panic.
        thread::Builder::new().name("dynalock-heartbeat".to_owned()).spawn(move || {
            let Ok(runtime) = take.recv() else { return };
            // `ended` completes when the sender `alive` is dropped.
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
        // At the end of the thread, the runtime drops the spawned task that owns `lives`.
        assert_eq!(ended.recv(), Err(mpsc::RecvError));
        let next = connection.thread().unwrap();
        assert_eq!(next.runtime.block_on(async { 5 }), 5);
    }
}

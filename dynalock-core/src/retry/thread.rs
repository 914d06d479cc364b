use std::{
    io,
    sync::{Arc, mpsc},
    thread,
};

use aws_sdk_dynamodb::Client;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::oneshot,
};

use super::Connection;

/// A thread with a runtime of its own, for what must go on while the caller's is blocked. It ends with its last user.
///
/// It has connections of its own as well: an HTTP connection is driven by a task of the runtime that opened it.
#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) runtime: Handle,
    pub(crate) connection: Arc<Connection>,
    /// Dropping it is the signal to end.
    _alive: oneshot::Sender<()>,
}

impl Thread {
    pub(super) fn start(client: &Client) -> io::Result<Self> {
        let (give, take) = mpsc::channel::<Runtime>();
        let (alive, ended) = oneshot::channel::<()>();
        // The thread first: a runtime that finds none could not be dropped among the tasks of another.
        thread::Builder::new().name("dynalock-heartbeat".to_owned()).spawn(move || {
            let Ok(runtime) = take.recv() else { return };
            // Nobody sends: it is the end of the sender that is waited for.
            let _ = runtime.block_on(ended);
            // A host name that is being looked up is not waited for.
            runtime.shutdown_background();
        })?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        give.send(runtime).map_err(|mpsc::SendError(runtime)| {
            runtime.shutdown_background();
            io::Error::other("the thread has ended")
        })?;
        Ok(Self { runtime: handle, connection: Arc::new(Connection::over(client)), _alive: alive })
    }
}

#[cfg(test)]
mod tests {
    use std::future;

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
        // The task is dropped with its runtime.
        assert_eq!(ended.recv(), Err(mpsc::RecvError));
        let next = connection.thread().unwrap();
        assert_eq!(next.runtime.block_on(async { 5 }), 5);
    }
}

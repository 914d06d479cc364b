use std::{io, sync::mpsc, thread};

use tokio::{
    runtime::{Builder, Handle, Runtime},
    sync::oneshot,
};

/// A thread that runs a tokio runtime until the `RuntimeThread` is dropped.
#[derive(Debug)]
pub(super) struct RuntimeThread {
    pub(super) runtime: Handle,
    /// The thread ends when `_alive` is dropped.
    _alive: oneshot::Sender<()>,
}

impl RuntimeThread {
    pub(super) fn start(name: &str) -> io::Result<Self> {
        let (give, take) = mpsc::channel::<Runtime>();
        let (alive, ended) = oneshot::channel::<()>();
        // `start` builds the runtime only after the thread has started. If the thread failed to
        // start, a drop of the runtime inside a task of another runtime would panic.
        thread::Builder::new().name(name.to_owned()).spawn(move || {
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
        Ok(Self { runtime: handle, _alive: alive })
    }
}

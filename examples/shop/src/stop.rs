//! The signals that stop a program: SIGTERM and Ctrl-C.

use std::{future::Future, io};

use tokio::signal::unix::{SignalKind, signal};

/// Returns a future that completes when the program is asked to stop, by SIGTERM or by Ctrl-C.
/// Orchestrators send SIGTERM. After a call of this function, the two signals no longer kill the
/// process.
///
/// # Errors
///
/// The operating system refuses to deliver the signals.
pub fn requested() -> io::Result<impl Future<Output = ()> + Send + 'static> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
    })
}

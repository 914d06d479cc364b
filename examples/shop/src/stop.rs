//! The end of a program.

use tokio::signal::{ctrl_c, unix};

/// Completes when the program is asked to stop: by SIGTERM, as orchestrators send it, or by Ctrl-C.
pub async fn requested() {
    let terminated = async {
        match unix::signal(unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(error) => {
                tracing::error!(%error, "SIGTERM cannot be received");
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = terminated => {}
        _ = ctrl_c() => {}
    }
    tracing::info!("stopping");
}

//! The server, from its first request to its last.

use std::{future::Future, io, time::Duration};

use axum::Router;
use futures_util::FutureExt;
use tokio::net::TcpListener;

/// The time for which a server that stops waits for requests in flight. The longest deadline of
/// dynalock is only 10 seconds, for a unit of work.
const DRAIN: Duration = Duration::from_secs(20);

/// Serves until `stop` completes. After `stop`, requests in flight get their answers, and new
/// connections are refused.
///
/// A server that stops does not release the leases of stock-takings, because clients hold the
/// leases.
///
/// # Errors
///
/// The listener failed.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let stop = stop.shared();
    let too_late = stop.clone().then(|()| tokio::time::sleep(DRAIN));
    tokio::select! {
        served = axum::serve(listener, router).with_graceful_shutdown(stop) => served,
        () = too_late => {
            tracing::warn!("requests were still in flight, and were dropped");
            Ok(())
        }
    }
}

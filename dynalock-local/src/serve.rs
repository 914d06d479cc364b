use std::net::SocketAddr;

use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::{Database, Error};

/// Serves a fresh database in memory on a loopback address.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = dynalock_local::serve(([127, 0, 0, 1], 0).into()).await?;
/// println!("the endpoint is {}", server.url());
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// The errors of [`Database::serve`], and [`Error::Create`] if the local engine cannot start.
pub async fn serve(addr: SocketAddr) -> Result<Server, Error> {
    Database::in_memory()?.serve(addr).await
}

impl Database {
    /// Serves the database over HTTP on a loopback address, for clients in other processes. Port 0
    /// selects a free port.
    ///
    /// The method `serve` needs the feature `serve`, and runs on the tokio runtime of the caller.
    /// The [client request tokens](crate#client-request-tokens) of the server are separate from the
    /// tokens of clients in the same process. The system clock decides how long the server
    /// remembers a client request token.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = dynalock_local::Database::in_memory()?.serve(([127, 0, 0, 1], 0).into()).await?;
    /// println!("export ENDPOINT={}", server.url());
    ///
    /// server.shutdown().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// A client of the server is an SDK client with the endpoint of the server, and any region and
    /// credentials:
    ///
    /// ```no_run
    /// use aws_sdk_dynamodb::{Client, Config, config::{BehaviorVersion, Credentials, Region}};
    ///
    /// let config = Config::builder()
    ///     .behavior_version(BehaviorVersion::v2026_01_12())
    ///     .endpoint_url("http://127.0.0.1:8000")
    ///     .region(Region::new("us-east-1"))
    ///     .credentials_provider(Credentials::new("any", "any", None, None, "local"))
    ///     .build();
    /// let client = Client::from_conf(config);
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotLoopback`] if the address is not a loopback address, because the local engine
    /// checks no credentials. [`Error::Listen`] if the port is taken.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `serve`, no server starts, and the port is free.
    pub async fn serve(&self, addr: SocketAddr) -> Result<Server, Error> {
        if !addr.ip().is_loopback() {
            return Err(Error::NotLoopback(addr));
        }

        let listen = |source| Error::Listen { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(listen)?;
        let addr = listener.local_addr().map_err(listen)?;

        let (stop, stopped) = oneshot::channel::<()>();
        let until_stopped = async { drop(stopped.await) };
        let engine = self.service.engine.clone();
        let task = tokio::spawn(dynoxide::server::serve_with_shutdown(listener, engine, until_stopped));

        Ok(Server { addr, task, stop })
    }
}

/// A server of a database on a loopback port.
///
/// When the `Server` is dropped, the server stops, and the running requests finish in the
/// background. [`shutdown`](Self::shutdown) stops the server, and waits for the running requests.
#[derive(Debug)]
#[must_use = "the server stops when it is dropped"]
pub struct Server {
    addr: SocketAddr,
    task: JoinHandle<Result<(), String>>,
    /// The sender of a channel to the server. The drop of the sender stops the server.
    stop: oneshot::Sender<()>,
}

impl Server {
    /// Returns the address and the port of the server.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = dynalock_local::serve(([127, 0, 0, 1], 0).into()).await?;
    ///
    /// assert_ne!(server.local_addr().port(), 0);
    /// # Ok(()) }
    /// ```
    pub fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the URL of the server, for the `endpoint_url` of an SDK client.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = dynalock_local::serve(([127, 0, 0, 1], 0).into()).await?;
    ///
    /// let config = aws_sdk_dynamodb::Config::builder().endpoint_url(server.url());
    /// # Ok(()) }
    /// ```
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Stops the server, and waits until the server has answered the running requests.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = dynalock_local::serve(([127, 0, 0, 1], 0).into()).await?;
    ///
    /// server.shutdown().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Serve`] if the server failed before the call of `shutdown`.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `shutdown`, the server stops nevertheless, and the running
    /// requests finish in the background.
    pub async fn shutdown(self) -> Result<(), Error> {
        drop(self.stop);

        match self.task.await {
            Ok(result) => result.map_err(|error| Error::Serve(error.into())),
            Err(error) => Err(Error::Serve(error.into())),
        }
    }
}

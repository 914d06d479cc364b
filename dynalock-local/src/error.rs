use std::path::PathBuf;

/// An error of a function of the crate dynalock-local. If a request of a client fails, the client
/// returns an error of the SDK.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The local engine could not create the database in memory.
    #[error("cannot make a database in memory")]
    Create(#[source] Source),

    /// The local engine cannot open the file: the file is not a database, access is denied, or the
    /// folder does not exist.
    #[error("cannot open the database {}", path.display())]
    Open {
        /// The absolute path of the file.
        path: PathBuf,
        /// The error of the local engine.
        #[source]
        source: Source,
    },

    /// The path of the database file is empty or not valid UTF-8.
    #[error("not a path for a database: {}", .0.display())]
    Path(PathBuf),

    /// A request of [`Database::sweep_ttl`](crate::Database::sweep_ttl) failed.
    #[error("cannot sweep expired items")]
    Sweep(#[source] Source),

    /// [`Database::index_lag`](crate::Database::index_lag) or
    /// [`Database::freeze_indexes`](crate::Database::freeze_indexes) could not copy the database
    /// for the stale indexes.
    #[error("cannot copy the database for its stale indexes")]
    Copy(#[source] Source),

    /// The address for a server is not a loopback address. The local engine checks no credentials,
    /// so other machines must not reach the server.
    #[cfg(feature = "serve")]
    #[error("{0} is not a loopback address")]
    NotLoopback(std::net::SocketAddr),

    /// The server cannot listen on the port.
    #[cfg(feature = "serve")]
    #[error("cannot listen on {addr}")]
    Listen {
        /// The requested address of the server.
        addr: std::net::SocketAddr,
        /// The error that the operating system returned.
        #[source]
        source: std::io::Error,
    },

    /// The server stopped with an error.
    #[cfg(feature = "serve")]
    #[error("the server failed")]
    Serve(#[source] Source),
}

/// The error that caused an [`Error`].
type Source = Box<dyn std::error::Error + Send + Sync>;

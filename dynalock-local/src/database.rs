use std::{
    fmt,
    path::{Path, PathBuf, absolute},
    sync::Arc,
    time::Duration,
};

use aws_sdk_dynamodb::{
    Client, Config,
    config::{
        BehaviorVersion, Credentials, HttpClient, Region, StalledStreamProtectionConfig,
        retry::{RetryConfig, RetryPartition},
    },
};
use aws_smithy_async::rt::sleep::TokioSleep;

use crate::{Connector, Error, Faults, tokens::Tokens};

/// The initial backoff of the SDK's retries. With the SDK's default of a second, each lost reply
/// would delay a test by half a second on average.
const INITIAL_BACKOFF: Duration = Duration::from_millis(25);

/// A DynamoDB inside the process. All clones of the handle, and all of their clients, share the
/// same tables.
///
/// The engine runs on the task that calls it, one request at a time. It lives as long as one of its
/// handles, clients or servers.
#[derive(Clone)]
pub struct Database {
    pub(crate) engine: dynoxide::Database,
    tokens: Arc<Tokens>,
    file: Option<PathBuf>,
}

impl Database {
    /// Returns a fresh database in memory.
    ///
    /// # Errors
    ///
    /// [`Error::Create`] if the engine cannot be started.
    pub fn in_memory() -> Result<Self, Error> {
        let engine = dynoxide::Database::memory().map_err(|error| Error::Create(error.into()))?;

        Ok(Self::new(engine, None))
    }

    /// Returns the database in the file at `path`. A missing file is created.
    ///
    /// Each answered write is in the file, and survives the end of the process in any form. Several
    /// processes may open the same file. If another process has locked the file, a request waits
    /// for up to five seconds. It then fails with `InternalServerError` and is not applied. The two
    /// files `-wal` and `-shm` next to the file belong to the database.
    ///
    /// The memory of [client request tokens](crate#client-request-tokens) is not in the file, and
    /// ends with the process.
    ///
    /// # Errors
    ///
    /// [`Error::Path`] if the path is empty or not UTF-8. [`Error::Open`] if the file cannot be
    /// opened as a database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        // An absolute path prevents SQLite from giving `:memory:` or `file:..` its special meaning.
        let file = absolute(path).map_err(|_| Error::Path(path.to_owned()))?;
        let name = file.to_str().ok_or_else(|| Error::Path(path.to_owned()))?;

        match dynoxide::Database::new(name) {
            Ok(engine) => Ok(Self::new(engine, Some(file))),
            Err(error) => Err(Error::Open { path: file, source: error.into() }),
        }
    }

    fn new(engine: dynoxide::Database, file: Option<PathBuf>) -> Self {
        Self { engine, tokens: Arc::default(), file }
    }

    /// Returns a client on this database, without faults.
    pub fn client(&self) -> Client {
        client_on(self.connector())
    }

    /// Returns a client whose requests all pass through `faults`.
    pub fn client_with(&self, faults: &Faults) -> Client {
        client_on(faults.wrap(self.connector()))
    }

    /// Returns a replacement for the HTTP client in an SDK configuration.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
    ///
    /// let database = dynalock_local::Database::in_memory()?;
    /// let config = aws_sdk_dynamodb::Config::builder()
    ///     .behavior_version(BehaviorVersion::v2026_01_12())
    ///     .region(Region::new("eu-central-1"))
    ///     .credentials_provider(Credentials::new("any", "any", None, None, "test"))
    ///     .http_client(database.connector())
    ///     .build();
    ///
    /// let client = aws_sdk_dynamodb::Client::from_conf(config);
    /// # Ok(()) }
    /// ```
    pub fn connector(&self) -> Connector {
        Connector::new(self.engine.clone(), Arc::clone(&self.tokens))
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("file", &self.file).finish_non_exhaustive()
    }
}

/// Returns a client with this HTTP client. Its endpoint is a name without an address, so no request
/// can leave the process even if the HTTP client is replaced.
fn client_on(http_client: impl HttpClient + 'static) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("us-east-1"))
        .endpoint_url("http://dynalock-local.invalid")
        .credentials_provider(Credentials::new("local", "local", None, None, "dynalock-local"))
        .http_client(http_client)
        .sleep_impl(TokioSleep::new())
        .retry_config(RetryConfig::standard().with_initial_backoff(INITIAL_BACKOFF))
        // By default, all clients of a process share one retry budget. A test with faults would use
        // up the budget of other tests.
        .retry_partition(RetryPartition::custom("dynalock-local").build())
        // This protection reads the system clock, which continues while tokio's clock is paused.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .build();

    Client::from_conf(config)
}

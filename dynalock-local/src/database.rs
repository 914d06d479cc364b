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

/// With the SDK's own second, one lost reply costs a test half a second on average.
const INITIAL_BACKOFF: Duration = Duration::from_millis(25);

/// A DynamoDB inside the process: a handle, whose clones and clients all see the same tables.
///
/// The engine runs on the task that calls it, one request at a time. It lives as long as any handle, client or server of
/// it does.
#[derive(Clone)]
pub struct Database {
    pub(crate) engine: dynoxide::Database,
    tokens: Arc<Tokens>,
    file: Option<PathBuf>,
}

impl Database {
    /// A fresh database in memory.
    ///
    /// # Errors
    ///
    /// [`Error::Create`] if the engine cannot be started.
    pub fn in_memory() -> Result<Self, Error> {
        let engine = dynoxide::Database::memory().map_err(|error| Error::Create(error.into()))?;

        Ok(Self::new(engine, None))
    }

    /// The database in the file at `path`, which is made if it does not exist.
    ///
    /// A write that was answered is in the file and outlives the process, however it ends. Several processes may have the
    /// same file open; a request that finds it locked by another one waits for up to five seconds and then fails with
    /// `InternalServerError`, not applied. Two files beside it, `-wal` and `-shm`, belong to it.
    ///
    /// What does not outlive the process: the memory of [client request tokens](crate#client-request-tokens).
    ///
    /// # Errors
    ///
    /// [`Error::Path`] if the path is empty or not UTF-8, [`Error::Open`] if it cannot be opened as a database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        // An absolute path also keeps SQLite from reading `:memory:` or `file:..` as something else than a file.
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

    /// A client on this database, with nothing in between.
    pub fn client(&self) -> Client {
        client_on(self.connector())
    }

    /// A client whose every request passes `faults`.
    pub fn client_with(&self, faults: &Faults) -> Client {
        client_on(faults.wrap(self.connector()))
    }

    /// What takes the place of an HTTP client, for an SDK configuration of your own.
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

/// The endpoint is a name that resolves nowhere: should the HTTP client be replaced, no request leaves the process.
fn client_on(http_client: impl HttpClient + 'static) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("us-east-1"))
        .endpoint_url("http://dynalock-local.invalid")
        .credentials_provider(Credentials::new("local", "local", None, None, "dynalock-local"))
        .http_client(http_client)
        .sleep_impl(TokioSleep::new())
        .retry_config(RetryConfig::standard().with_initial_backoff(INITIAL_BACKOFF))
        // The budget for retries is otherwise one for the process: a test with faults would spend that of its neighbours.
        .retry_partition(RetryPartition::custom("dynalock-local").build())
        // It reads the system's clock, which knows nothing of tokio's paused one.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .build();

    Client::from_conf(config)
}

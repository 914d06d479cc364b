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

use crate::{Connector, Error, Faults, replica::Lag, service::Service};

/// The initial backoff of the SDK's retries. The SDK's default backoff of one second would delay a
/// test by half a second on average after each lost reply.
const INITIAL_BACKOFF: Duration = Duration::from_millis(25);

/// A local DynamoDB inside the process. All clones of a `Database`, and all clients of the clones,
/// share the same tables.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use dynalock_local::{Database, Faults};
///
/// let database = Database::in_memory()?;
///
/// let writer = database.client();
/// let reader = database.client_with(&Faults::none()); // both clients see the same tables
/// # Ok(()) }
/// ```
///
/// The local engine applies one request at a time, on the task that sends the request. The local
/// engine ends when no `Database`, client or server uses the local engine any longer.
#[derive(Clone)]
pub struct Database {
    pub(crate) service: Arc<Service>,
    file: Option<PathBuf>,
}

impl Database {
    /// Returns a fresh database in memory.
    ///
    /// ```
    /// # fn example() -> Result<(), dynalock_local::Error> {
    /// let client = dynalock_local::Database::in_memory()?.client();
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Create`] if the local engine cannot start.
    pub fn in_memory() -> Result<Self, Error> {
        let engine = dynoxide::Database::memory().map_err(|error| Error::Create(error.into()))?;

        Ok(Self::new(engine, None))
    }

    /// Opens the database in the file at `path`, or creates a missing file.
    ///
    /// The file contains each write that got an answer, even if the process is killed afterwards.
    /// Several processes may open the same database file. If another process has locked the file, a
    /// request waits for up to five seconds. If the file is still locked after five seconds, the
    /// request fails with `InternalServerError` and changes nothing. SQLite also keeps two files
    /// next to the database file, with names that end in `-wal` and `-shm`.
    ///
    /// The file does not contain the [client request tokens](crate#client-request-tokens), so the
    /// database forgets the tokens when the process ends.
    ///
    /// ```
    /// # fn example() -> Result<(), dynalock_local::Error> {
    /// let database = dynalock_local::Database::open("target/products.db")?;
    /// let client = database.client();
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Path`] if the path is empty or not UTF-8. [`Error::Open`] if the file cannot be
    /// opened as a database.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        // For SQLite, the names `:memory:` and `file:..` have a special meaning. An absolute path
        // has no special meaning for SQLite.
        let file = absolute(path).map_err(|_| Error::Path(path.to_owned()))?;
        let name = file.to_str().ok_or_else(|| Error::Path(path.to_owned()))?;

        match dynoxide::Database::new(name) {
            Ok(engine) => Ok(Self::new(engine, Some(file))),
            Err(error) => Err(Error::Open { path: file, source: error.into() }),
        }
    }

    fn new(engine: dynoxide::Database, file: Option<PathBuf>) -> Self {
        Self { service: Arc::new(Service::new(engine)), file }
    }

    /// Returns a client on the database, without faults.
    ///
    /// ```
    /// # fn example() -> Result<(), dynalock_local::Error> {
    /// let database = dynalock_local::Database::in_memory()?;
    /// let (alice, bob) = (database.client(), database.client());
    /// # Ok(()) }
    /// ```
    pub fn client(&self) -> Client {
        client_on(self.connector())
    }

    /// Returns a client whose requests all pass through `faults`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use dynalock_local::{Database, Fault, Faults};
    ///
    /// let faults = Faults::none();
    /// let client = Database::in_memory()?.client_with(&faults);
    ///
    /// faults.script(0, Fault::LoseReply);
    /// client.list_tables().send().await?; // the SDK repeats the request after the lost reply
    /// assert_eq!(faults.count("ListTables"), 2);
    /// # Ok(()) }
    /// ```
    pub fn client_with(&self, faults: &Faults) -> Client {
        client_on(faults.wrap(self.connector()))
    }

    /// Sets the transaction time: the simulated duration of each later `TransactWriteItems`, on
    /// tokio's clock. If the transaction time is above zero, transactions can conflict with each
    /// other, as on DynamoDB. With a transaction time of zero, which is the default, no transaction
    /// conflicts with another request.
    ///
    /// With a transaction time of zero, the local engine applies a transaction at once. If the
    /// transaction time is above zero, the items of a transaction are busy from the arrival of the
    /// transaction. When the transaction time has passed, the local engine applies and answers the
    /// transaction, and the items are no longer busy. The table shows how the local engine answers
    /// a request for an item of a running transaction:
    ///
    /// | request | answer |
    /// |---|---|
    /// | a put, update or delete of a busy item | `TransactionConflictException` |
    /// | a transaction, of writes or reads, with a busy item | `TransactionCanceledException`, reason `TransactionConflict` for each busy item |
    /// | a transaction with the client request token of the running transaction | `TransactionInProgressException` |
    /// | a batch of writes | the writes of busy items are in `UnprocessedItems` |
    /// | a read outside a transaction | the items as they were before the running transaction |
    ///
    /// If a caller drops the future of a running transaction, the transaction continues. A change
    /// of the transaction time (the simulated duration) has no effect on running transactions. The
    /// transaction time has no effect on `PartiQL` statements, and on clients of a server of the
    /// database.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use aws_sdk_dynamodb::error::ProvideErrorMetadata;
    /// # use aws_sdk_dynamodb::types::{AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType};
    /// # use aws_sdk_dynamodb::types::{Put, ScalarAttributeType, TransactWriteItem};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let database = dynalock_local::Database::in_memory()?;
    /// let client = database.client();
    /// # let sku = AttributeDefinition::builder().attribute_name("sku").attribute_type(ScalarAttributeType::S).build()?;
    /// # let key = KeySchemaElement::builder().attribute_name("sku").key_type(KeyType::Hash).build()?;
    /// # let create = client.create_table().table_name("products").billing_mode(BillingMode::PayPerRequest);
    /// # create.attribute_definitions(sku).key_schema(key).send().await?;
    /// # let sku = AttributeValue::S("85123A".to_owned());
    /// # let put = Put::builder().table_name("products").item("sku", sku).build()?;
    /// # let put = TransactWriteItem::builder().put(put).build();
    /// // .. create the table "products", and the action `put` of one of its items, then:
    /// database.transaction_time(Duration::from_millis(5));
    ///
    /// let one = client.transact_write_items().transact_items(put.clone());
    /// let other = client.transact_write_items().transact_items(put);
    /// let (one, other) = tokio::join!(one.send(), other.send());
    ///
    /// let refused: Vec<_> = [one, other].into_iter().filter_map(Result::err).collect();
    /// assert_eq!(refused.len(), 1);
    /// assert_eq!(refused[0].code(), Some("TransactionCanceledException"));
    /// # Ok(()) }
    /// ```
    pub fn transaction_time(&self, time: Duration) {
        self.service.running.set_time(time);
    }

    /// Sets a delay for global secondary indexes, on tokio's clock. After `index_lag`, the indexes
    /// show each later write only after the delay. With a delay of zero, the indexes show all
    /// writes at once. A call of `index_lag` ends a freeze of the indexes.
    ///
    /// Tables and local indexes always show each write at once. The creation or deletion of an
    /// index is visible without the delay. The delay does not apply to writes from before the call
    /// of `index_lag`. The delay applies to all clients of the [`Database`] and of the clones of
    /// the `Database`. Delayed indexes show neither `PartiQL` writes nor the writes of other
    /// processes, until the delay is set to zero.
    ///
    /// ```
    /// use std::time::Duration;
    /// # use aws_sdk_dynamodb::types::{AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement};
    /// # use aws_sdk_dynamodb::types::{KeyType, Projection, ProjectionType, ScalarAttributeType};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let database = dynalock_local::Database::in_memory()?;
    /// let client = database.client();
    /// # let attribute = |name: &str| {
    /// #     AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build()
    /// # };
    /// # let key = |name: &str| KeySchemaElement::builder().attribute_name(name).key_type(KeyType::Hash).build();
    /// # let all = Projection::builder().projection_type(ProjectionType::All).build();
    /// # let index = GlobalSecondaryIndex::builder().index_name("by_color").key_schema(key("color")?).projection(all).build()?;
    /// # let create = client.create_table().table_name("products").billing_mode(BillingMode::PayPerRequest);
    /// # let create = create.attribute_definitions(attribute("sku")?).attribute_definitions(attribute("color")?);
    /// # create.key_schema(key("sku")?).global_secondary_indexes(index).send().await?;
    /// # let put = client.put_item().table_name("products").item("sku", AttributeValue::S("85123A".to_owned()));
    /// # let put = put.item("color", AttributeValue::S("red".to_owned()));
    /// # let by_color = client.query().table_name("products").index_name("by_color").key_condition_expression("color = :c");
    /// # let by_color = by_color.expression_attribute_values(":c", AttributeValue::S("red".to_owned()));
    /// // .. create the table "products" with an index, a request `put` and a query `by_color`, then:
    /// database.index_lag(Duration::from_secs(1))?;
    ///
    /// put.send().await?;
    /// assert_eq!(by_color.clone().send().await?.count, 0);
    ///
    /// tokio::time::advance(Duration::from_secs(1)).await;
    /// assert_eq!(by_color.send().await?.count, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Copy`] if the local engine cannot copy the database. Queries and scans of the
    /// global indexes read the copy of the database, which the local engine makes through a
    /// temporary file.
    pub fn index_lag(&self, lag: Duration) -> Result<(), Error> {
        if lag.is_zero() {
            self.service.end_lag();
            return Ok(());
        }
        self.service.lag(Lag::After(lag)).map_err(Error::Copy)
    }

    /// Freezes the global secondary indexes, for tests that do not control the clock. Frozen
    /// indexes show no further write until a test calls [`index_lag`](Self::index_lag).
    ///
    /// Apart from the freeze, frozen indexes behave like the delayed indexes of
    /// [`index_lag`](Self::index_lag).
    ///
    /// ```
    /// use std::time::Duration;
    /// # use aws_sdk_dynamodb::types::{AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement};
    /// # use aws_sdk_dynamodb::types::{KeyType, Projection, ProjectionType, ScalarAttributeType};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let database = dynalock_local::Database::in_memory()?;
    /// let client = database.client();
    /// # let attribute = |name: &str| {
    /// #     AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build()
    /// # };
    /// # let key = |name: &str| KeySchemaElement::builder().attribute_name(name).key_type(KeyType::Hash).build();
    /// # let all = Projection::builder().projection_type(ProjectionType::All).build();
    /// # let index = GlobalSecondaryIndex::builder().index_name("by_color").key_schema(key("color")?).projection(all).build()?;
    /// # let create = client.create_table().table_name("products").billing_mode(BillingMode::PayPerRequest);
    /// # let create = create.attribute_definitions(attribute("sku")?).attribute_definitions(attribute("color")?);
    /// # create.key_schema(key("sku")?).global_secondary_indexes(index).send().await?;
    /// # let put = client.put_item().table_name("products").item("sku", AttributeValue::S("85123A".to_owned()));
    /// # let put = put.item("color", AttributeValue::S("red".to_owned()));
    /// # let by_color = client.query().table_name("products").index_name("by_color").key_condition_expression("color = :c");
    /// # let by_color = by_color.expression_attribute_values(":c", AttributeValue::S("red".to_owned()));
    /// // .. create the table "products" with an index, a request `put` and a query `by_color`, then:
    /// database.freeze_indexes()?;
    ///
    /// put.send().await?;
    /// assert_eq!(by_color.clone().send().await?.count, 0);
    ///
    /// database.index_lag(Duration::ZERO)?;
    /// assert_eq!(by_color.send().await?.count, 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Copy`] if the local engine cannot copy the database. Queries and scans of the
    /// global indexes read the copy of the database, which the local engine makes through a
    /// temporary file.
    pub fn freeze_indexes(&self) -> Result<(), Error> {
        self.service.lag(Lag::Frozen).map_err(Error::Copy)
    }

    /// Returns an HTTP client that sends all requests to the database. An SDK configuration can use
    /// the client.
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
        Connector::new(Arc::clone(&self.service))
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("file", &self.file).finish_non_exhaustive()
    }
}

/// Returns an SDK client that uses `http_client`. The endpoint of the SDK client is a host name
/// without an address, so no request can leave the process even if the HTTP client is replaced.
fn client_on(http_client: impl HttpClient + 'static) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("us-east-1"))
        .endpoint_url("http://dynalock-local.invalid")
        .credentials_provider(Credentials::new("local", "local", None, None, "dynalock-local"))
        .http_client(http_client)
        .sleep_impl(TokioSleep::new())
        .retry_config(RetryConfig::standard().with_initial_backoff(INITIAL_BACKOFF))
        // By default, all clients of a process share one retry budget. With a separate retry
        // partition for each client, a test with faults cannot use up the retry budget of other
        // tests.
        .retry_partition(RetryPartition::custom("dynalock-local").build())
        // Stalled-stream protection is off, because this protection reads the system clock, which
        // continues while a test has paused tokio's clock.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .build();

    Client::from_conf(config)
}

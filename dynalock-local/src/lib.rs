//! A local DynamoDB inside the process, and faults for the requests to any DynamoDB.
//!
//! The crate dynalock-local is for tests of code that uses the AWS SDK for Rust. A test with the
//! crate needs no port, no JVM and no container, and makes a client in a millisecond. The crate
//! replaces only the HTTP client of the SDK, so a test runs the SDK's real serialization, retries
//! and errors.
//!
//! ```
//! use aws_sdk_dynamodb::types::AttributeValue;
//! # use aws_sdk_dynamodb::types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = dynalock_local::client().await?;
//! # let sku = AttributeDefinition::builder().attribute_name("sku").attribute_type(ScalarAttributeType::S).build()?;
//! # let key = KeySchemaElement::builder().attribute_name("sku").key_type(KeyType::Hash).build()?;
//! # let create = client.create_table().table_name("products").billing_mode(BillingMode::PayPerRequest);
//! # create.attribute_definitions(sku).key_schema(key).send().await?;
//! // .. create the table "products", then:
//! let sku = AttributeValue::S("85123A".to_owned());
//! client.put_item().table_name("products").item("sku", sku.clone()).send().await?;
//!
//! let found = client.get_item().table_name("products").key("sku", sku).send().await?;
//! assert!(found.item.is_some());
//! # Ok(()) }
//! ```
//!
//! - [`client()`]: a client on a fresh database in memory, for one test.
//! - [`Database`]: one database for several clients, in memory or in a file.
//! - [`Faults`]: lost replies, duplicate requests, throttling and more. A test scripts the faults,
//!   or gets random faults from a seed.
//! - `serve` (feature `serve`): a server of the database on a loopback port, for several processes.
//!
//! # Faults
//!
//! With faults, a test can check whether the code under test survives a lost reply. In the example,
//! the SDK alone does not survive a lost reply. The SDK retries a conditional write, and the retry
//! fails because the first attempt has already changed the item.
//!
//! ```
//! use aws_sdk_dynamodb::{error::ProvideErrorMetadata, types::AttributeValue};
//! use dynalock_local::{Database, Fault, Faults};
//! # use aws_sdk_dynamodb::types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let faults = Faults::none();
//! let client = Database::in_memory()?.client_with(&faults);
//! # let sku = AttributeDefinition::builder().attribute_name("sku").attribute_type(ScalarAttributeType::S).build()?;
//! # let key = KeySchemaElement::builder().attribute_name("sku").key_type(KeyType::Hash).build()?;
//! # let create = client.create_table().table_name("products").billing_mode(BillingMode::PayPerRequest);
//! # create.attribute_definitions(sku).key_schema(key).send().await?;
//! // .. create the table "products", then:
//! faults.script_on("PutItem", 0, Fault::LoseReply);
//!
//! let put = client.put_item().table_name("products").item("sku", AttributeValue::S("85123A".to_owned()));
//! let result = put.condition_expression("attribute_not_exists(sku)").send().await;
//!
//! assert_eq!(result.unwrap_err().code(), Some("ConditionalCheckFailedException"));   // its own write
//! assert_eq!(faults.count("PutItem"), 2);
//! # Ok(()) }
//! ```
//!
//! [`Faults::wrap`] adds faults to any HTTP client of the SDK, for example for a test against
//! DynamoDB itself.
//!
//! # Time
//!
//! All delays use tokio's clock. With `#[tokio::test(start_paused = true)]`, delays and the SDK's
//! retries and timeouts take no real time. If a request meets [`Fault::NeverAnswer`] while the
//! clock is paused, the request ends at once by the timeout of the caller. The caller must set a
//! timeout, because the SDK has no default timeout for an answer. Before the local engine applies a
//! request, the task of the request yields to the scheduler once, so that tasks can interleave even
//! on one thread.
//!
//! # The clients
//!
//! The clients have fixed credentials and the region `us-east-1`. The SDK retries failed requests
//! with an initial backoff of 25 ms, and each client has a separate retry budget. Stalled-stream
//! protection is off, because stalled-stream protection reads the system clock. To change the
//! configuration of a client, a test starts from `client.config().to_builder()`, or uses
//! [`Database::connector`] in a new configuration.
//!
//! # Client request tokens
//!
//! All clients of one [`Database`] and of its clones share the tokens of successful transactions.
//! The database remembers each client request token for ten minutes of tokio's clock. If a request
//! has the same token and content as a successful transaction, the database returns the first
//! answer and does not apply the request. If a request has the token of a successful transaction
//! but other content, the database refuses the request with `IdempotentParameterMismatchException`.
//! The client request tokens are always in memory, even for a database in a file.
//!
//! # What it needs, and what it does not do
//!
//! - The crate needs a C compiler, because the local engine uses SQLite. The crate links `sqlite3`,
//!   which a program can link only once. If another crate of the program uses SQLite,
//!   dynalock-local and the other crate must use the same version of `libsqlite3-sys`.
//! - The crate needs a tokio runtime. The local engine applies a request on the task that sends the
//!   request. Until the answer, the request blocks the thread of the task. The local engine is for
//!   tests and tools, not for production.
//! - The local engine never throttles a request. A test can inject throttling as a fault.
//! - The local engine applies one request at a time. Transactions conflict only if a test sets a
//!   simulated duration of transactions ([`Database::transaction_time`]).
//! - Each read sees all earlier writes, except reads of global indexes after a test has asked for
//!   stale indexes ([`Database::index_lag`], [`Database::freeze_indexes`]).
//! - The local engine has no access control, no backups and no global tables. The documentation of
//!   the module [`engine`] compares the local engine with DynamoDB in a table.

mod database;
mod error;
mod faults;

mod batch;
mod clock;
mod connector;
mod dispatch;
mod items;
mod keys;
mod projections;
mod ranges;
mod replica;
mod service;
mod settings;
mod tokens;
mod transactions;
mod wire;

mod ttl;

#[cfg(feature = "serve")]
mod serve;

#[doc = include_str!("engine.md")]
pub mod engine {}

pub use connector::Connector;
pub use database::Database;
pub use error::Error;
pub use faults::{Fault, Faults, Request};

#[cfg(feature = "serve")]
pub use serve::{Server, serve};

/// Returns a client on a fresh database in memory.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = dynalock_local::client().await?;
///
/// assert!(client.list_tables().send().await?.table_names().is_empty());
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// [`Error::Create`] if the local engine cannot start.
#[expect(clippy::unused_async, reason = "an engine that has to wait for something at its start must not break callers")]
pub async fn client() -> Result<aws_sdk_dynamodb::Client, Error> {
    Ok(Database::in_memory()?.client())
}

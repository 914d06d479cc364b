//! A DynamoDB inside the process, and the faults that can be injected in front of any.
//!
//! For tests of code that uses the AWS SDK for Rust: no port, no JVM, no container, and a client in a millisecond. The
//! requests are the SDK's own, with its serialization, its retries and its errors; only the HTTP client is replaced.
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
//! - [`Database`]: several clients on one database, in memory or in a file.
//! - [`Faults`]: replies that are lost, requests that arrive twice, throttling; scripted or drawn from a seed.
//! - `serve` (feature `serve`): the database behind a loopback port, for several processes.
//!
//! # Faults
//!
//! Does the code under test survive a lost reply? The SDK alone does not: it sends a conditional write again, which then
//! fails on its own effect.
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
//! [`Faults::wrap`] puts them in front of any HTTP client of the SDK, that of a test against DynamoDB itself included.
//!
//! # Time
//!
//! Whatever waits here, waits on tokio's clock. With `#[tokio::test(start_paused = true)]` delays, the SDK's retries and its
//! timeouts take no time at all; a [`Fault::NeverAnswer`] ends at once by the timeout that the caller has set (the SDK sets
//! none for an answer). Every request yields to the scheduler once before it is applied, so tasks race on one thread too.
//!
//! # The clients
//!
//! They have any credentials, region `us-east-1`, and the SDK's own retries with an initial backoff of 25 ms and a retry
//! budget for each client. Stalled-stream protection is off, since it reads the system's clock. Another configuration is
//! made from theirs, by `client.config().to_builder()`, or from nothing with [`Database::connector`].
//!
//! # Client request tokens
//!
//! A transaction's token is remembered for ten minutes of tokio's clock, by all clients of one [`Database`] and its clones:
//! the same request again is answered as the first time and not applied, another one is refused with
//! `IdempotentParameterMismatchException`. Only successful transactions are remembered. Tokens live in memory, also those
//! of a database in a file.
//!
//! # What it needs, and what it does not do
//!
//! - A C compiler: the engine stands on SQLite, which is built with it. It links `sqlite3`, which a program can do only
//!   once: another crate of yours that brings SQLite has to agree on the version of `libsqlite3-sys`.
//! - A tokio runtime. A request is applied on the task that sends it, which waits meanwhile: the engine is for tests and
//!   tools, not for production.
//! - No throttling of its own: inject it. No transaction conflicts, unless transactions take time
//!   ([`Database::transaction_time`]): otherwise one request is applied at a time. No stale reads, but those of global
//!   indexes that are asked for ([`Database::index_lag`], [`Database::freeze_indexes`]).
//! - No access control, no backups, no global tables. [`engine`] compares it with DynamoDB row by row.

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

/// A client on a fresh database in memory.
///
/// # Errors
///
/// [`Error::Create`] if the engine cannot be started.
#[expect(clippy::unused_async, reason = "an engine that has to wait for something at its start must not break callers")]
pub async fn client() -> Result<aws_sdk_dynamodb::Client, Error> {
    Ok(Database::in_memory()?.client())
}

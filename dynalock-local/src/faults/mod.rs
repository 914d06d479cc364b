use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aws_sdk_dynamodb::config::{HttpClient, SharedHttpClient};

mod fault;
mod request;

mod pages;
mod plan;

mod canned;
mod connector;
mod unprocessed;

pub use fault::Fault;
pub use request::Request;

use connector::Faulty;
use pages::PageFault;
use plan::Plan;

/// The faults for the requests of a client. All clones of a `Faults` value share the same faults.
///
/// A test can change the faults while the client runs. The log contains each request of the client.
/// Each retry by the SDK counts as a separate request. A request meets at most one fault. If
/// several faults apply to a request, the request meets the fault whose method is first in this
/// order: [`script_page`](Self::script_page), [`script_on`](Self::script_on),
/// [`script`](Self::script), [`always_on_page`](Self::always_on_page), [`always`](Self::always),
/// random faults.
///
/// ```
/// use dynalock_local::{Database, Fault, Faults};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let faults = Faults::seeded(7).rate(Fault::LoseReply, 0.05).rate(Fault::Throttle, 0.01);
/// faults.script_on("ListTables", 0, Fault::error("AccessDeniedException"));
///
/// let client = Database::in_memory()?.client_with(&faults);
/// client.list_tables().send().await.expect_err("the first one is denied");
///
/// assert_eq!(faults.count("ListTables"), 1);
/// assert_eq!(faults.requests()[0].fault, Some(Fault::error("AccessDeniedException")));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Faults {
    plan: Arc<Mutex<Plan>>,
}

impl Faults {
    /// Returns a `Faults` value without faults, which only logs all requests.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let faults = dynalock_local::Faults::none();
    /// let client = dynalock_local::Database::in_memory()?.client_with(&faults);
    ///
    /// client.list_tables().send().await?;
    /// assert_eq!(faults.count("ListTables"), 1);
    /// # Ok(()) }
    /// ```
    pub fn none() -> Self {
        Self::seeded(0)
    }

    /// Returns a `Faults` value with random faults. The seed decides which requests meet a fault,
    /// and [`rate`](Self::rate) sets the rate of each fault.
    ///
    /// If two runs of a test use the same seed and send the same requests in the same order, both
    /// runs meet the same faults. Each request draws one random number, except requests of
    /// operations that [`only`](Self::only) leaves out.
    ///
    /// ```
    /// use dynalock_local::{Fault, Faults};
    ///
    /// let faults = Faults::seeded(7).rate(Fault::LoseReply, 0.05).rate(Fault::Throttle, 0.01);
    /// ```
    pub fn seeded(seed: u64) -> Self {
        Self { plan: Arc::new(Mutex::new(Plan::seeded(seed))) }
    }

    /// Sets the share of requests that meet `fault`. A rate below 0 becomes 0, and a rate above 1
    /// becomes 1.
    ///
    /// If the sum of all rates is above 1, the faults of the last calls of `rate` occur less often
    /// than the given rates.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use dynalock_local::{Database, Fault, Faults};
    ///
    /// let faults = Faults::seeded(7).rate(Fault::error("AccessDeniedException"), 0.5);
    /// let client = Database::in_memory()?.client_with(&faults);
    ///
    /// for _ in 0..100 {
    ///     drop(client.list_tables().send().await);
    /// }
    /// let refused = faults.requests().iter().filter(|request| request.fault.is_some()).count();
    /// assert!((30..=70).contains(&refused), "about half of the requests: {refused}");
    /// # Ok(()) }
    /// ```
    pub fn rate(self, fault: Fault, rate: f64) -> Self {
        self.plan().rate(fault, rate);
        self
    }

    /// Limits random faults to the given operations, for example `"PutItem"`. Faults that are not
    /// random, for example the faults of [`script`](Self::script), still apply to all operations.
    ///
    /// ```
    /// use dynalock_local::{Fault, Faults};
    ///
    /// // Reads always succeed.
    /// let faults = Faults::seeded(7).rate(Fault::LoseReply, 0.1).only(["PutItem", "UpdateItem"]);
    /// ```
    pub fn only(self, operations: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let operations = operations.into_iter().map(Into::into).collect();
        self.plan().only(operations);
        self
    }

    /// Applies `fault` to one of the following requests. `nth` is 0 for the next request, and 1 for
    /// the request after the next request.
    ///
    /// ```
    /// use dynalock_local::{Fault, Faults};
    ///
    /// let faults = Faults::none();
    /// faults.script(0, Fault::LoseRequest);
    /// faults.script(1, Fault::LoseReply); // the repetition after the lost request
    /// ```
    pub fn script(&self, nth: usize, fault: Fault) {
        self.plan().script(nth, fault);
    }

    /// Applies `fault` to one of the following requests of `operation`. `nth` is 0 for the next
    /// request of the operation.
    ///
    /// ```
    /// use dynalock_local::{Fault, Faults};
    ///
    /// let faults = Faults::none();
    /// faults.script_on("UpdateItem", 2, Fault::LoseReply); // the third update from now
    /// ```
    pub fn script_on(&self, operation: &str, nth: usize, fault: Fault) {
        self.plan().script_on(operation, nth, fault);
    }

    /// Applies `fault` to the next request for page `nth` of a query or scan. The first page has
    /// the number 0.
    ///
    /// `operation` is `"Query"` or `"Scan"`. The pages of each query are counted separately. A
    /// request without a start key asks for page 0. A request with a new start key asks for the
    /// next page, and a retry asks for the page of the first attempt. Each segment of a parallel
    /// scan counts as a separate scan. If a test sets several faults for one page, each fault
    /// applies to a different request for the page.
    ///
    /// ```
    /// use aws_sdk_dynamodb::error::ProvideErrorMetadata;
    /// use dynalock_local::{Database, Fault, Faults};
    /// # use aws_sdk_dynamodb::{config::retry::RetryConfig, types::AttributeValue};
    /// # use aws_sdk_dynamodb::types::{AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let faults = Faults::none();
    /// let client = Database::in_memory()?.client_with(&faults);
    /// # let config = client.config().to_builder().retry_config(RetryConfig::disabled()).build();
    /// # let client = aws_sdk_dynamodb::Client::from_conf(config);
    /// # let sku = AttributeDefinition::builder().attribute_name("sku").attribute_type(ScalarAttributeType::S).build()?;
    /// # let key = KeySchemaElement::builder().attribute_name("sku").key_type(KeyType::Hash).build()?;
    /// # let create = client.create_table().table_name("products").billing_mode(BillingMode::PayPerRequest);
    /// # create.attribute_definitions(sku).key_schema(key).send().await?;
    /// # for sku in ["a", "b", "c"] {
    /// #     client.put_item().table_name("products").item("sku", AttributeValue::S(sku.to_owned())).send().await?;
    /// # }
    /// // .. create the table "products" with some items, and a client without retries, then:
    /// faults.script_page("Scan", 1, Fault::Throttle);
    ///
    /// let mut pages = client.scan().table_name("products").limit(1).into_paginator().send();
    /// pages.try_next().await?.expect("page 0 passes");
    /// let second = pages.next().await.expect("page 1 has an answer");
    /// assert_eq!(second.unwrap_err().code(), Some("ThrottlingException"));
    /// # Ok(()) }
    /// ```
    pub fn script_page(&self, operation: &str, nth: usize, fault: Fault) {
        self.plan().script_page(PageFault { operation: operation.to_owned(), page: nth, fault });
    }

    /// Applies `fault` to each later request for page `nth` of a query or scan, until
    /// [`clear`](Self::clear).
    ///
    /// The documentation of [`script_page`](Self::script_page) says how the faults count pages.
    ///
    /// ```
    /// use dynalock_local::{Fault, Faults};
    ///
    /// let faults = Faults::none();
    /// faults.always_on_page("Query", 2, Fault::Throttle); // no query goes beyond its second page
    /// ```
    pub fn always_on_page(&self, operation: &str, nth: usize, fault: Fault) {
        self.plan().always_on_page(PageFault { operation: operation.to_owned(), page: nth, fault });
    }

    /// Applies `fault` to every request from now on, until [`clear`](Self::clear).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use dynalock_local::{Database, Fault, Faults};
    ///
    /// let faults = Faults::none();
    /// let client = Database::in_memory()?.client_with(&faults);
    ///
    /// faults.always(Fault::Refused);
    /// client.list_tables().send().await.expect_err("DynamoDB cannot be reached");
    ///
    /// faults.clear();
    /// client.list_tables().send().await?;
    /// # Ok(()) }
    /// ```
    pub fn always(&self, fault: Fault) {
        self.plan().always(fault);
    }

    /// Removes all scripted faults, the faults of `always` and `always_on_page`, and all rates.
    /// `clear` does not change the log and the page numbers.
    ///
    /// ```
    /// use dynalock_local::{Fault, Faults};
    ///
    /// let faults = Faults::seeded(7).rate(Fault::Throttle, 0.2);
    /// faults.clear(); // no request meets a fault any more
    /// ```
    pub fn clear(&self) {
        self.plan().clear();
    }

    /// Returns all requests that the client has sent so far, in the order of sending.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use dynalock_local::{Database, Fault, Faults};
    ///
    /// let faults = Faults::none();
    /// let client = Database::in_memory()?.client_with(&faults);
    ///
    /// faults.script(0, Fault::Throttle);
    /// client.list_tables().send().await?;
    ///
    /// let met: Vec<_> = faults.requests().into_iter().map(|request| request.fault).collect();
    /// assert_eq!(met, [Some(Fault::Throttle), None]);
    /// # Ok(()) }
    /// ```
    pub fn requests(&self) -> Vec<Request> {
        self.plan().log().to_vec()
    }

    /// Returns the number of requests of `operation` that the client has sent so far.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let faults = dynalock_local::Faults::none();
    /// let client = dynalock_local::Database::in_memory()?.client_with(&faults);
    ///
    /// client.list_tables().send().await?;
    /// client.list_tables().send().await?;
    /// assert_eq!(faults.count("ListTables"), 2);
    /// # Ok(()) }
    /// ```
    pub fn count(&self, operation: &str) -> usize {
        self.plan().count(operation)
    }

    /// Adds the faults to any HTTP client of the SDK.
    ///
    /// [`Fault::DeliverTwice`] delivers a request only once if the SDK cannot copy the request. The
    /// SDK can always copy a request to DynamoDB.
    ///
    /// ```
    /// use dynalock_local::{Database, Fault, Faults};
    ///
    /// # fn example() -> Result<(), dynalock_local::Error> {
    /// let faults = Faults::seeded(7).rate(Fault::LoseReply, 0.05);
    /// let http_client = faults.wrap(Database::in_memory()?.connector());
    ///
    /// let config = aws_sdk_dynamodb::Config::builder().http_client(http_client);
    /// # Ok(()) }
    /// ```
    pub fn wrap(&self, connector: impl HttpClient + 'static) -> SharedHttpClient {
        SharedHttpClient::new(Faulty::new(SharedHttpClient::new(connector), self.clone()))
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("requests", &self.plan().log().len()).finish_non_exhaustive()
    }
}

use std::{fmt, sync::Arc};

use super::Fault;

/// One sent request in the log of [`Faults`](crate::Faults).
///
/// The `Debug` output of a request shows no content of items.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The name of the operation, for example `PutItem`.
    pub operation: String,
    /// The fault that the request met, or `None` if the request met no fault.
    pub fault: Option<Fault>,

    body: Arc<[u8]>,
}

impl Request {
    pub(super) fn new(operation: &str, fault: Option<Fault>, body: &[u8]) -> Self {
        Self { operation: operation.to_owned(), fault, body: body.into() }
    }

    /// Returns the body of the sent request, in bytes.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let faults = dynalock_local::Faults::none();
    /// let client = dynalock_local::Database::in_memory()?.client_with(&faults);
    ///
    /// client.list_tables().limit(5).send().await?;
    /// assert_eq!(faults.requests()[0].body(), br#"{"Limit":5}"#);
    /// # Ok(()) }
    /// ```
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the body of the request as JSON in DynamoDB's format. Returns `Null` if the body is
    /// not JSON.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use aws_sdk_dynamodb::types::AttributeValue;
    ///
    /// let faults = dynalock_local::Faults::none();
    /// let client = dynalock_local::Database::in_memory()?.client_with(&faults);
    ///
    /// let get = client.get_item().table_name("products").key("sku", AttributeValue::S("85123A".to_owned()));
    /// get.send().await.expect_err("the table does not exist");
    ///
    /// let request = &faults.requests()[0];
    /// assert_eq!(request.operation, "GetItem");
    /// assert_eq!(request.json()["Key"]["sku"]["S"], "85123A");
    /// # Ok(()) }
    /// ```
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("operation", &self.operation)
            .field("fault", &self.fault)
            .field("bytes", &self.body.len())
            .finish()
    }
}

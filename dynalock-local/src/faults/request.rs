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

    /// Returns the body of the sent request.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the body of the request as JSON in DynamoDB's format, for example for
    /// `request.json()["Key"]["sku"]["S"]`. Returns `Null` if the body is not JSON.
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

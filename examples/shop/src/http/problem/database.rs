//! Converts the errors of dynalock into problems. No other file of
//! the service converts errors of dynalock.

use std::time::Duration;

use axum::http::StatusCode;
use dynalock::{
    Error,
    error::{Conflict, Locked},
};

use super::Problem;
use crate::product::Product;

/// dynalock has already made its own retries, so the client waits before it repeats the request.
const PAUSE: Duration = Duration::from_secs(1);

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Conflict(conflict) => {
                let detail = "another client has changed the product since you have read it";
                Self::new(StatusCode::PRECONDITION_FAILED, "changed", detail).current(&conflict)
            }
            Error::AlreadyExists(conflict) => {
                Self::new(StatusCode::CONFLICT, "exists", "there is a product with this id").current(&conflict)
            }
            Error::NotFound { .. } => Self::new(StatusCode::NOT_FOUND, "no-such-item", "there is no such item"),
            Error::KeyChanged { .. } => {
                Self::new(StatusCode::BAD_REQUEST, "no-etag", "the etag belongs to another product")
            }
            Error::Locked(locked) => leased(&locked),
            Error::Lost(lost) => Self::new(StatusCode::CONFLICT, "lease-lost", format!("the lease is over: {lost}")),
            Error::PageToken { .. } => {
                let detail = "this is no page of this list; begin with the first page";
                Self::new(StatusCode::BAD_REQUEST, "no-such-page", detail)
            }
            Error::Indeterminate { .. } => unknown_outcome(&error),
            error if error.is_retryable() => {
                tracing::warn!(%error, "the database has no answer");
                let detail = "the database has no answer or no capacity; nothing was written";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "try-again", detail).retry_after(PAUSE)
            }
            // The code, the table or the rights of the service are wrong, and the logged error says
            // how to correct them.
            error => {
                tracing::error!(%error, "the service has to be changed");
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the service has a fault; it is in its log")
            }
        }
    }
}

impl Problem {
    /// Adds the item that made the condition of a write false, so that the client needs no further
    /// request.
    fn current(self, conflict: &Conflict) -> Self {
        match conflict.current::<Product>() {
            Ok(Some(product)) => self.with("current", serde_json::json!(*product)).etag(&product.etag()),
            Ok(None) => self.with("current", ()),
            Err(error) => error.into(),
        }
    }
}

fn leased(locked: &Locked) -> Problem {
    let Locked { owner, remaining, .. } = locked;
    // dynalock shows the text of a key in quotes.
    let product = locked.name.as_deref().map_or("", |key| key.trim_matches('"'));
    let problem = Problem::new(StatusCode::CONFLICT, "leased", format!("{owner} is taking stock of `{product}`"));
    problem.with("product", product).with("holder", owner.as_ref()).retry_after(*remaining)
}

fn unknown_outcome(error: &Error) -> Problem {
    tracing::error!(%error, "the outcome of a write is unknown");
    let detail = "the write may have happened or not; read the item before you write it again, or repeat a request \
                  with its idempotency key";
    Problem::new(StatusCode::GATEWAY_TIMEOUT, "unknown-outcome", detail)
}

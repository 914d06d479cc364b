//! Problems: the answers to requests that failed, in the format of RFC 9457.

mod database;
mod request;

use std::time::Duration;

use axum::{
    Json,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use dynalock::Etag;
use serde::Serialize;
use serde_json::{Map, Value};

/// A problem: the answer to a request that failed. A program decides by `type`, and a person reads
/// `detail`.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    kind: &'static str,
    detail: String,
    members: Map<String, Value>,
    headers: HeaderMap,
}

impl Problem {
    /// Makes a problem. The `type` of the problem ends with `kind`.
    pub fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        Self { status, kind, detail: detail.into(), members: Map::new(), headers: HeaderMap::new() }
    }

    /// Adds a member to the JSON of the problem, for programs that read it.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the header `Retry-After`, in whole seconds and with at least one second.
    #[must_use]
    pub fn retry_after(mut self, time: Duration) -> Self {
        self.headers.insert(header::RETRY_AFTER, HeaderValue::from(time.as_secs() + 1));
        self
    }

    /// Adds the etag of the item in the problem.
    #[must_use]
    fn etag(mut self, etag: &Etag) -> Self {
        self.headers.extend(etag_header(etag));
        self
    }
}

/// Returns the header `ETag`.
pub fn etag_header(etag: &Etag) -> HeaderMap {
    // An etag has only letters, digits and hyphens, so it always fits into a header.
    HeaderValue::from_str(&format!("\"{etag}\"")).map(|etag| (header::ETAG, etag)).into_iter().collect()
}

#[derive(Serialize)]
struct Body {
    #[serde(rename = "type")]
    kind: String,
    title: Option<&'static str>,
    status: u16,
    detail: String,
    #[serde(flatten)]
    members: Map<String, Value>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { status, kind, detail, members, headers } = self;
        let (kind, title) = (format!("urn:shop:{kind}"), status.canonical_reason());
        let body = Json(Body { kind, title, status: status.as_u16(), detail, members });
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        (status, headers, kind, body).into_response()
    }
}

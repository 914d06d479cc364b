//! The id of a request, its span, and its line in the log.

use std::time::Instant;

use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use tracing::Instrument;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const LONGEST_ID: usize = 64;

/// Gives the request an id, and logs its answer. All log lines during the request have the id,
/// including the log lines of dynalock.
///
/// The log line contains the route and not the address, because the address may name a customer.
pub async fn log(request: Request, next: Next) -> Response {
    let id = id_of(&request);
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let span = tracing::info_span!("request", id, method = %request.method(), route);
    async move {
        let start = Instant::now();
        let mut response = next.run(request).await;
        let millis = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(status = response.status().as_u16(), millis, "answered");
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(REQUEST_ID, id);
        }
        response
    }
    .instrument(span)
    .await
}

/// Returns the request id that a proxy has given, or a new request id.
fn id_of(request: &Request) -> String {
    let is_allowed =
        |id: &&str| id.len() <= LONGEST_ID && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let given = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(is_allowed);
    given.map_or_else(|| format!("{:016x}", fastrand::u64(..)), str::to_owned)
}

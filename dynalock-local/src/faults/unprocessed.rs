use aws_smithy_runtime_api::client::{
    http::{HttpConnector, SharedHttpConnector},
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
};
use aws_smithy_types::body::SdkBody;
use http::StatusCode;
use serde_json::Value;

use crate::{batch::Kind, wire};

/// Delivers a batch without the last `count` keys or writes, and adds the removed keys or writes to
/// the answer as unprocessed.
pub(super) async fn leave(
    count: usize,
    inner: SharedHttpConnector,
    mut request: HttpRequest,
) -> Result<HttpResponse, ConnectorError> {
    let Some(kind) = Kind::of(wire::operation(&request)) else { return inner.call(request).await };
    let mut body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
    let Some(tables) = body.get_mut("RequestItems").and_then(Value::as_object_mut) else {
        return inner.call(request).await;
    };
    let mut open = count;
    let left = kind.take(tables, |_, _| {
        let is_left = open > 0;
        open = open.saturating_sub(1);
        is_left
    });
    if tables.is_empty() {
        return Ok(wire::reply(StatusCode::OK, kind.nothing_processed(&left).to_string()));
    }

    let shortened = body.to_string();
    request.headers_mut().insert("content-length", shortened.len().to_string());
    *request.body_mut() = SdkBody::from(shortened);
    let reply = inner.call(request).await?;

    if reply.status().is_success() { kind.add(left, reply).await } else { Ok(reply) }
}

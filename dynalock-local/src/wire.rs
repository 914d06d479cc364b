//! DynamoDB's JSON protocol, as much of it as is needed to answer without the engine.

use aws_smithy_runtime_api::{
    client::orchestrator::{HttpRequest, HttpResponse},
    http::StatusCode,
};
use aws_smithy_types::body::SdkBody;
use http::StatusCode as Code;
use serde_json::json;

pub(crate) const SERVICE: &str = "com.amazonaws.dynamodb.v20120810";

/// The operation that a request names in its header, `PutItem` for example; empty if it names none.
pub(crate) fn operation(request: &HttpRequest) -> &str {
    let target = request.headers().get("x-amz-target").unwrap_or_default();

    target.split_once('.').map_or("", |(_, operation)| operation)
}

pub(crate) fn reply(status: Code, body: impl Into<SdkBody>) -> HttpResponse {
    let mut response = HttpResponse::new(StatusCode::from(status), body.into());
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}

/// An error of the service, by the name that the SDK knows it under.
pub(crate) fn error(status: Code, namespace: &str, code: &str, message: &str) -> HttpResponse {
    let body = json!({ "__type": format!("{namespace}#{code}"), "message": message });

    reply(status, body.to_string())
}

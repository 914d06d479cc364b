//! The parts of DynamoDB's JSON protocol that the crate needs to make answers without the local
//! engine.

use aws_smithy_runtime_api::{
    client::orchestrator::{HttpRequest, HttpResponse},
    http::StatusCode,
};
use aws_smithy_types::body::SdkBody;
use http::StatusCode as Code;
use serde_json::json;

pub(crate) const SERVICE: &str = "com.amazonaws.dynamodb.v20120810";

/// Returns the name of the operation from the header of a request, for example `PutItem`. Returns
/// an empty text for a request without the header `x-amz-target`.
pub(crate) fn operation(request: &HttpRequest) -> &str {
    let target = request.headers().get("x-amz-target").unwrap_or_default();

    target.split_once('.').map_or("", |(_, operation)| operation)
}

pub(crate) fn reply(status: Code, body: impl Into<SdkBody>) -> HttpResponse {
    let mut response = HttpResponse::new(StatusCode::from(status), body.into());
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}

/// Makes an error answer in the form in which DynamoDB sends errors. The SDK identifies the kind of
/// the error by the exception name in the answer.
pub(crate) fn error(status: Code, namespace: &str, code: &str, message: &str) -> HttpResponse {
    let body = json!({ "__type": format!("{namespace}#{code}"), "message": message });

    reply(status, body.to_string())
}

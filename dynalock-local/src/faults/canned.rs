//! The answers that faults give instead of the answers of the local engine.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, CancellationReason};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_types::base64;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::wire::{self, SERVICE};

const MESSAGE: &str = "injected";

pub(super) fn server_error() -> HttpResponse {
    wire::error(StatusCode::INTERNAL_SERVER_ERROR, SERVICE, "InternalServerError", MESSAGE)
}

pub(super) fn refusal(code: &str) -> HttpResponse {
    error(code, StatusCode::BAD_REQUEST)
}

pub(super) fn error(code: &str, status: StatusCode) -> HttpResponse {
    let namespace = match code {
        "AccessDeniedException" | "SerializationException" => "com.amazon.coral.service",
        "ThrottlingException" => "com.amazon.coral.availability",
        "ValidationException" => "com.amazon.coral.validate",
        _ => SERVICE,
    };

    wire::error(status, namespace, code, MESSAGE)
}

pub(super) fn ok(body: &'static str) -> HttpResponse {
    wire::reply(StatusCode::OK, body)
}

pub(super) fn canceled(reasons: &[CancellationReason]) -> HttpResponse {
    let body = json!({
        "__type": format!("{SERVICE}#TransactionCanceledException"),
        "Message": MESSAGE,
        "CancellationReasons": reasons.iter().map(reason).collect::<Vec<_>>(),
    });

    wire::reply(StatusCode::BAD_REQUEST, body.to_string())
}

fn reason(reason: &CancellationReason) -> Value {
    let mut json = Map::new();
    json.insert("Code".to_owned(), reason.code().unwrap_or("None").into());

    if let Some(message) = reason.message() {
        json.insert("Message".to_owned(), message.into());
    }
    if let Some(item) = reason.item() {
        json.insert("Item".to_owned(), map(item));
    }

    Value::Object(json)
}

fn map(attributes: &HashMap<String, AttributeValue>) -> Value {
    attributes.iter().map(|(name, value)| (name.clone(), attribute(value))).collect()
}

fn attribute(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::B(bytes) => json!({ "B": base64::encode(bytes) }),
        AttributeValue::Bool(bool) => json!({ "BOOL": bool }),
        AttributeValue::Bs(set) => json!({ "BS": set.iter().map(base64::encode).collect::<Vec<_>>() }),
        AttributeValue::L(list) => json!({ "L": list.iter().map(attribute).collect::<Vec<_>>() }),
        AttributeValue::M(attributes) => json!({ "M": map(attributes) }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::Ns(set) => json!({ "NS": set }),
        AttributeValue::S(string) => json!({ "S": string }),
        AttributeValue::Ss(set) => json!({ "SS": set }),
        // The last match arm encodes `NULL`, and types that a later version of the SDK may add.
        _ => json!({ "NULL": true }),
    }
}

//! Tests of the Lambda function: its handler, and its program with a runtime API.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use dynalock::local::Fault;
use serde_json::{Value, json};
use shop::lambda::{Batch, handle};
use tokio::{net::TcpListener, process::Command, sync::mpsc, time::timeout};

use crate::support::{Program, Service, id};

/// Returns a batch of messages with the given bodies, as Amazon SQS sends a batch.
fn batch(bodies: &[Value]) -> Value {
    let message = |(number, body): (usize, &Value)| {
        json!({
            "messageId": format!("059f36b4-87a3-44ab-83d2-66197571{number:04}"),
            "receiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a",
            "body": body.as_str().map_or_else(|| body.to_string(), str::to_owned),
            "attributes": {
                "ApproximateReceiveCount": "1",
                "SentTimestamp": "1545082649183",
                "SenderId": "AIDAIENQZJOLO23YVJ4VO",
                "ApproximateFirstReceiveTimestamp": "1545082649185"
            },
            "messageAttributes": {},
            "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
            "eventSource": "aws:sqs",
            "eventSourceARN": "arn:aws:sqs:us-east-2:123456789012:orders",
            "awsRegion": "us-east-2"
        })
    };
    json!({"Records": bodies.iter().enumerate().map(message).collect::<Vec<_>>()})
}

fn order(key: &str, product: &str, pieces: u32) -> Value {
    json!({"id": key, "order": {"customer": "alice", "lines": {product: pieces}}})
}

async fn failures(service: &Service, event: &Value) -> Vec<String> {
    let app = shop::Shop::new(&service.database.client_with(&service.faults));
    let batch: Batch = serde_json::from_value(event.clone()).unwrap();
    let answer = serde_json::to_value(handle(&app, batch).await).unwrap();
    let failed = answer["batchItemFailures"].as_array().unwrap();
    failed.iter().map(|failure| failure["itemIdentifier"].as_str().unwrap()[32..].to_owned()).collect()
}

#[tokio::test]
async fn a_message_that_is_delivered_twice_places_one_order() {
    let service = Service::start().await;
    let event = batch(&[order("1", "cup-red", 2), order("2", "cup-red", 3), order("1", "cup-red", 2)]);
    for _ in 0..2 {
        assert_eq!(failures(&service, &event).await, [""; 0]);
        assert_eq!(service.stock("cup-red").await, 35);
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_messages_that_may_succeed_later_are_delivered_again() {
    let service = Service::start().await;
    let event = batch(&[json!("no order"), order("1", "teapot-iron", 9), order("2", "cup-red", 1)]);
    assert_eq!(failures(&service, &event).await, ["0000"]); // the iron teapots are sold out, also next time
    assert_eq!(service.stock("cup-red").await, 39);

    let event = batch(&[order("3", "cup-red", 1), order("4", "cup-tall", 1)]);
    service.faults.always(Fault::LoseReply);
    assert_eq!(failures(&service, &event).await, ["0000", "0001"]);
    service.faults.clear();
    assert_eq!(failures(&service, &event).await, [""; 0]);
    assert_eq!((service.stock("cup-red").await, service.stock("cup-tall").await), (38, 24));
}

/// The runtime API of Lambda, with one batch.
#[derive(Clone)]
struct Runtime {
    next: Arc<Mutex<Option<Value>>>,
    answers: mpsc::Sender<(String, Value)>,
}

async fn next(State(runtime): State<Runtime>) -> Response {
    let Some(event) = runtime.next.lock().unwrap().take() else { return std::future::pending().await };
    let headers = [
        ("lambda-runtime-aws-request-id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd"),
        ("lambda-runtime-deadline-ms", "4102444800000"),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-2:123456789012:function:orders"),
        ("lambda-runtime-trace-id", "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700"),
    ];
    (headers, Json(event)).into_response()
}

async fn answer(
    State(runtime): State<Runtime>,
    Path((request, kind)): Path<(String, String)>,
    body: String,
) -> StatusCode {
    let body = serde_json::from_str(&body).unwrap();
    runtime.answers.send((format!("{request}/{kind}"), body)).await.unwrap();
    StatusCode::ACCEPTED
}

#[tokio::test]
async fn the_program_answers_the_runtime_api() {
    let service = Service::start().await;
    let database = service.database.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
    let (answers, mut answered) = mpsc::channel(1);
    let event = batch(&[order("1", "cup-red", 2), json!("no order")]);
    let runtime = Runtime { next: Arc::new(Mutex::new(Some(event))), answers };
    let api = Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route("/2018-06-01/runtime/invocation/{request}/{kind}", post(answer))
        .with_state(runtime);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(axum::serve(listener, api).into_future());

    let mut program = Command::new(env!("CARGO_BIN_EXE_shop-lambda"));
    program.env("AWS_LAMBDA_RUNTIME_API", address).env("AWS_ENDPOINT_URL", database.url());
    program.env("AWS_LAMBDA_FUNCTION_NAME", "orders").env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128");
    program.env("AWS_LAMBDA_FUNCTION_VERSION", "1").env("AWS_REGION", "us-east-1");
    program.env("AWS_ACCESS_KEY_ID", "local").env("AWS_SECRET_ACCESS_KEY", "local");
    let mut program = Program::start(&mut program);
    program.logged("this message is no order").await;

    let failure = json!({"batchItemFailures": [{"itemIdentifier": "059f36b4-87a3-44ab-83d2-661975710001"}]});
    let request = "8476a536-e9f4-11e8-9739-2dfe598c3fcd/response";
    let answer = timeout(Duration::from_mins(1), answered.recv()).await.expect("the program answers");
    assert_eq!(answer.unwrap(), (request.to_owned(), failure));
    assert_eq!(service.stock("cup-red").await, 38);
    assert!(service.shop.orders.get((id("alice"), id("1"))).await.unwrap().is_some());
}

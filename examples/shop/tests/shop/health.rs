//! Tests of health, readiness and request ids.

use axum::http::{Method, StatusCode};
use dynalock::local::Fault;
use serde_json::Value;

use crate::support::Service;

#[tokio::test(start_paused = true)]
async fn a_service_without_its_database_lives_and_is_not_ready() {
    let service = Service::start().await;
    assert_eq!(service.get("/ready").await.status, StatusCode::OK);
    service.faults.always(Fault::LoseRequest);
    assert_eq!(service.get("/health").await.status, StatusCode::OK);
    assert_eq!(service.get("/ready").await.problem(), (503, "try-again"));
    service.faults.clear();
    assert_eq!(service.get("/ready").await.status, StatusCode::OK);
}

#[tokio::test]
async fn an_answer_has_the_id_of_its_request() {
    let service = Service::start().await;
    let given = service.send(Method::GET, "/health", &[("x-request-id", "from-a-proxy-7")], Value::Null).await;
    assert_eq!(given.header("x-request-id"), "from-a-proxy-7");
    let (first, second) = (service.get("/health").await, service.get("/health").await);
    assert_eq!(first.header("x-request-id").len(), 16);
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
    let forged = service.send(Method::GET, "/health", &[("x-request-id", "a b\tc")], Value::Null).await;
    assert_eq!(forged.header("x-request-id").len(), 16);
}

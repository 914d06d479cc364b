//! Tests of the problems that the service returns for errors of the database and of requests.

use axum::http::Method;
use dynalock::local::Fault;
use serde_json::{Value, json};

use crate::support::Service;

const RED: &str = "/products/cup-red";

#[tokio::test(start_paused = true)]
async fn a_database_without_capacity_is_answered_with_a_time() {
    let service = Service::start().await;
    for fault in [Fault::Throttle, Fault::LoseRequest] {
        service.faults.always(fault);
        let answer = service.get(RED).await;
        assert_eq!((answer.problem(), answer.header("retry-after")), ((503, "try-again"), "2"));
        service.faults.clear();
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_of_unknown_outcome_says_what_to_do() {
    let service = Service::start().await;
    let red = service.get(RED).await;
    service.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    for nth in 1..100 {
        service.faults.script_on("UpdateItem", nth, Fault::LoseRequest);
    }
    let edit = [("if-match", red.header("etag"))];
    let answer = service.send(Method::PATCH, RED, &edit, json!({"cents": 1})).await;
    assert_eq!(answer.problem(), (504, "unknown-outcome"));
    assert!(answer.body["detail"].as_str().unwrap().contains("read the item"));
}

#[tokio::test]
async fn a_fault_of_the_service_is_not_told_to_its_clients() {
    let service = Service::start().await;
    service.faults.always(Fault::AccessDenied);
    let answer = service.get(RED).await;
    assert_eq!(answer.problem(), (500, "internal"));
    assert_eq!(answer.body["detail"], "the service has a fault; it is in its log");
}

#[tokio::test]
async fn an_unknown_address_or_method_is_a_problem() {
    let service = Service::start().await;
    assert_eq!(service.get("/spoons").await.problem(), (404, "no-such-address"));
    assert_eq!(service.send(Method::DELETE, "/orders", &[], Value::Null).await.problem(), (405, "no-such-method"));
    assert_eq!(service.send(Method::POST, "/products", &[], json!([])).await.problem(), (422, "no-such-body"));
    let large = json!({"id": "a".repeat(70_000)});
    assert_eq!(service.send(Method::POST, "/products", &[], large).await.problem(), (413, "no-such-body"));
}

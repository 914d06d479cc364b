//! Tests of stock-taking: only the client with the lease may write, and all other clients learn who
//! has the lease.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Answer, Service};

async fn begin(service: &Service, holder: &str) -> Answer {
    service.send(Method::POST, "/products/cup-red/lease", &[], json!({"holder": holder})).await
}

async fn count(service: &Service, product: &str, token: &str, stock: u32) -> Answer {
    let uri = format!("/products/{product}/lease/stock");
    service.send(Method::PUT, &uri, &[("lease-token", token)], json!({"stock": stock})).await
}

#[tokio::test]
async fn a_lease_refuses_the_edits_and_the_orders_of_others() {
    let service = Service::start().await;
    let red = service.get("/products/cup-red").await;
    let lease = begin(&service, "ann").await;
    assert_eq!((lease.status, &lease.body["holder"]), (StatusCode::CREATED, &json!("ann")));
    assert!((290..=300).contains(&lease.body["seconds"].as_u64().unwrap()), "{lease:?}");

    let edit = [("if-match", red.header("etag"))];
    let edited = service.send(Method::PATCH, "/products/cup-red", &edit, json!({"cents": 1})).await;
    let new = json!({"customer": "bob", "lines": {"cup-red": 1}});
    let ordered = service.send(Method::POST, "/orders", &[("idempotency-key", "1")], new.clone()).await;
    for refused in [edited, ordered, begin(&service, "cy").await] {
        assert_eq!(refused.problem(), (409, "leased"));
        assert_eq!((&refused.body["holder"], &refused.body["product"]), (&json!("ann"), &json!("cup-red")));
        assert!((290..=305).contains(&refused.header("retry-after").parse::<u32>().unwrap()));
    }

    let counted = count(&service, "cup-red", lease.body["token"].as_str().unwrap(), 37).await;
    assert_eq!((counted.status, &counted.body["stock"]), (StatusCode::OK, &json!(37)));
    let ordered = service.send(Method::POST, "/orders", &[("idempotency-key", "1")], new).await;
    assert_eq!((ordered.status, service.stock("cup-red").await), (StatusCode::CREATED, 36));
}

#[tokio::test]
async fn any_process_of_the_service_releases_a_lease() {
    let service = Service::start().await;
    let lease = begin(&service, "ann").await;
    let token = [("lease-token", lease.body["token"].as_str().unwrap())];
    let ended = service.another_process().send(Method::DELETE, "/products/cup-red/lease", &token, Value::Null).await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    assert_eq!(begin(&service, "bob").await.status, StatusCode::CREATED);
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_client_that_does_not_come_back_ends_by_itself() {
    let service = Service::start().await;
    begin(&service, "ann").await;
    let seconds = begin(&service, "bob").await.header("retry-after").parse().unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
    assert_eq!(begin(&service, "bob").await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn an_old_token_writes_nothing() {
    let service = Service::start().await;
    let ann = begin(&service, "ann").await;
    let old = ann.body["token"].as_str().unwrap();
    assert_eq!(count(&service, "cup-red", old, 37).await.status, StatusCode::OK);
    let bob = begin(&service, "bob").await;
    assert_eq!(count(&service, "cup-red", old, 1).await.problem(), (409, "lease-lost"));
    assert_eq!(count(&service, "cup-tall", old, 1).await.problem(), (400, "no-lease-token"));
    assert_eq!(count(&service, "cup-red", "no token", 1).await.problem(), (400, "no-lease-token"));
    let token = bob.body["token"].as_str().unwrap();
    assert_eq!(count(&service, "cup-red", token, 36).await.status, StatusCode::OK);
    assert_eq!(service.stock("cup-red").await, 36);
}

#[tokio::test]
async fn only_an_existing_product_is_leased() {
    let service = Service::start().await;
    let lease = service.send(Method::POST, "/products/spoon/lease", &[], json!({"holder": "ann"})).await;
    assert_eq!(lease.problem(), (404, "no-such-item"));
}

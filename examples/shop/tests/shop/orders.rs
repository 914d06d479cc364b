//! Tests of orders: an idempotency key places one order, and the orders never take more pieces than
//! the stock has.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use dynalock::local::Fault;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::support::{Answer, Service};

async fn order(service: &Service, key: &str, customer: &str, lines: Value) -> Answer {
    let body = json!({"customer": customer, "lines": lines});
    service.send(Method::POST, "/orders", &[("idempotency-key", key)], body).await
}

#[tokio::test]
async fn an_order_takes_pieces_out_of_the_stock() {
    let service = Service::start().await;
    let placed = order(&service, "1", "alice", json!({"cup-red": 2, "teapot-iron": 1})).await;
    assert_eq!((placed.status, placed.header("location")), (StatusCode::CREATED, "/orders/alice/1"));
    assert_eq!(placed.body["total_cents"], 2 * 650 + 4900);
    assert_eq!(placed.body["lines"]["cup-red"], json!({"pieces": 2, "cents": 650}));
    assert_eq!((service.stock("cup-red").await, service.stock("teapot-iron").await), (38, 2));
    assert_eq!(service.get("/orders/alice/1").await.body, placed.body);
    assert_eq!(service.get("/orders/alice/2").await.problem(), (404, "no-such-item"));
    assert_eq!(service.shop.jobs.get("alice/1").await.unwrap().unwrap().order.to_string(), "1");
}

#[tokio::test]
async fn an_equal_request_gets_the_same_order() {
    let service = Service::start().await;
    let placed = order(&service, "1", "alice", json!({"cup-red": 2})).await;
    let again = order(&service, "1", "alice", json!({"cup-red": 2})).await;
    assert_eq!((again.status, &again.body), (StatusCode::CREATED, &placed.body));
    assert_eq!(service.stock("cup-red").await, 38);
    let other = order(&service, "1", "alice", json!({"cup-red": 3})).await;
    assert_eq!(other.problem(), (422, "idempotency-key-reused"));
    let of_bob = order(&service, "1", "bob", json!({"cup-red": 3})).await;
    assert_eq!(of_bob.status, StatusCode::CREATED);
    assert_eq!(service.stock("cup-red").await, 35);
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_places_no_second_order() {
    let service = Service::start().await;
    service.faults.script_on("TransactWriteItems", 0, Fault::LoseReply);
    let placed = order(&service, "1", "alice", json!({"cup-red": 2})).await;
    assert_eq!((placed.status, service.stock("cup-red").await), (StatusCode::CREATED, 38));
    assert_eq!(service.faults.count("TransactWriteItems"), 2);
    let again = order(&service, "1", "alice", json!({"cup-red": 2})).await;
    assert_eq!((again.status, again.body), (StatusCode::CREATED, placed.body));
    assert_eq!(service.stock("cup-red").await, 38);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_repeats_an_order_of_unknown_outcome_gets_it_once() {
    let service = Service::start().await;
    // The database applies the first request, but loses all replies until the deadline.
    service.faults.always(Fault::LoseReply);
    let unknown = order(&service, "1", "alice", json!({"cup-red": 2})).await;
    assert!([503, 504].contains(&unknown.status.as_u16()), "{unknown:?}");
    service.faults.clear();
    let again = order(&service, "1", "alice", json!({"cup-red": 2})).await;
    assert_eq!((again.status, service.stock("cup-red").await), (StatusCode::CREATED, 38));
}

#[tokio::test(start_paused = true)]
async fn equal_requests_at_once_place_one_order() {
    let service = Service::start().await;
    service.faults.always(Fault::Delay(Duration::from_millis(5)));
    let lines = || json!({"cup-red": 2});
    let send = || order(&service, "1", "alice", lines());
    let (first, second, third) = tokio::join!(send(), send(), send());
    assert_eq!(first.status, StatusCode::CREATED);
    assert_eq!((&second.body, &third.body), (&first.body, &first.body));
    assert_eq!(service.stock("cup-red").await, 38);
}

#[tokio::test(start_paused = true)]
async fn an_order_that_takes_the_last_pieces_does_not_refuse_an_equal_request() {
    let service = Service::start().await;
    // The first request reads that there is no order. The second request then places the order, and
    // takes the whole stock. The first request then reads the empty stock.
    service.faults.script_on("BatchGetItem", 0, Fault::Delay(Duration::from_secs(1)));
    let send = || order(&service, "1", "alice", json!({"teapot-iron": 3}));
    let later = async {
        sleep(Duration::from_millis(500)).await;
        send().await
    };
    let (first, second) = tokio::join!(send(), later);
    assert_eq!((first.status, second.status), (StatusCode::CREATED, StatusCode::CREATED));
    assert_eq!((&first.body, service.stock("teapot-iron").await), (&second.body, 0));
}

#[tokio::test(start_paused = true)]
async fn the_stock_is_never_below_zero() {
    let service = Service::start().await;
    service.faults.always(Fault::Delay(Duration::from_millis(5)));
    let send = |key: &'static str| order(&service, key, "alice", json!({"teapot-iron": 2, "cup-red": 1}));
    let (first, second) = tokio::join!(send("1"), send("2"));
    let (placed, refused) = if first.status == StatusCode::CREATED { (first, second) } else { (second, first) };
    assert_eq!(placed.status, StatusCode::CREATED);
    assert_eq!(refused.problem(), (409, "sold-out"));
    assert_eq!((&refused.body["product"], &refused.body["left"]), (&json!("teapot-iron"), &json!(1)));
    assert_eq!((service.stock("teapot-iron").await, service.stock("cup-red").await), (1, 39));
}

#[tokio::test]
async fn an_order_that_cannot_be_is_refused() {
    let service = Service::start().await;
    let lines = json!({"cup-red": 1});
    let no_key = json!({"customer": "alice", "lines": lines});
    let answer = service.send(Method::POST, "/orders", &[], no_key).await;
    assert_eq!(answer.problem(), (400, "idempotency-key-missing"));
    assert_eq!(order(&service, "a/b", "alice", lines.clone()).await.problem(), (400, "no-id"));
    assert_eq!(order(&service, "1", "a/b", lines).await.problem(), (422, "no-such-body"));
    assert_eq!(order(&service, "1", "alice", json!({})).await.problem(), (422, "lines"));
    assert_eq!(order(&service, "1", "alice", json!({"cup-red": 0})).await.problem(), (422, "no-such-body"));
    let unknown = order(&service, "1", "alice", json!({"spoon": 1})).await;
    assert_eq!((unknown.problem(), &unknown.body["product"]), ((422, "no-such-product"), &json!("spoon")));
}

#[tokio::test]
async fn the_orders_of_a_customer_are_listed_page_by_page() {
    let service = Service::start().await;
    for key in 0..12 {
        let placed = order(&service, &key.to_string(), "alice", json!({"plate-plain": 1})).await;
        assert_eq!(placed.status, StatusCode::CREATED);
    }
    let first = service.get("/orders?customer=alice").await;
    let token = first.body["next"].as_str().unwrap();
    let second = service.get(&format!("/orders?customer=alice&page={token}")).await;
    let ids = |page: &Answer| -> Vec<String> {
        page.body["items"].as_array().unwrap().iter().map(|order| order["id"].to_string()).collect()
    };
    assert_eq!((ids(&first).len(), ids(&second).len(), &second.body["next"]), (10, 2, &Value::Null));
    let mut all = [ids(&first), ids(&second)].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 12);
    assert_eq!(service.get(&format!("/orders?customer=bob&page={token}")).await.problem(), (400, "no-such-page"));
}

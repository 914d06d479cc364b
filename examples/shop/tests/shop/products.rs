//! Tests of products: etags, edits and pages.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::{Answer, Service};

const RED: &str = "/products/cup-red";

async fn put(service: &Service, etag: &str, product: &Value) -> Answer {
    service.send(Method::PUT, RED, &[("if-match", etag)], product.clone()).await
}

async fn patch(service: &Service, etag: &str, edit: Value) -> Answer {
    service.send(Method::PATCH, RED, &[("if-match", etag)], edit).await
}

#[tokio::test]
async fn a_product_comes_with_its_etag() {
    let service = Service::start().await;
    let red = service.get(RED).await;
    assert_eq!((red.status, &red.body["cents"]), (StatusCode::OK, &json!(650)));
    let known = [("if-none-match", &*format!("\"1-other\", W/{}", red.header("etag")))];
    let same = service.send(Method::GET, RED, &known, Value::Null).await;
    assert_eq!((same.status, same.header("etag")), (StatusCode::NOT_MODIFIED, red.header("etag")));
    let edited = patch(&service, red.header("etag"), json!({"cents": 700})).await;
    assert_ne!(edited.header("etag"), red.header("etag"));
    let new = service.send(Method::GET, RED, &known, Value::Null).await;
    assert_eq!((new.status, new.header("etag")), (StatusCode::OK, edited.header("etag")));
}

#[tokio::test]
async fn the_second_of_two_edits_gets_the_current_product() {
    let service = Service::start().await;
    let red = service.get(RED).await;
    let (mut mine, mut theirs) = (red.body.clone(), red.body.clone());
    theirs["stock"] = json!(39);
    mine["cents"] = json!(700);
    assert_eq!(put(&service, red.header("etag"), &theirs).await.status, StatusCode::OK);
    let refused = put(&service, red.header("etag"), &mine).await;
    assert_eq!(refused.problem(), (412, "changed"));
    assert_eq!(refused.body["current"], theirs);
    mine["stock"] = refused.body["current"]["stock"].clone();
    let saved = put(&service, refused.header("etag"), &mine).await;
    assert_eq!((saved.status, &saved.body), (StatusCode::OK, &mine));
}

#[tokio::test]
async fn a_patch_changes_only_its_fields_and_only_what_its_client_has_seen() {
    let service = Service::start().await;
    let red = service.get(RED).await;
    let edited = patch(&service, red.header("etag"), json!({"name": "Crimson cup"})).await;
    assert_eq!(edited.status, StatusCode::OK);
    let mut expected = red.body.clone();
    expected["name"] = json!("Crimson cup");
    assert_eq!(edited.body, expected);
    let late = patch(&service, red.header("etag"), json!({"cents": 1})).await;
    assert_eq!((late.problem(), &late.body["current"]), ((412, "changed"), &expected));
    assert_eq!(patch(&service, edited.header("etag"), json!({"colour": "red"})).await.problem(), (422, "no-such-body"));
}

#[tokio::test]
async fn an_edit_without_an_etag_is_refused() {
    let service = Service::start().await;
    let red = service.get(RED).await;
    let none = service.send(Method::PUT, RED, &[], red.body.clone()).await;
    assert_eq!(none.problem(), (428, "if-match-missing"));
    assert_eq!(service.send(Method::DELETE, RED, &[], Value::Null).await.problem(), (428, "if-match-missing"));
    assert_eq!(put(&service, "\"no etag\"", &red.body).await.problem(), (400, "no-etag"));
    let tall = service.get("/products/cup-tall").await;
    assert_eq!(put(&service, tall.header("etag"), &red.body).await.problem(), (400, "no-etag"));
}

#[tokio::test]
async fn a_product_is_created_once_and_deleted_as_it_was_seen() {
    let service = Service::start().await;
    let bowl = json!({"id": "bowl", "category": "plates", "name": "Bowl", "cents": 990, "stock": 4, "description": ""});
    let created = service.send(Method::POST, "/products", &[], bowl.clone()).await;
    assert_eq!((created.status, created.header("location")), (StatusCode::CREATED, "/products/bowl"));
    let again = service.send(Method::POST, "/products", &[], bowl.clone()).await;
    assert_eq!((again.problem(), again.header("etag")), ((409, "exists"), created.header("etag")));

    let edit = [("if-match", created.header("etag"))];
    let edited = service.send(Method::PATCH, "/products/bowl", &edit, json!({"stock": 5})).await;
    let late = service.send(Method::DELETE, "/products/bowl", &edit, Value::Null).await;
    assert_eq!((late.problem(), &late.body["current"]["stock"]), ((412, "changed"), &json!(5)));
    let now = [("if-match", edited.header("etag"))];
    let deleted = service.send(Method::DELETE, "/products/bowl", &now, Value::Null).await;
    assert_eq!(deleted.status, StatusCode::NO_CONTENT);
    assert_eq!(service.get("/products/bowl").await.problem(), (404, "no-such-item"));
    let edited = service.send(Method::PUT, "/products/bowl", &now, bowl).await;
    assert_eq!((edited.problem(), &edited.body["current"]), ((412, "changed"), &Value::Null));
}

#[tokio::test]
async fn an_invalid_product_is_refused() {
    let service = Service::start().await;
    let red = service.get(RED).await;
    let etag = red.header("etag");
    for (edit, problem) in [
        (json!({"name": " "}), (422, "invalid-product")),
        (json!({"description": "a".repeat(2_001)}), (422, "invalid-product")),
        (json!({"stock": -1}), (422, "no-such-body")),
        (json!({"category": "spoons"}), (422, "no-such-body")),
    ] {
        assert_eq!(patch(&service, etag, edit).await.problem(), problem);
    }
    let mut other = red.body.clone();
    other["id"] = json!("cup-blue");
    assert_eq!(put(&service, etag, &other).await.problem(), (422, "other-id"));
    assert_eq!(service.get("/products/a%20b").await.problem().0, 400);
    assert_eq!(service.get(RED).await.header("etag"), etag);
}

#[tokio::test]
async fn products_are_listed_page_by_page_with_signed_tokens() {
    let service = Service::start().await;
    for number in 10..35 {
        let plate = json!({"id": format!("plate-{number}"), "category": "plates", "name": format!("Plate {number}"),
            "cents": 1, "stock": 1, "description": ""});
        assert_eq!(service.send(Method::POST, "/products", &[], plate).await.status, StatusCode::CREATED);
    }
    let mut names = Vec::new();
    let mut uri = "/products?category=plates".to_owned();
    let mut second = String::new();
    loop {
        let page = service.another_process().get(&uri).await; // all processes sign with the same secret
        names.extend(
            page.body["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()),
        );
        let Some(token) = page.body["next"].as_str() else { break };
        second = if second.is_empty() { token.to_owned() } else { second };
        uri = format!("/products?category=plates&page={token}");
    }
    assert_eq!(names.len(), 26);
    assert!(names.is_sorted(), "{names:?}");
    let other = service.get(&format!("/products?category=cups&page={second}")).await;
    assert_eq!(other.problem(), (400, "no-such-page"));
    let forged: String = second.chars().rev().collect();
    assert_eq!(service.get(&format!("/products?category=plates&page={forged}")).await.problem(), (400, "no-such-page"));
    assert_eq!(service.get("/products?category=spoons").await.problem(), (400, "no-such-parameters"));
}

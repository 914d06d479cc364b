//! A running shop service for one test, and the answers of the service.

mod program;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Method, Request, StatusCode},
};
use dynalock::local::{Database, Faults};
use serde_json::Value;
use shop::{
    Shop,
    http::{App, pages::PageKey, router},
    id::Id,
    samples,
};
use tower::ServiceExt;

pub(crate) use program::Program;

/// A service with the sample products, on its own database.
pub(crate) struct Service {
    pub(crate) database: Database,
    /// The faults that the service meets. The client of the field `shop` meets no faults.
    pub(crate) faults: Faults,
    pub(crate) shop: Shop,
    pub(crate) router: Router,
}

/// The answer of the service. If the body is not JSON, `body` is null.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Service {
    pub(crate) async fn start() -> Self {
        let (database, faults) = (Database::in_memory().unwrap(), Faults::none());
        let shop = Shop::new(&database.client());
        shop.create_tables().await.unwrap();
        samples::create(&shop.products).await.unwrap();
        Self::of(database, faults, shop)
    }

    /// Returns another process of the service, with the same database.
    pub(crate) fn another_process(&self) -> Self {
        let database = self.database.clone();
        let shop = Shop::new(&database.client());
        Self::of(database, Faults::none(), shop)
    }

    fn of(database: Database, faults: Faults, shop: Shop) -> Self {
        let app = App { shop: Shop::new(&database.client_with(&faults)), page_key: PageKey::new("a secret") };
        Self { database, faults, shop, router: router(app) }
    }

    pub(crate) async fn get(&self, uri: &str) -> Answer {
        self.send(Method::GET, uri, &[], Value::Null).await
    }

    /// Sends a request with a body of JSON.
    pub(crate) async fn send(&self, method: Method, uri: &str, headers: &[(&str, &str)], body: Value) -> Answer {
        let request = Request::builder().method(method).uri(uri).header("content-type", "application/json");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let response = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Answer { status, headers, body: serde_json::from_slice(&body).unwrap_or_default() }
    }

    pub(crate) async fn stock(&self, product: &str) -> u32 {
        self.shop.products.get(id(product)).await.unwrap().unwrap().stock
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns the status and the end of the `type` of a problem.
    pub(crate) fn problem(&self) -> (u16, &str) {
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.body["status"], self.status.as_u16());
        (self.status.as_u16(), self.body["type"].as_str().unwrap().strip_prefix("urn:shop:").unwrap())
    }
}

pub(crate) fn id(text: &str) -> Id {
    Id::try_from(text.to_owned()).unwrap()
}

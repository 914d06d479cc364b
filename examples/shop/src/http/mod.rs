//! The web service.

pub mod extract;
pub mod health;
pub mod leases;
pub mod orders;
pub mod page;
pub mod pages;
pub mod problem;
pub mod products;
pub mod request_log;
pub mod server;

use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRef},
    http::StatusCode,
    middleware,
    routing::{get, post, put},
};

use self::{pages::PageKey, problem::Problem};
use crate::Shop;

const LARGEST_BODY: usize = 64 * 1024;

/// The state that all handlers share.
#[derive(Debug, Clone, FromRef)]
pub struct App {
    /// The tables of the shop.
    pub shop: Shop,
    /// The key of the page tokens.
    pub page_key: PageKey,
}

/// Returns the routes of the service.
pub fn router(app: App) -> Router {
    let product = get(products::read).put(products::replace).patch(products::edit).delete(products::delete);
    Router::new()
        .route("/products", get(products::list).post(products::create))
        .route("/products/{id}", product)
        .route("/products/{id}/lease", post(leases::begin).delete(leases::end))
        .route("/products/{id}/lease/stock", put(leases::count))
        .route("/orders", get(orders::list).post(orders::create))
        .route("/orders/{customer}/{id}", get(orders::read))
        .route("/health", get(health::live))
        .route("/ready", get(health::ready))
        .merge(page::routes())
        .fallback(async || Problem::new(StatusCode::NOT_FOUND, "no-such-address", "there is nothing at this address"))
        .method_not_allowed_fallback(async || {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "no-such-method", "this address does not have this method")
        })
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(middleware::from_fn(request_log::log))
        .with_state(app)
}

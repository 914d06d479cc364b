//! The page on which a product is edited. The page is a part of the program, and loads nothing from
//! other addresses.

use axum::{
    Router,
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};

use super::App;

/// The page runs only its own script, and sends requests only to its own service. Even if a product
/// contained a script, the browser would not run it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Returns the routes of the page and its parts.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/", get(async || part("text/html", include_str!("page/index.html"))))
        .route("/page/page.css", get(async || part("text/css", include_str!("page/page.css"))))
        .route("/page/page.js", get(async || part("text/javascript", include_str!("page/page.js"))))
        .route("/page/merge.js", get(async || part("text/javascript", include_str!("page/merge.js"))))
        .route("/page/icon.svg", get(async || part("image/svg+xml", include_str!("page/icon.svg"))))
}

fn part(kind: &str, text: &'static str) -> Response {
    let kind = format!("{kind}; charset=utf-8");
    let headers = [
        (header::CONTENT_TYPE, kind.as_str()),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}

//! The parts of a request, parsed once. If a part of a request cannot be parsed, the service
//! answers with a problem (RFC 9457).

use axum::{
    extract::{FromRequest, FromRequestParts},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use dynalock::{Etag, LockToken};

use super::problem::Problem;
use crate::id::Id;

/// A body of JSON.
#[derive(Debug, FromRequest)]
#[from_request(via(axum::Json), rejection(Problem))]
pub struct Json<T>(pub T);

/// The parameters in the path of the URL.
#[derive(Debug, FromRequestParts)]
#[from_request(via(axum::extract::Path), rejection(Problem))]
pub struct Path<T>(pub T);

/// The query parameters of the URL.
#[derive(Debug, FromRequestParts)]
#[from_request(via(axum::extract::Query), rejection(Problem))]
pub struct Query<T>(pub T);

/// The etag in `If-Match`: the state of the item that the client has edited.
#[derive(Debug)]
pub struct IfMatch(pub Etag);

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(text) = text(&parts.headers, header::IF_MATCH.as_str()) else {
            let detail = "send the etag of the item that you have read, as `If-Match`";
            return Err(Problem::new(StatusCode::PRECONDITION_REQUIRED, "if-match-missing", detail));
        };
        let etag = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).and_then(|text| text.parse().ok());
        let detail = "`If-Match` has to be one etag of this service, in its quotes";
        etag.map(Self).ok_or_else(|| Problem::new(StatusCode::BAD_REQUEST, "no-etag", detail))
    }
}

/// The etags in `If-None-Match`: the states that the client knows already.
#[derive(Debug)]
pub struct IfNoneMatch(String);

impl<S: Sync> FromRequestParts<S> for IfNoneMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self(text(&parts.headers, header::IF_NONE_MATCH.as_str()).unwrap_or_default().to_owned()))
    }
}

impl IfNoneMatch {
    /// Returns whether the client knows the state with the etag `etag`. A proxy may have marked an
    /// etag as weak.
    pub fn has(&self, etag: &Etag) -> bool {
        let quoted = format!("\"{etag}\"");
        self.0.split(',').map(str::trim).any(|known| known == "*" || known.trim_start_matches("W/") == quoted)
    }
}

/// The `Idempotency-Key` of a request. A client that got no answer repeats the request with the
/// same idempotency key.
#[derive(Debug)]
pub struct IdempotencyKey(pub Id);

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(key) = text(&parts.headers, "idempotency-key") else {
            let detail = "choose a new random key for each order, send it as `Idempotency-Key`, and repeat a request \
                          without an answer with its key";
            return Err(Problem::new(StatusCode::BAD_REQUEST, "idempotency-key-missing", detail));
        };
        Ok(Self(Id::try_from(key.to_owned())?))
    }
}

/// The `Lease-Token` of the client that holds the lease of a product.
#[derive(Debug)]
pub struct LeaseToken(pub LockToken);

impl<S: Sync> FromRequestParts<S> for LeaseToken {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let token = text(&parts.headers, "lease-token").and_then(received_token);
        let detail = "send the token of the lease as `Lease-Token`";
        token.map(Self).ok_or_else(|| Problem::new(StatusCode::BAD_REQUEST, "no-lease-token", detail))
    }
}

/// Returns a token as text for a header. The encoding is needed because the text of a `LockToken`
/// contains a zero byte.
pub fn sent_token(token: &LockToken) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(token.to_string())
}

fn received_token(text: &str) -> Option<LockToken> {
    String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(text).ok()?).ok()?.parse().ok()
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

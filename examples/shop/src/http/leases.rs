//! Stock-taking. A client leases a product, counts its pieces, and sends the number.
//!
//! While the lease lasts, DynamoDB refuses the edits and the orders of all other clients. The
//! client, and not a process of the service, holds the lease. The client keeps the token of the
//! lease, so any process can answer its next request, and a restart does not end the lease.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use dynalock::{LeaseGuard, LockToken, Wait};
use serde::{Deserialize, Serialize};

use super::{
    extract::{self, LeaseToken, Path},
    problem::Problem,
    products::Found,
};
use crate::{Shop, id::Id, product::Product};

/// The person that takes stock.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    holder: Id,
}

/// The lease of a product. Every client with the token holds the lease.
#[derive(Debug, Serialize)]
pub struct Lease {
    holder: Id,
    fence: u64,
    seconds: u64,
    token: String,
}

/// The result of a stock-taking.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    stock: u32,
}

/// `POST /products/{id}/lease`
///
/// # Errors
///
/// Another client has the lease: 409, with the holder and `Retry-After`.
pub async fn begin(
    State(shop): State<Shop>,
    Path(id): Path<Id>,
    extract::Json(Begin { holder }): extract::Json<Begin>,
) -> Result<Response, Problem> {
    let guard = shop.products.lock(id).owner(holder.to_string()).wait(Wait::No).await?;
    let (fence, seconds) = (guard.fence(), guard.remaining().as_secs());
    let lease = Lease { holder, fence, seconds, token: extract::sent_token(&guard.detach()) };
    Ok((StatusCode::CREATED, Json(lease)).into_response())
}

/// `PUT /products/{id}/lease/stock` with `Lease-Token`: one request to DynamoDB writes the number and
/// releases the lease.
///
/// # Errors
///
/// The lease has ended, and another client has leased the product: 409, and nothing was written.
pub async fn count(
    State(shop): State<Shop>,
    Path(id): Path<Id>,
    LeaseToken(token): LeaseToken,
    extract::Json(Counted { stock }): extract::Json<Counted>,
) -> Result<Found, Problem> {
    let guard = resume(&shop, &id, token).await?;
    Ok(Found(guard.commit(|product| product.stock = stock).await?))
}

/// `DELETE /products/{id}/lease` with `Lease-Token`: releases the lease, and writes nothing.
///
/// # Errors
///
/// The lease has ended, and another client has leased the product.
pub async fn end(
    State(shop): State<Shop>,
    Path(id): Path<Id>,
    LeaseToken(token): LeaseToken,
) -> Result<StatusCode, Problem> {
    resume(&shop, &id, token).await?.release().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the guard of a lease that a client holds.
async fn resume(shop: &Shop, id: &Id, token: LockToken) -> Result<LeaseGuard<Product>, Problem> {
    // dynalock shows the text of a key in quotes.
    if token.name() != format!("\"{id}\"") {
        return Err(Problem::new(StatusCode::BAD_REQUEST, "no-lease-token", "the token belongs to another product"));
    }
    Ok(shop.products.resume(token).await?)
}

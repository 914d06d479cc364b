//! Orders. A client that got no answer repeats its request with the same idempotency key.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use dynalock::query::PageToken;
use serde::Deserialize;

use super::{
    extract::{self, IdempotencyKey, Path, Query},
    pages::{self, Page, PageKey},
    problem::Problem,
};
use crate::{
    Shop,
    id::Id,
    order::{self, NewOrder, Order},
};

/// The requested page of the orders.
#[derive(Debug, Deserialize)]
pub struct Wanted {
    customer: Id,
    page: Option<String>,
}

/// `POST /orders` with `Idempotency-Key`
///
/// # Errors
///
/// A product is sold out or leased, or the idempotency key was used for another order.
pub async fn create(
    State(shop): State<Shop>,
    IdempotencyKey(id): IdempotencyKey,
    extract::Json(new): extract::Json<NewOrder>,
) -> Result<Response, Problem> {
    let order = order::place(&shop, &id, &new).await?;
    let location = format!("/orders/{}/{}", order.customer, order.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(order)).into_response())
}

/// `GET /orders?customer=alice`, with the newest order first
///
/// # Errors
///
/// The page token was made for another list, or the database does not answer.
pub async fn list(
    State(shop): State<Shop>,
    State(page_key): State<PageKey>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Page<Order>>, Problem> {
    let token = wanted.page.map(PageToken::from);
    let newest = shop.orders.query_index(Order::INDEX.by_time, wanted.customer).descending();
    let page = newest.limit(pages::ITEMS).with_key(page_key).page(token).await?;
    Ok(Json(Page::of(page)?))
}

/// `GET /orders/{customer}/{id}`
///
/// # Errors
///
/// The order does not exist.
pub async fn read(State(shop): State<Shop>, Path((customer, id)): Path<(Id, Id)>) -> Result<Json<Order>, Problem> {
    let missing = || Problem::new(StatusCode::NOT_FOUND, "no-such-item", "there is no such order");
    let order = shop.orders.get((customer, id)).await?.ok_or_else(missing)?;
    Ok(Json(order.into_inner()))
}

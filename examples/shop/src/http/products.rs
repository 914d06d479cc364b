//! Products. A client that edits a product sends back the etag that it has read.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use dynalock::{Repository, Stored, query::PageToken};
use serde::Deserialize;

use super::{
    extract::{self, IfMatch, IfNoneMatch, Path, Query},
    pages::{self, Page, PageKey},
    problem::{Problem, etag_header},
};
use crate::{
    Shop,
    id::Id,
    product::{Category, Product},
};

/// The requested page of the products.
#[derive(Debug, Deserialize)]
pub struct Wanted {
    category: Category,
    page: Option<String>,
}

/// A product with its etag.
#[derive(Debug)]
pub struct Found(pub Stored<Product>);

impl IntoResponse for Found {
    fn into_response(self) -> Response {
        (etag_header(&self.0.etag()), Json(self.0.into_inner())).into_response()
    }
}

/// `GET /products?category=cups`
///
/// # Errors
///
/// The page token was made for another list, or the database does not answer.
pub async fn list(
    State(shop): State<Shop>,
    State(page_key): State<PageKey>,
    Query(wanted): Query<Wanted>,
) -> Result<Json<Page<Product>>, Problem> {
    let token = wanted.page.map(PageToken::from);
    let query = shop.products.query_index(Product::INDEX.by_category, wanted.category);
    let page = query.limit(pages::ITEMS).with_key(page_key).page(token).await?;
    Ok(Json(Page::of(page)?))
}

/// `POST /products`
///
/// # Errors
///
/// The product is invalid, or another product has its id.
pub async fn create(
    State(shop): State<Shop>,
    extract::Json(product): extract::Json<Product>,
) -> Result<Response, Problem> {
    product.check()?;
    let product = shop.products.create(product).await?;
    let location = format!("/products/{}", product.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Found(product)).into_response())
}

/// `GET /products/{id}`
///
/// # Errors
///
/// The product does not exist.
pub async fn read(State(shop): State<Shop>, Path(id): Path<Id>, known: IfNoneMatch) -> Result<Response, Problem> {
    let product = get(&shop.products, id).await?;
    let etag = product.etag();
    match known.has(&etag) {
        true => Ok((StatusCode::NOT_MODIFIED, etag_header(&etag)).into_response()),
        false => Ok(Found(product).into_response()),
    }
}

/// `PUT /products/{id}` with `If-Match`
///
/// # Errors
///
/// The product has changed since the client has read it: 412, with the current product.
pub async fn replace(
    State(shop): State<Shop>,
    Path(id): Path<Id>,
    IfMatch(etag): IfMatch,
    extract::Json(product): extract::Json<Product>,
) -> Result<Found, Problem> {
    if product.id != id {
        return Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "other-id",
            "the body has another id than the address",
        ));
    }
    product.check()?;
    let edited = Stored::assume(product, etag); // the value of the client, in the state that the client has read
    Ok(Found(shop.products.update(edited).await?))
}

/// The fields that a client changes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    category: Option<Category>,
    name: Option<String>,
    cents: Option<u32>,
    stock: Option<u32>,
    description: Option<String>,
}

/// `PATCH /products/{id}` with `If-Match`
///
/// # Errors
///
/// The errors are the same as for [`replace()`].
pub async fn edit(
    State(shop): State<Shop>,
    Path(id): Path<Id>,
    IfMatch(etag): IfMatch,
    extract::Json(edit): extract::Json<Edit>,
) -> Result<Found, Problem> {
    let product = get(&shop.products, id).await?.into_inner();
    let edited = Product {
        category: edit.category.unwrap_or(product.category),
        name: edit.name.unwrap_or(product.name),
        cents: edit.cents.unwrap_or(product.cents),
        stock: edit.stock.unwrap_or(product.stock),
        description: edit.description.unwrap_or(product.description),
        ..product
    };
    edited.check()?;
    Ok(Found(shop.products.update(Stored::assume(edited, etag)).await?))
}

/// `DELETE /products/{id}` with `If-Match`
///
/// # Errors
///
/// The errors are the same as for [`replace()`].
pub async fn delete(
    State(shop): State<Shop>,
    Path(id): Path<Id>,
    IfMatch(etag): IfMatch,
) -> Result<StatusCode, Problem> {
    let product = get(&shop.products, id).await?.into_inner();
    shop.products.delete(Stored::assume(product, etag)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns a product, or a problem if the product does not exist.
async fn get(products: &Repository<Product>, id: Id) -> Result<Stored<Product>, Problem> {
    let missing = || Problem::new(StatusCode::NOT_FOUND, "no-such-item", format!("there is no product `{id}`"));
    products.get(id.clone()).await?.ok_or_else(missing)
}

//! Converts the errors of an invalid request, and of a refused order, into problems.

use axum::{
    extract::rejection::{JsonRejection, PathRejection, QueryRejection},
    http::StatusCode,
};

use super::Problem;
use crate::{id::ParseIdError, order::Refused, product::InvalidProduct};

impl From<JsonRejection> for Problem {
    fn from(rejection: JsonRejection) -> Self {
        Self::new(rejection.status(), "no-such-body", rejection.body_text())
    }
}

impl From<PathRejection> for Problem {
    fn from(rejection: PathRejection) -> Self {
        Self::new(rejection.status(), "no-such-address", rejection.body_text())
    }
}

impl From<QueryRejection> for Problem {
    fn from(rejection: QueryRejection) -> Self {
        Self::new(rejection.status(), "no-such-parameters", rejection.body_text())
    }
}

impl From<ParseIdError> for Problem {
    fn from(error: ParseIdError) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "no-id", error.to_string())
    }
}

impl From<InvalidProduct> for Problem {
    fn from(error: InvalidProduct) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid-product", error.to_string())
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let detail = refused.to_string();
        let problem = |status, kind| Self::new(status, kind, detail);
        match refused {
            Refused::Lines => problem(StatusCode::UNPROCESSABLE_ENTITY, "lines"),
            Refused::TooLarge => problem(StatusCode::UNPROCESSABLE_ENTITY, "too-large"),
            Refused::KeyReused { .. } => problem(StatusCode::UNPROCESSABLE_ENTITY, "idempotency-key-reused"),
            Refused::NoSuchProduct { product } => {
                problem(StatusCode::UNPROCESSABLE_ENTITY, "no-such-product").with("product", product.to_string())
            }
            Refused::SoldOut { product, left } => {
                let problem = problem(StatusCode::CONFLICT, "sold-out").with("product", product.to_string());
                problem.with("left", left)
            }
            Refused::Database(error) => error.into(),
        }
    }
}

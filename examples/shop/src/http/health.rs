//! Whether the process lives, and whether it can do its work.

use std::time::Duration;

use axum::extract::State;

use super::problem::Problem;
use crate::{Shop, id::Id};

const PROBE: Duration = Duration::from_secs(2);

/// The process lives. A restart would not make it healthier, so this answer needs no database.
pub async fn live() -> &'static str {
    "alive\n"
}

/// The table answers a read, so the process can take requests.
///
/// # Errors
///
/// A [`Problem`] if the table does not answer within two seconds.
pub async fn ready(State(shop): State<Shop>) -> Result<&'static str, Problem> {
    let probe = Id::try_from("readiness-probe".to_owned())?;
    shop.products.get(probe).eventually_consistent().deadline(PROBE).await?;
    Ok("ready\n")
}

//! The health checks: `live` says whether the process is alive, and `ready` whether the service can
//! answer requests.

use std::time::Duration;

use axum::extract::State;

use super::problem::Problem;
use crate::{Shop, id::Id};

const PROBE: Duration = Duration::from_secs(2);

/// Answers that the process is alive. The answer does not depend on the database, because a restart
/// of the process would not repair the database.
pub async fn live() -> &'static str {
    "alive\n"
}

/// Answers that the process can take requests, after the table has answered a read.
///
/// # Errors
///
/// A [`Problem`] if the table does not answer within two seconds.
pub async fn ready(State(shop): State<Shop>) -> Result<&'static str, Problem> {
    let probe = Id::try_from("readiness-probe".to_owned())?;
    shop.products.get(probe).eventually_consistent().deadline(PROBE).await?;
    Ok("ready\n")
}

//! Items whose time to live is over, and that DynamoDB has not deleted yet.

mod create;
mod leases;
mod patches;
mod reads;
mod transactions;

use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::types::TimeToLiveSpecification;
use dynalock::Versioned;
use serde::{Deserialize, Serialize};

use crate::support::{Shop, Table};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[expect(clippy::duplicated_attributes, reason = "two indexes may have equal parts")]
#[dynalock(
    table = "sessions",
    index(name = "by_user", partition_key = "user", sort_key = "until"),
    index(name = "keys_by_user", partition_key = "user", keys_only)
)]
struct Session {
    #[dynalock(partition_key)]
    id: String,
    user: String,
    #[dynalock(created_at = "millis")]
    created: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[dynalock(expires)]
    until: Option<u64>,
}

impl Session {
    fn until(id: &str, until: u64) -> Self {
        Self { id: id.to_owned(), user: "ann".to_owned(), created: 0, until: Some(until) }
    }

    /// A session that has expired.
    fn over(id: &str) -> Self {
        Self::until(id, now() - 100)
    }

    /// A session that lives for an hour.
    fn alive(id: &str) -> Self {
        Self::until(id, now() + 3600)
    }
}

/// The time of day in epoch seconds.
#[expect(clippy::disallowed_methods, reason = "a time to live is a time of day")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A table whose expired items are not deleted during a test. DynamoDB Local deletes them within
/// seconds.
async fn table<T: Versioned>(shop: &Shop) -> Table<T> {
    let table = shop.table::<T>().await;
    let attribute = T::MODEL.times.expires.unwrap().name;
    let off = TimeToLiveSpecification::builder().enabled(false).attribute_name(attribute).build().unwrap();
    let switched = shop.plain.update_time_to_live().table_name(table.name()).time_to_live_specification(off).send();
    // DynamoDB refuses a second change within an hour, but does not delete items this early.
    drop(switched.await);
    table
}

async fn table_of<T: Versioned>(shop: &Shop, items: impl IntoIterator<Item = T>) -> Table<T> {
    let table = table(shop).await;
    for item in items {
        table.others.create(item).await.unwrap();
    }
    table
}

/// A table with an expired session `over`, and a session that has not expired.
async fn sessions(shop: &Shop) -> Table<Session> {
    table_of(shop, [Session::over("over"), Session::alive("alive")]).await
}

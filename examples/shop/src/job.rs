//! The jobs of the worker.

use dynalock::{KeyAttribute, Versioned};
use serde::{Deserialize, Serialize};

use crate::{id::Id, order::Order};

/// A job of the worker is to pack one order. One unit of work creates an order and its job, so
/// every order has a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Versioned)]
#[dynalock(
    table = "shop-jobs",
    show_key,
    index(name = "by_state", partition_key = "state", sort_key = "created_at", keys_only)
)]
#[lockable(ttl = "20s")]
pub struct Job {
    /// The customer and the id of the order.
    #[dynalock(partition_key)]
    pub id: String,
    /// The customer.
    pub customer: Id,
    /// The order.
    pub order: Id,
    /// The state of the job, which is the partition key of the index.
    pub state: State,
    /// The time of the order in seconds since the Unix epoch, which the library sets.
    #[dynalock(created_at)]
    pub created_at: u64,
}

/// The state of a job. A job that a worker is working on is open, and has a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, KeyAttribute)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The order is not packed yet.
    Open,
    /// The order is packed.
    Done,
    /// The order of the job does not exist. A person has to look at the job.
    Failed,
}

impl Job {
    /// Returns the job of a new order.
    pub fn to_pack(order: &Order) -> Self {
        let Order { customer, id, .. } = order;
        Self {
            id: format!("{customer}/{id}"),
            customer: customer.clone(),
            order: id.clone(),
            state: State::Open,
            created_at: 0,
        }
    }
}

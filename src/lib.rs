// The first definition of a link counts: here, the links of README lead to the modules of the guide.
#![doc = include_str!("guide_links.md")]
#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub use dynalock_core::{
    Error, Etag, Expiry, Heartbeat, IntoKey, Key, KeyAttribute, LeaseGuard, LockGuard, LockToken, Lockable, Locks,
    Pace, Repository, Result, Stored, Transaction, Tx, Versioned, Wait, transact,
};

pub use dynalock_core::{condition, cost, lock, query, request, store, table};

#[cfg(feature = "metrics")]
pub use dynalock_core::metrics;

/// The types that the variants of `Error` contain.
pub mod error {
    pub use dynalock_core::error::{
        CancellationClass, Cancelled, CodecError, CodecReason, Conflict, InvalidPatch, InvalidSetting,
        InvalidTransaction, Locked, Lost, Misconfigured, OperationReason, ParseEtagError, ParseLockTokenError, Refusal,
        Spent, Unavailable,
    };
}

/// The builder types of transactions, the handles of their operations, and their results.
pub mod transaction {
    pub use dynalock_core::transaction::{Committed, Op, PatchOp, Reason, Snapshot, TransactionGet, UnitOfWork};
}

/// ```
/// use dynalock::{Attributes, Versioned};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Attributes)]
/// struct Address {
///     city: String,
///     street: String,
/// }
///
/// #[derive(Serialize, Deserialize, Versioned)]
/// #[dynalock(table = "customers")]
/// struct Customer {
///     #[dynalock(partition_key)]
///     id: String,
///     address: Address,
/// }
///
/// # async fn example(customers: &dynalock::Repository<Customer>) -> dynalock::Result<()> {
/// let city = Customer::ATTR.address.at(Address::ATTR.city);
/// customers.patch("alice").set(city, "Lyon".to_owned()).await?;
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "derive")]
pub use dynalock_derive::Attributes;

/// ```
/// use dynalock::{KeyAttribute, Versioned};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, KeyAttribute)]
/// struct Sku(String);
///
/// #[derive(Serialize, Deserialize, KeyAttribute)]
/// #[serde(rename_all = "kebab-case")]
/// enum Warehouse {
///     North,
///     OldTown,
/// }
///
/// #[derive(Serialize, Deserialize, Versioned)]
/// #[dynalock(table = "stock")]
/// struct Stock {
///     #[dynalock(partition_key)]
///     sku: Sku,
///     #[dynalock(sort_key)]
///     warehouse: Warehouse,
///     pieces: u32,
/// }
///
/// # async fn example(stock: &dynalock::Repository<Stock>) -> dynalock::Result<()> {
/// // The sort key of the item is the text `old-town`.
/// let pieces = stock.get((Sku("85123A".to_owned()), Warehouse::OldTown)).await?;
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "derive")]
pub use dynalock_derive::KeyAttribute;

/// ```
/// use dynalock::Versioned;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Versioned)]
/// #[dynalock(table = "orders", index(name = "by_status", partition_key = "status", sort_key = "placed_at"))]
/// #[lockable(ttl = "30s")]
/// struct Order {
///     #[dynalock(partition_key)]
///     customer: String,
///     #[dynalock(sort_key)]
///     number: u64,
///     status: String,
///     placed_at: String,
///     lines: u32,
/// }
///
/// # async fn example(client: &aws_sdk_dynamodb::Client) -> dynalock::Result<()> {
/// let orders = Order::repository(client);
/// orders.update_with(("alice", 7), |order| order.lines += 1).await?;
/// let open = orders.query_index(Order::INDEX.by_status, "open").filter(Order::ATTR.lines.gt(10)).collect().await?;
/// let lease = orders.lock(("alice", 7)).await?;
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "derive")]
pub use dynalock_derive::Versioned;

#[cfg(feature = "local")]
pub use dynalock_local as local;

#[doc(hidden)]
pub use dynalock_core::private;

#[cfg(any(doc, doctest))]
pub mod guide;

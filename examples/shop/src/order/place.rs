use std::{collections::BTreeMap, time::SystemTime};

use dynalock::{Error, Tx};

use super::{Line, NewOrder, Order};
use crate::{Shop, id::Id, job::Job};

/// A transaction of DynamoDB has at most 100 items: the products, the order and its job.
const MOST_LINES: usize = 50;

/// The reason why no order was placed.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The order has no line, or too many lines.
    #[error("an order has 1 to {MOST_LINES} lines")]
    Lines,
    /// The total is larger than a `u64`.
    #[error("the order is too large")]
    TooLarge,
    /// The customer has placed another order with this idempotency key.
    #[error("the idempotency key `{id}` belongs to another order; use a new key for a new order")]
    KeyReused {
        /// The key.
        id: Id,
    },
    /// A product does not exist.
    #[error("there is no product `{product}`")]
    NoSuchProduct {
        /// The product.
        product: Id,
    },
    /// A product has too few pieces in stock.
    #[error("`{product}` has only {left} pieces left")]
    SoldOut {
        /// The product.
        product: Id,
        /// The pieces in stock.
        left: u32,
    },
    /// The database refused the unit of work, or gave no answer. After [`Error::Indeterminate`], the
    /// outcome is unknown.
    #[error(transparent)]
    Database(#[from] Error),
}

/// Places an order, or returns the order that an equal request has already placed.
///
/// One unit of work reads the products, takes the pieces out of their stocks, and creates the order
/// and the job of the worker. Two equal requests at the same time cannot both create the order. The
/// commit of the second request fails, its closure runs again, and the closure finds the order of
/// the first request.
///
/// With `snapshot`, a refusal depends only on items of one moment. Without `snapshot`, the second
/// request could read that the order does not exist yet, and then read that the first request has
/// taken the last pieces.
///
/// # Errors
///
/// [`Refused`] says why no order was placed.
pub async fn place(shop: &Shop, id: &Id, new: &NewOrder) -> Result<Order, Refused> {
    if new.lines.is_empty() || new.lines.len() > MOST_LINES {
        return Err(Refused::Lines);
    }
    dynalock::transact(&shop.client, |tx| async move {
        if let Some(order) = tx.get(&shop.orders, (new.customer.clone(), id.clone())).await? {
            return match order.fulfils(new) {
                true => Ok(order.into_inner()),
                false => Err(Refused::KeyReused { id: id.clone() }),
            };
        }
        let lines = take_from_stock(shop, &tx, new).await?;
        let total_cents = total(&lines).ok_or(Refused::TooLarge)?;
        let (customer, id, placed_at) = (new.customer.clone(), id.clone(), now());
        let order = Order { customer, id, lines, total_cents, packed: false, placed_at };
        tx.create(&shop.jobs, Job::to_pack(&order));
        tx.create(&shop.orders, order.clone());
        Ok(order)
    })
    .snapshot()
    .await
}

async fn take_from_stock(shop: &Shop, tx: &Tx, new: &NewOrder) -> Result<BTreeMap<Id, Line>, Refused> {
    let products = tx.get_many(&shop.products, new.lines.keys().cloned()).await?;
    let mut lines = BTreeMap::new();
    for ((id, pieces), product) in new.lines.iter().zip(products) {
        let mut product = product.ok_or_else(|| Refused::NoSuchProduct { product: id.clone() })?;
        let Some(left) = product.stock.checked_sub(pieces.get()) else {
            return Err(Refused::SoldOut { product: id.clone(), left: product.stock });
        };
        product.stock = left;
        lines.insert(id.clone(), Line { pieces: *pieces, cents: product.cents });
        tx.update(&shop.products, product);
    }
    Ok(lines)
}

fn total(lines: &BTreeMap<Id, Line>) -> Option<u64> {
    let cents = |line: &Line| u64::from(line.pieces.get()) * u64::from(line.cents);
    lines.values().map(cents).try_fold(0, u64::checked_add)
}

/// Returns the time in seconds since the Unix epoch.
fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs())
}

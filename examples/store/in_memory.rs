//! A store in memory, for the tests of a service.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use dynalock::{
    Key, Result, Stored,
    query::{Page, PageToken, QuerySpec},
    request::Deleted,
    store::{self, Change, Store},
    table::KeyValue,
};

use crate::{Order, OrderKey};

/// The orders, by customer and number. The store in memory checks versions like a repository, but
/// has no filters and no indexes.
#[derive(Default)]
pub(crate) struct InMemory {
    orders: Mutex<Orders>,
}

type Orders = BTreeMap<(String, u64), Stored<Order>>;

impl InMemory {
    fn orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replaces a stored order by a changed value, if the order still has the version that was read.
fn write(orders: &mut Orders, stored: Stored<Order>) -> Result<Stored<Order>> {
    let place = (stored.customer.clone(), stored.number);
    match orders.get(&place) {
        Some(current) if current.version() == stored.version() => {
            let version = stored.version() + 1;
            let written = Stored::detached(stored.into_inner(), version);
            orders.insert(place, written.clone());
            Ok(written)
        }
        current => Err(store::conflict(&stored, current)),
    }
}

/// The customer and the number in a key.
fn place(key: OrderKey) -> (String, u64) {
    let key = Key::from(key);
    match (key.partition(), key.sort()) {
        (KeyValue::S(customer), Some(KeyValue::N(number))) => (customer.clone(), number.parse().unwrap_or_default()),
        _ => (String::new(), 0),
    }
}

#[async_trait]
impl Store<Order> for InMemory {
    async fn get(&self, key: OrderKey) -> Result<Option<Stored<Order>>> {
        Ok(self.orders().get(&place(key)).cloned())
    }

    async fn create(&self, value: Order) -> Result<Stored<Order>> {
        let mut orders = self.orders();
        let place = (value.customer.clone(), value.number);
        if let Some(current) = orders.get(&place) {
            return Err(store::already_exists(current));
        }
        let created = Stored::detached(value, 1);
        orders.insert(place, created.clone());
        Ok(created)
    }

    async fn update(&self, stored: Stored<Order>) -> Result<Stored<Order>> {
        write(&mut self.orders(), stored)
    }

    async fn replace(&self, stored: Stored<Order>) -> Result<Stored<Order>> {
        write(&mut self.orders(), stored)
    }

    async fn update_with(&self, key: OrderKey, change: &mut Change<'_, Order>) -> Result<Stored<Order>> {
        let mut orders = self.orders();
        let Some(mut order) = orders.get(&place(key.clone())).cloned() else {
            return Err(store::not_found::<Order>(key));
        };
        change(&mut order);
        write(&mut orders, order)
    }

    async fn delete(&self, stored: Stored<Order>) -> Result<Deleted> {
        let mut orders = self.orders();
        let place = (stored.customer.clone(), stored.number);
        match orders.get(&place) {
            Some(current) if current.version() == stored.version() => {
                orders.remove(&place);
                Ok(Deleted::CERTAIN)
            }
            current => Err(store::conflict(&stored, current)),
        }
    }

    async fn get_many(&self, keys: Vec<OrderKey>) -> Result<Vec<Option<Stored<Order>>>> {
        let orders = self.orders();
        Ok(keys.into_iter().map(|key| orders.get(&place(key)).cloned()).collect())
    }

    /// The token of a page is the number of its last order.
    async fn page(&self, query: QuerySpec<Order>, token: Option<PageToken>) -> Result<Page<Stored<Order>>> {
        let orders = self.orders();
        let number = |number: u64| KeyValue::N(number.to_string());
        let is_in = |order: &&Stored<Order>| {
            *query.partition() == KeyValue::S(order.customer.clone()) && query.range().contains(&number(order.number))
        };
        let mut found: Vec<_> = orders.values().filter(is_in).collect();
        if query.is_descending() {
            found.reverse();
        }
        let after = token.and_then(|last| found.iter().position(|order| order.number.to_string() == last.to_string()));
        let rest = &found[after.map_or(0, |last| last + 1)..];
        let page = &rest[..rest.len().min(query.limit().unwrap_or(usize::MAX))];
        let next = page.last().filter(|_| page.len() < rest.len()).map(|last| last.number.to_string().into());
        Ok(Page::new(page.iter().map(|order| (*order).clone()), next))
    }
}

//! An audit in front of a store.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use dynalock::{
    Result, Stored,
    query::{Page, PageToken, QuerySpec},
    request::Deleted,
    store::{Change, Store},
};

use crate::{Order, OrderKey};

/// A store that records each write and its outcome, but not the reads.
pub(crate) struct Audited {
    inner: Arc<dyn Store<Order>>,
    notes: Mutex<Vec<String>>,
}

impl Audited {
    pub(crate) fn new(inner: Arc<dyn Store<Order>>) -> Self {
        Self { inner, notes: Mutex::default() }
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records the result of a write, and returns the result unchanged.
    fn noted<V>(&self, what: &str, result: Result<V>) -> Result<V> {
        let outcome = if result.is_ok() { "done" } else { "refused" };
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{what}: {outcome}"));
        result
    }
}

#[async_trait]
impl Store<Order> for Audited {
    async fn get(&self, key: OrderKey) -> Result<Option<Stored<Order>>> {
        self.inner.get(key).await
    }

    async fn create(&self, value: Order) -> Result<Stored<Order>> {
        let what = format!("create order {} of {}", value.number, value.customer);
        self.noted(&what, self.inner.create(value).await)
    }

    async fn update(&self, stored: Stored<Order>) -> Result<Stored<Order>> {
        let what = format!("update order {} of {}", stored.number, stored.customer);
        self.noted(&what, self.inner.update(stored).await)
    }

    async fn replace(&self, stored: Stored<Order>) -> Result<Stored<Order>> {
        let what = format!("replace order {} of {}", stored.number, stored.customer);
        self.noted(&what, self.inner.replace(stored).await)
    }

    async fn update_with(&self, key: OrderKey, change: &mut Change<'_, Order>) -> Result<Stored<Order>> {
        let what = format!("change the order {}", dynalock::Key::from(key.clone()));
        self.noted(&what, self.inner.update_with(key, change).await)
    }

    async fn delete(&self, stored: Stored<Order>) -> Result<Deleted> {
        let what = format!("delete order {} of {}", stored.number, stored.customer);
        self.noted(&what, self.inner.delete(stored).await)
    }

    async fn get_many(&self, keys: Vec<OrderKey>) -> Result<Vec<Option<Stored<Order>>>> {
        self.inner.get_many(keys).await
    }

    async fn page(&self, query: QuerySpec<Order>, token: Option<PageToken>) -> Result<Page<Stored<Order>>> {
        self.inner.page(query, token).await
    }
}

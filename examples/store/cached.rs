//! A cache in front of a store.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use dynalock::{
    Result, Stored,
    query::{Page, PageToken, QuerySpec},
    request::Deleted,
    store::{Change, Store},
};

use crate::{Order, OrderKey};

/// A store that keeps the items that `get` has read. Each write removes its item from the cache,
/// even if the write fails, because the outcome of the write may be unknown.
///
/// Another process may write a cached item, so a read from the cache may be stale. The update of a
/// stale value fails with a conflict, and removes the item from the cache, so the next read returns
/// the current item.
pub(crate) struct Cached {
    inner: Arc<dyn Store<Order>>,
    kept: Mutex<HashMap<OrderKey, Stored<Order>>>,
}

impl Cached {
    pub(crate) fn new(inner: Arc<dyn Store<Order>>) -> Self {
        Self { inner, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<OrderKey, Stored<Order>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes the item of a write from the cache, and returns the result of the write unchanged.
    fn written<V>(&self, key: &OrderKey, result: Result<V>) -> Result<V> {
        self.kept().remove(key);
        result
    }
}

#[async_trait]
impl Store<Order> for Cached {
    async fn get(&self, key: OrderKey) -> Result<Option<Stored<Order>>> {
        if let Some(kept) = self.kept().get(&key) {
            return Ok(Some(kept.clone()));
        }
        let found = self.inner.get(key.clone()).await?;
        if let Some(found) = &found {
            self.kept().insert(key, found.clone());
        }
        Ok(found)
    }

    async fn create(&self, value: Order) -> Result<Stored<Order>> {
        let key = OrderKey::from(&value);
        self.written(&key, self.inner.create(value).await)
    }

    async fn update(&self, stored: Stored<Order>) -> Result<Stored<Order>> {
        let key = OrderKey::from(&*stored);
        self.written(&key, self.inner.update(stored).await)
    }

    async fn replace(&self, stored: Stored<Order>) -> Result<Stored<Order>> {
        let key = OrderKey::from(&*stored);
        self.written(&key, self.inner.replace(stored).await)
    }

    async fn update_with(&self, key: OrderKey, change: &mut Change<'_, Order>) -> Result<Stored<Order>> {
        self.written(&key.clone(), self.inner.update_with(key, change).await)
    }

    async fn delete(&self, stored: Stored<Order>) -> Result<Deleted> {
        let key = OrderKey::from(&*stored);
        self.written(&key, self.inner.delete(stored).await)
    }

    async fn get_many(&self, keys: Vec<OrderKey>) -> Result<Vec<Option<Stored<Order>>>> {
        self.inner.get_many(keys).await
    }

    async fn page(&self, query: QuerySpec<Order>, token: Option<PageToken>) -> Result<Page<Stored<Order>>> {
        self.inner.page(query, token).await
    }
}

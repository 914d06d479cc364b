//! The calls of a repository as an object-safe trait, for programs that decorate or replace the
//! repository.
//!
//! # Replacements
//!
//! A program can implement [`Store`] without DynamoDB, for example by a map in memory for a test.
//! The following table lists the functions by which a `Store` without DynamoDB makes its values and
//! errors:
//!
//! | needed | made by |
//! |---|---|
//! | a value with a version | [`Stored::detached`] |
//! | the errors of refused writes | [`conflict`], [`already_exists`], [`not_found`] |
//! | the result of a delete | [`Deleted::CERTAIN`] |
//! | a page | [`Page::new`] |
//! | a page token with any text | [`PageToken::from`] |

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    codec::{Item, Stored, encode},
    error::{Conflict, Error, Result, Spent},
    key::Key,
    model::{ItemExpiry, ItemRef, Versioned},
    query::{Page, PageToken, Query, QuerySpec},
    repository::{Deleted, Repository},
};

/// The closure of [`Store::update_with`].
// Without this alias, `async_trait` would make the lifetime of the `&mut T` a generic parameter of
// `update_with`.
pub type Change<'f, T> = dyn FnMut(&mut T) + Send + 'f;

/// A store of items of type `T`: a [`Repository`], a decorator of a repository, or a replacement of
/// a repository in a test.
///
/// A service that takes an `Arc<dyn Store<Order>>` works with a repository, with a decorator (for
/// example a cache), and with a replacement in tests. Each method of `Store` has the same result
/// and errors as the method of [`Repository`] with the same name. A call of a `Store` has no
/// settings of its own, and uses the settings of the repository, for example the deadline.
///
/// # Examples
///
/// The decorator `Counted` counts the orders that a service creates in the repository `inner`.
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
/// # use shop::{Order, OrderKey};
/// use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
///
/// use async_trait::async_trait;
/// use dynalock::{Repository, Result, Stored, query::{Page, PageToken, QuerySpec}, request::Deleted, store::{Change, Store}};
///
/// struct Checkout {
///     orders: Arc<dyn Store<Order>>,
/// }
///
/// impl Checkout {
///     async fn pay(&self, customer: &str, number: u64) -> Result<()> {
///         let pay = &mut |order: &mut Order| order.status = "paid".to_owned();
///         self.orders.update_with((customer, number).into(), pay).await?;
///         Ok(())
///     }
/// }
///
/// struct Counted {
///     inner: Repository<Order>,
///     created: AtomicU64,
/// }
///
/// #[async_trait]
/// impl Store<Order> for Counted {
///     async fn create(&self, value: Order) -> Result<Stored<Order>> {
///         let stored = self.inner.create(value).await?;
///         self.created.fetch_add(1, Ordering::Relaxed);
///         Ok(stored)
///     }
///
///     async fn get(&self, key: OrderKey) -> Result<Option<Stored<Order>>> {
///         self.inner.get(key).await
///     }
///     // The other methods call the same methods of `inner`.
/// #    async fn update(&self, stored: Stored<Order>) -> Result<Stored<Order>> {
/// #        self.inner.update(stored).await
/// #    }
/// #    async fn replace(&self, stored: Stored<Order>) -> Result<Stored<Order>> {
/// #        self.inner.replace(stored).await
/// #    }
/// #    async fn update_with(&self, key: OrderKey, change: &mut Change<'_, Order>) -> Result<Stored<Order>> {
/// #        self.inner.update_with(key, |order: &mut Order| change(order)).await
/// #    }
/// #    async fn delete(&self, stored: Stored<Order>) -> Result<Deleted> {
/// #        self.inner.delete(stored).await
/// #    }
/// #    async fn get_many(&self, keys: Vec<OrderKey>) -> Result<Vec<Option<Stored<Order>>>> {
/// #        self.inner.get_many(keys).await
/// #    }
/// #    async fn page(&self, query: QuerySpec<Order>, token: Option<PageToken>) -> Result<Page<Stored<Order>>> {
/// #        self.inner.page(query, token).await
/// #    }
/// }
/// ```
#[async_trait]
pub trait Store<T: Versioned>: Send + Sync {
    /// Returns the item under a key, or `None` if the key has no item, like [`Repository::get`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use {dynalock::store::Store, shop::Order};
    /// # async fn example(orders: &dyn Store<Order>) -> dynalock::Result<()> {
    /// let order = orders.get(("alice", 7).into()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Store::get` returns the same errors as [`Repository::get`].
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `get` at any time, because a read changes nothing.
    async fn get(&self, key: T::Key) -> Result<Option<Stored<T>>>;

    /// Writes a new item at version 1, and returns the new item, like [`Repository::create`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use {dynalock::store::Store, shop::Order};
    /// # async fn example(orders: &dyn Store<Order>, order: Order) -> dynalock::Result<()> {
    /// assert_eq!(orders.create(order).await?.version(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Store::create` returns the same errors as [`Repository::create`].
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `create`, DynamoDB may or may not apply the write.
    async fn create(&self, value: T) -> Result<Stored<T>>;

    /// Writes the changed attributes of a value, if the item has not changed since the read, like
    /// [`Repository::update`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use {dynalock::store::Store, shop::Order};
    /// # async fn example(orders: &dyn Store<Order>, mut order: dynalock::Stored<Order>) -> dynalock::Result<()> {
    /// order.status = "paid".to_owned();
    /// let order = orders.update(order).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Store::update` returns the same errors as [`Repository::update`].
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `update`, DynamoDB may or may not apply the write.
    async fn update(&self, stored: Stored<T>) -> Result<Stored<T>>;

    /// Replaces the whole item by the value, if the item has not changed since the read, like
    /// [`Repository::replace`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use {dynalock::store::Store, shop::Order};
    /// # async fn example(orders: &dyn Store<Order>, order: dynalock::Stored<Order>) -> dynalock::Result<()> {
    /// let order = orders.replace(order).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Store::replace` returns the same errors as [`Repository::replace`].
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `replace`, DynamoDB may or may not apply the write.
    async fn replace(&self, stored: Stored<T>) -> Result<Stored<T>>;

    /// Reads the item, runs `change` on the value, and writes the changed attributes, like
    /// [`Repository::update_with`]. After a conflict, `update_with` runs `change` on the current
    /// item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use {dynalock::store::Store, shop::Order};
    /// # async fn example(orders: &dyn Store<Order>) -> dynalock::Result<()> {
    /// let order = orders.update_with(("alice", 7).into(), &mut |order| order.total_cents += 250).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Store::update_with` returns the same errors as [`Repository::update_with`].
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `update_with`, DynamoDB may or may not apply the write.
    async fn update_with(&self, key: T::Key, change: &mut Change<'_, T>) -> Result<Stored<T>>;

    /// Deletes the item, if the item has not changed since the read, like [`Repository::delete`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use {dynalock::store::Store, shop::Order};
    /// # async fn example(orders: &dyn Store<Order>, order: dynalock::Stored<Order>) -> dynalock::Result<()> {
    /// let deleted = orders.delete(order).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Store::delete` returns the same errors as [`Repository::delete`].
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `delete`, DynamoDB may or may not apply the delete.
    async fn delete(&self, stored: Stored<T>) -> Result<Deleted>;

    /// Returns the items under several keys, like [`Repository::get_many`]. `get_many` returns one
    /// `Option` for each key, in the order of the keys.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use {dynalock::store::Store, shop::Order};
    /// # async fn example(orders: &dyn Store<Order>) -> dynalock::Result<()> {
    /// let orders = orders.get_many(vec![("alice", 7).into(), ("bob", 1).into()]).await?;
    /// assert_eq!(orders.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Store::get_many` returns the same errors as [`Repository::get_many`].
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `get_many` at any time, because a read changes nothing.
    async fn get_many(&self, keys: Vec<T::Key>) -> Result<Vec<Option<Stored<T>>>>;

    /// Returns one page of a query, like [`Query::page`]. The page starts where the page that
    /// returned `token` ended. If `token` is `None`, the page starts at the first item of the
    /// query.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use {dynalock::store::Store, shop::Order};
    /// # async fn example(orders: &dyn Store<Order>) -> dynalock::Result<()> {
    /// use dynalock::query::QuerySpec;
    ///
    /// let newest = QuerySpec::in_table("alice").descending().limit(20).build();
    /// let page = orders.page(newest.clone(), None).await?;
    /// let next = orders.page(newest, page.next).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `Store::page` returns the same errors as [`Query::page`].
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `page` at any time, because a read changes nothing.
    async fn page(&self, query: QuerySpec<T>, token: Option<PageToken>) -> Result<Page<Stored<T>>>;
}

#[async_trait]
impl<T: Versioned> Store<T> for Repository<T> {
    async fn get(&self, key: T::Key) -> Result<Option<Stored<T>>> {
        self.get(key).await
    }

    async fn create(&self, value: T) -> Result<Stored<T>> {
        self.create(value).await
    }

    async fn update(&self, stored: Stored<T>) -> Result<Stored<T>> {
        self.update(stored).await
    }

    async fn replace(&self, stored: Stored<T>) -> Result<Stored<T>> {
        self.replace(stored).await
    }

    async fn update_with(&self, key: T::Key, change: &mut Change<'_, T>) -> Result<Stored<T>> {
        self.update_with(key, |value: &mut T| change(value)).await
    }

    async fn delete(&self, stored: Stored<T>) -> Result<Deleted> {
        self.delete(stored).await
    }

    async fn get_many(&self, keys: Vec<T::Key>) -> Result<Vec<Option<Stored<T>>>> {
        self.get_many(keys).await
    }

    async fn page(&self, query: QuerySpec<T>, token: Option<PageToken>) -> Result<Page<Stored<T>>> {
        Query::of_spec(self, query).page(token).await
    }
}

/// Makes the error of an update, a replace or a delete that failed with a conflict. `written` is
/// the value that the caller passed to the failed call. `current` is the stored item, or `None` if
/// the key has no item.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// use dynalock::{Stored, store};
///
/// let stored = |stock, version| Stored::detached(Product { sku: "85123A".into(), stock }, version);
/// let error = store::conflict(&stored(7, 1), Some(&stored(9, 2)));
/// let dynalock::Error::Conflict(conflict) = error else { panic!("{error}") };
/// assert_eq!((conflict.expected(), conflict.found()), (Some(1), Some(2)));
/// assert_eq!(conflict.current::<Product>()?.map(|product| product.stock), Some(9));
/// # Ok::<(), dynalock::Error>(())
/// ```
pub fn conflict<T: Versioned>(written: &Stored<T>, current: Option<&Stored<T>>) -> Error {
    match current.map(item).transpose() {
        Ok(item) => Error::Conflict(refusal::<T>(written.key(), Some(written.version()), item)),
        Err(error) => error,
    }
}

/// Makes the error of a create whose key already has an item.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// use dynalock::{Stored, store};
///
/// let current = Stored::detached(Product { sku: "85123A".into(), stock: 7 }, 3);
/// assert!(matches!(store::already_exists(&current), dynalock::Error::AlreadyExists(_)));
/// ```
pub fn already_exists<T: Versioned>(current: &Stored<T>) -> Error {
    match item(current) {
        Ok(item) => Error::AlreadyExists(refusal::<T>(current.key(), None, Some(item))),
        Err(error) => error,
    }
}

/// Makes the error of an `update_with` whose key has no item.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// use dynalock::store;
///
/// assert!(matches!(store::not_found::<Product>("85123A".into()), dynalock::Error::NotFound { .. }));
/// ```
pub fn not_found<T: Versioned>(key: T::Key) -> Error {
    let key = T::MODEL.shown_key(&key.into());
    Error::NotFound { table: Arc::from(T::MODEL.table), key, spent: Spent::default() }
}

/// Returns the item that a repository would store for a value.
fn item<T: Versioned>(stored: &Stored<T>) -> Result<Item> {
    let mut item = encode(&Arc::from(T::MODEL.table), &**stored)?;
    if let Ok(basis) = stored.origin() {
        basis.state.revision.write_into(T::MODEL.version, &mut item);
    }
    Ok(item)
}

fn refusal<T: Versioned>(key: Key, expected: Option<u64>, item: Option<Item>) -> Conflict {
    let (table, model, expiry) = (Arc::from(T::MODEL.table), T::MODEL, ItemExpiry::DEFAULT);
    Conflict::new(ItemRef { table, model, key, expected, expiry }, item, Spent::default())
}

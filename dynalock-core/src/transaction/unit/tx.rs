use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::run::Run;
use crate::{
    codec::{Item, Stored, decode_stored, key_of},
    error::{Error, InvalidTransaction, Result},
    expression::Condition,
    key::Key,
    model::{IntoKey, ItemRef, Versioned},
    repository::Repository,
    retry::Attempts,
    transaction::{Op, pending::PendingOperation},
    write::{Guard, key::checked_key},
};

/// The handle through which the closure of a unit of work ([`transact`](crate::transact)) reads and
/// writes items. Each run of the closure receives its own `Tx`.
///
/// For a read through a `Tx`, an [expired](crate::Repository#expired-items) item counts as absent.
/// If the closure has read an expired item, the commit requires that the item has not changed since
/// the read.
///
/// A `Tx` is cheap to clone, so parts of the closure can run concurrently. The closure must drop
/// all clones of its `Tx` before the closure ends. A `Tx` records the writes, and the commit sends
/// the writes after the closure has ended. A read of an item that the closure has already written
/// is an error, because DynamoDB would return the item without the closure's write.
#[derive(Clone)]
pub struct Tx(Arc<Mutex<Run>>);

impl Tx {
    pub(super) fn new(run: Run) -> Self {
        Self(Arc::new(Mutex::new(run)))
    }

    pub(super) fn end(self) -> Result<Run> {
        // `into_inner` returns `None` if a clone of the `Tx` has outlived the closure.
        let run = Arc::into_inner(self.0).ok_or(Error::InvalidTransaction(InvalidTransaction::Escaped))?;
        Ok(run.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the item with the given key, or `None` if the key has no item. The read is strongly
    /// consistent. A second read of the item in the same run of the closure returns the same value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(tx: &dynalock::Tx, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let product = tx.get(products, "85123A").await?;
    /// println!("{:?} left", product.map(|product| product.stock));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidTransaction`]: the closure has recorded a write of the item before the
    ///   read.
    /// - `Tx::get` can return each error of [`Repository::get`].
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `Tx::get` at any time. If the caller drops the future of
    /// `Tx::get`, the item does not count as read by the closure.
    pub fn get<T: Versioned>(
        &self,
        repository: &Repository<T>,
        key: impl IntoKey<T>,
    ) -> impl Future<Output = Result<Option<Stored<T>>>> + Send {
        let item_ref = repository.item_ref(key.into_key(), None);
        self.run().session.link.meet(repository);
        async move {
            let known = self.run().read_known(&item_ref.table, &item_ref.key)?.map(|held| held.item.clone());
            let (table, expiry) = (Arc::clone(&item_ref.table), item_ref.expiry);
            let item = match known {
                Some(item) => item,
                None => {
                    let get = item_ref.read()?;
                    let mut attempts = self.attempts();
                    let item = self.count(attempts.read(&get).await, &attempts)?;
                    self.run().take_in(item_ref, item)?
                }
            };
            expiry.alive(T::MODEL, item).map(|item| decode_stored(&table, item)).transpose()
        }
    }

    /// Returns the items with the given keys, in the order of the keys, with as few requests as
    /// possible. `get_many` may read the items at different moments. If another caller changes one
    /// of the returned items before the commit, the commit fails, and the closure runs again.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(tx: &dynalock::Tx, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// for product in tx.get_many(products, ["tea", "cup"]).await? {
    ///     println!("{:?} left", product.map(|product| product.stock));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `get_many` returns the same errors as [`get`](Self::get).
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `get_many` at any time. If an earlier run of the closure
    /// has read some of the items, the commit may check these items even after the caller has
    /// dropped the future.
    pub fn get_many<T: Versioned, K: IntoKey<T>>(
        &self,
        repository: &Repository<T>,
        keys: impl IntoIterator<Item = K>,
    ) -> impl Future<Output = Result<Vec<Option<Stored<T>>>>> + Send {
        let item_refs: Vec<_> = keys.into_iter().map(|key| repository.item_ref(key.into_key(), None)).collect();
        let table = Arc::clone(&repository.table);
        self.run().session.link.meet(repository);
        async move {
            let asked = self.unknown(&item_refs)?;
            let keys = asked.iter().map(|item_ref| item_ref.key_item()).collect::<Result<Vec<_>>>()?;
            if !keys.is_empty() {
                let mut attempts = self.attempts();
                let found = self.count(attempts.read_many(&table, keys).await, &attempts)?;
                let by_key = |item| key_of(T::MODEL, &item).map(|key| (key, item));
                let mut found: HashMap<Key, Item> = found.into_iter().filter_map(by_key).collect();
                for item_ref in asked {
                    self.run().take_in(item_ref.clone(), found.remove(&item_ref.key))?;
                }
            }
            let mut items = Vec::with_capacity(item_refs.len());
            for item_ref in &item_refs {
                let item = self.run().read_known(&item_ref.table, &item_ref.key)?.and_then(|held| held.item.clone());
                let item = item_ref.expiry.alive(T::MODEL, item);
                items.push(item.map(|item| decode_stored(&table, item)).transpose()?);
            }
            Ok(items)
        }
    }

    /// Records a write of a new item at version 1. The commit requires that the key has no item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &dynalock::Tx, products: &dynalock::Repository<Product>) {
    /// tx.create(products, Product { sku: "85123A".into(), stock: 10 });
    /// # }
    /// ```
    pub fn create<T: Versioned>(&self, repository: &Repository<T>, value: T) {
        self.add(repository, PendingOperation::create(repository, value));
    }

    /// Records an update, which writes only the changed attributes of the value. The commit
    /// requires that the item has not changed since the program read the item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &dynalock::Tx, products: &dynalock::Repository<Product>, mut product: dynalock::Stored<Product>) {
    /// product.stock -= 3;
    /// tx.update(products, product);
    /// # }
    /// ```
    pub fn update<T: Versioned>(&self, repository: &Repository<T>, stored: Stored<T>) {
        self.add(repository, PendingOperation::update(repository, stored));
    }

    /// Records a write that replaces the whole item with the value. The commit requires that the
    /// item has not changed since the program read the item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &dynalock::Tx, products: &dynalock::Repository<Product>, product: dynalock::Stored<Product>) {
    /// tx.replace(products, product);
    /// # }
    /// ```
    pub fn replace<T: Versioned>(&self, repository: &Repository<T>, stored: Stored<T>) {
        self.add(repository, PendingOperation::replace(repository, stored));
    }

    /// Records a delete of the item. The commit requires that the item has not changed since the
    /// program read the item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &dynalock::Tx, products: &dynalock::Repository<Product>, product: dynalock::Stored<Product>) {
    /// tx.delete(products, product);
    /// # }
    /// ```
    pub fn delete<T: Versioned>(&self, repository: &Repository<T>, stored: Stored<T>) {
        self.add(repository, PendingOperation::delete(repository, stored));
    }

    /// Adds a condition for an item that the program has read outside the unit of work. The commit
    /// requires that this item has not changed since the read. An item that the closure has read
    /// through its `Tx` needs no call of `check`, because the commit checks each item that was
    /// read.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &dynalock::Tx, products: &dynalock::Repository<Product>, product: &dynalock::Stored<Product>) {
    /// tx.check(products, product);
    /// # }
    /// ```
    pub fn check<T: Versioned>(&self, repository: &Repository<T>, stored: &Stored<T>) {
        self.add(repository, PendingOperation::check(repository, stored));
    }

    /// Requires that the key has an item, and that the item has not
    /// [expired](crate::Repository#expired-items) at the time of the call of `check_exists`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &dynalock::Tx, products: &dynalock::Repository<Product>) {
    /// tx.check_exists(products, "85123A");
    /// # }
    /// ```
    pub fn check_exists<T: Versioned>(&self, repository: &Repository<T>, key: impl IntoKey<T>) {
        self.add(repository, PendingOperation::exists(repository, key.into_key()));
    }

    /// Requires that the key has no item. DynamoDB refuses the transaction if the key has an
    /// [expired](crate::Repository#expired-items) item. The commit then sends a second request,
    /// which accepts the expired item if it has not changed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &dynalock::Tx, products: &dynalock::Repository<Product>) {
    /// tx.check_absent(products, "85123A");
    /// # }
    /// ```
    pub fn check_absent<T: Versioned>(&self, repository: &Repository<T>, key: impl IntoKey<T>) {
        self.add(repository, PendingOperation::absent(repository, key.into_key()));
    }

    /// Requires that a condition is true for the item with the given key, even if the item has
    /// expired. If the condition is false and the item has changed since the closure read the item,
    /// the closure runs again. If the condition is false and the item has not changed, the unit of
    /// work fails with [`Error::Cancelled`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &dynalock::Tx, products: &dynalock::Repository<Product>) {
    /// tx.when(products, "85123A", Product::ATTR.stock.ge(3));
    /// # }
    /// ```
    pub fn when<T: Versioned>(&self, repository: &Repository<T>, key: impl IntoKey<T>, condition: Condition<T>) {
        self.add(repository, PendingOperation::when(repository, key.into_key(), condition));
    }

    /// Adds a condition to the whole unit of work: a guard must still hold its lease or its named
    /// lock. If the guard no longer holds the lease or lock, the unit of work fails with
    /// [`Error::Lost`]. If a unit of work writes a leased item without the guard of the lease,
    /// DynamoDB refuses the commit, even if the caller holds the lease.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(tx: &dynalock::Tx, locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let lock = locks.acquire("nightly-report").await?;
    /// tx.guard(&lock);
    /// # Ok(())
    /// # }
    /// ```
    pub fn guard(&self, lease: &impl Guard) {
        self.run().pending.push(PendingOperation::guard(lease));
    }

    fn add<T: Versioned>(&self, repository: &Repository<T>, operation: PendingOperation) {
        self.record::<T, ()>(repository, operation);
    }

    pub(in crate::transaction) fn record<T: Versioned, Out>(
        &self,
        repository: &Repository<T>,
        operation: PendingOperation,
    ) -> Op<T, Out> {
        let mut run = self.run();
        run.session.link.meet(repository);
        run.pending.push(operation);
        Op::new(run.id, run.pending.len() - 1)
    }

    fn attempts(&self) -> Attempts {
        self.run().session.attempts()
    }

    fn count<O>(&self, outcome: O, attempts: &Attempts) -> O {
        let mut run = self.run();
        // Two concurrent reads start from the same number of attempts.
        run.session.attempts = run.session.attempts.max(attempts.spent().attempts);
        outcome
    }

    /// Returns those of the given items that the run does not have in memory, without duplicates.
    fn unknown<'s>(&self, item_refs: &'s [ItemRef]) -> Result<Vec<&'s ItemRef>> {
        let mut unknown: Vec<&ItemRef> = Vec::new();
        for item_ref in item_refs {
            let is_asked = unknown.iter().any(|asked| asked.is(&item_ref.table, &item_ref.key));
            if !is_asked && self.run().read_known(&item_ref.table, &item_ref.key)?.is_none() {
                checked_key(item_ref.model, &item_ref.table, &item_ref.key)?;
                unknown.push(item_ref);
            }
        }
        Ok(unknown)
    }

    /// The caller of `run` must drop the returned `MutexGuard` before the next `.await`.
    fn run(&self) -> MutexGuard<'_, Run> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

debug_fields!(Tx);

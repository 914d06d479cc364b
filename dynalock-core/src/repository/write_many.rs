use std::{
    future::{IntoFuture, ready},
    sync::Arc,
};

use futures_core::Stream;
use futures_util::{FutureExt, future::join_all};

use super::{
    Deleted, Repository, Request,
    import::Import,
    in_many::{InMany, Numbered},
    request::{Checked, sealed::Sealed},
    write::{Create, Delete, Mode, Update},
    write_stream::{BatchCall, ItemResult, Sequence, WriteStream, first_failure},
};
use crate::{
    codec::Stored,
    error::{Error, InvalidSetting, Result},
    key::Key,
    model::Versioned,
    telemetry::{BoxedCall, observe_as, set_batch},
    write::group::groups,
};

/// The kind of a [`Request`] that writes many items. The type parameter `K` is the kind of write
/// that the call applies to each item, for example a create.
///
/// The methods [`create_many`](Repository::create_many), [`update_many`](Repository::update_many),
/// [`delete_many`](Repository::delete_many) and [`import_unchecked`](Repository::import_unchecked)
/// return a request of the kind `WriteMany`.
///
/// # What a call for many items promises
///
/// - A call for many items returns one result for each item. If the write of one item fails, the
///   call still writes the remaining items.
/// - The writes of the items are not atomic: another caller may read some of the written items
///   before the call has written the remaining items. A [`Transaction`](crate::Transaction) writes
///   up to 100 items atomically.
/// - The call writes items with the same key one after the other, in the order of the list that the
///   caller gave. The call writes items with different keys in any order. The setting
///   [`concurrency`](Request::concurrency) limits the number of requests in flight.
/// - The deadline and the number of attempts apply to each item separately. The deadline of an item
///   counts from the first request for the item. In an import, the deadline and the number of
///   attempts apply to each group of up to 25 items. A call for many items may take longer than
///   the deadline of one item.
/// - If the caller gives no items, the call sends no request.
#[derive(Debug)]
pub struct WriteMany<K> {
    pub(super) items: Vec<K>,
    concurrency: usize,
}

const CONCURRENCY: usize = 16;

impl<T: Versioned> Repository<T> {
    /// Creates many items, each like [`create`](Self::create). Returns one result for each value,
    /// in the order of the values. With the method [`stream`](Request::stream), the caller gets the
    /// result of each item as soon as the write of the item has ended.
    ///
    /// If two values have the same key, the create of the second value fails with
    /// [`Error::AlreadyExists`]. The call sends one request for each item, because a
    /// `BatchWriteItem` request cannot have conditions.
    /// [`import_unchecked`](Self::import_unchecked) writes without conditions, and sends
    /// `BatchWriteItem` requests.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let new = ["85123A", "22423"].map(|sku| Product { sku: sku.into(), stock: 10 });
    /// for created in products.create_many(new).concurrency(4).await {
    ///     match created {
    ///         Ok(product) => println!("{} created", product.sku),
    ///         Err(dynalock::Error::AlreadyExists(_)) => println!("was there already"),
    ///         Err(error) => return Err(error),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `create_many` returns one `Result` for each item, with the errors of
    /// [`create`](Self::create).
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `create_many`, each item may or may not have been written.
    /// A dropped call sends no more requests, but requests that were already sent may still arrive
    /// at DynamoDB.
    pub fn create_many(&self, values: impl IntoIterator<Item = T>) -> Request<T, WriteMany<Create<T>>> {
        self.many(values.into_iter().map(|value| Create { value }))
    }

    /// Writes the changed attributes of many values, each like [`update`](Self::update). Returns
    /// one result for each value, in the order of the values. With the method
    /// [`stream`](Request::stream), the caller gets the result of each item as soon as the write of
    /// the item has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let mut found: Vec<_> = products.get_many(["85123A", "22423"]).await?.into_iter().flatten().collect();
    /// for product in &mut found {
    ///     product.stock += 10;
    /// }
    /// let conflicts = products.update_many(found).await.into_iter().filter(Result::is_err).count();
    /// println!("{conflicts} products were written by another caller meanwhile");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `update_many` returns one `Result` for each item, with the errors of
    /// [`update`](Self::update).
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `update_many`, each item may or may not have been written.
    /// A dropped call sends no more requests, but requests that were already sent may still arrive
    /// at DynamoDB.
    pub fn update_many(&self, stored: impl IntoIterator<Item = Stored<T>>) -> Request<T, WriteMany<Update<T>>> {
        self.many(stored.into_iter().map(|stored| Update { stored, mode: Mode::Changes }))
    }

    /// Deletes many items, each like [`delete`](Self::delete). Returns one result for each item, in
    /// the order of the items. With the method [`stream`](Request::stream), the caller gets the
    /// result of each item as soon as the write of the item has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let sold_out = products.scan().filter(Product::ATTR.stock.eq(0)).collect().await?;
    /// for deleted in products.delete_many(sold_out).await {
    ///     match deleted {
    ///         Ok(_) => {}
    ///         Err(dynalock::Error::Conflict(_)) => println!("a product was written meanwhile, and stays"),
    ///         Err(error) => return Err(error),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `delete_many` returns one `Result` for each item, with the errors of
    /// [`delete`](Self::delete).
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `delete_many`, each item may or may not have been deleted.
    /// A dropped call sends no more requests, but requests that were already sent may still arrive
    /// at DynamoDB.
    pub fn delete_many(&self, stored: impl IntoIterator<Item = Stored<T>>) -> Request<T, WriteMany<Delete<T>>> {
        self.many(stored.into_iter().map(|stored| Delete { stored }))
    }

    /// Writes many values, and checks neither the versions nor the leases of the stored items. An
    /// import overwrites existing items, even items with a lease.
    ///
    /// An import writes up to 25 items in each `BatchWriteItem` request. Each item of an import
    /// consumes as many write units as a single put of the item. Use `import_unchecked` to fill a
    /// table that no other caller writes, for example with initial data or with a copy of another
    /// table.
    ///
    /// - If an import overwrites an item that contains a lease, the lease is lost. A holder detects
    ///   the loss of its lease at its next write or heartbeat. If the lease is in a [separate
    ///   row](crate::Lockable), an import neither reads nor writes the separate row. An import may
    ///   overwrite an item whose lease is in a separate row. The holder keeps the lease, and the
    ///   next write of the holder starts from the imported item.
    /// - Each imported item has version 1 and new random ids, like a created item. If a caller
    ///   writes a value that the caller read before the import, the write fails with a conflict.
    /// - If several values have the same key, the import writes the values in the order of the
    ///   list, so the last value remains.
    /// - DynamoDB may leave items of a request unprocessed. The import repeats the puts of
    ///   unprocessed items, with growing pauses, until the deadline. If an item is still
    ///   unprocessed at the deadline, the result of the item is an error. If DynamoDB refuses a
    ///   request because of one item, the import sends each item of the request separately. Only
    ///   the refused item then gets an error.
    /// - If an import repeats a request after a lost reply, the first request may arrive later than
    ///   the repeated request, and overwrite newer writes of other callers.
    ///
    /// The setting [`concurrency`](Request::concurrency) limits the number of requests in flight.
    /// The deadline and the number of attempts of an import apply to each group of up to 25 items.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let all = (0..10_000).map(|number| Product { sku: format!("{number}"), stock: 100 });
    /// let mut results = products.import_unchecked(all).stream();
    /// let mut written = 0;
    /// while let Some(item) = results.next().await {
    ///     item.result?;
    ///     written += 1;
    /// }
    /// println!("{written} products");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `import_unchecked` returns one `Result` for each item, with the following errors:
    ///
    /// - [`Error::Encode`]: the value cannot be stored.
    /// - [`Error::ItemTooLarge`]: the item is larger than DynamoDB stores.
    /// - [`Error::Indeterminate`]: a reply was lost, and no later request of the import wrote the
    ///   item.
    /// - Any of the [errors of every call](Repository#errors-of-every-call).
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `import_unchecked`, each item may or may not have been
    /// written. A dropped call sends no more requests, but requests that were already sent may
    /// still arrive at DynamoDB.
    pub fn import_unchecked(&self, values: impl IntoIterator<Item = T>) -> Request<T, WriteMany<Import<T>>> {
        self.many(values.into_iter().map(|value| Import { value }))
    }

    fn many<K>(&self, items: impl Iterator<Item = K>) -> Request<T, WriteMany<K>> {
        self.request(WriteMany { items: items.collect(), concurrency: CONCURRENCY })
    }
}

impl<T: Versioned, K: InMany<T>> Request<T, WriteMany<K>> {
    /// Limits the number of requests in flight. The default limit is 16 requests in flight. A
    /// request writes one item, or up to 25 items in an
    /// [`import_unchecked`](Repository::import_unchecked). With a limit of 0 requests, the result
    /// of each item is [`Error::InvalidSetting`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>, new: Vec<Product>) {
    /// let results = products.create_many(new).concurrency(64).await;
    /// # }
    /// ```
    pub fn concurrency(mut self, requests: usize) -> Self {
        self.kind.concurrency = requests;
        self
    }

    /// Returns a stream with the result of each item. The stream returns the result of an item as
    /// soon as the write of the item has ended, so that a program can show the progress.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>, new: Vec<Product>) -> dynalock::Result<()> {
    /// let all = new.len();
    /// let mut results = products.create_many(new).stream();
    /// let mut done = 0;
    /// while let Some(item) = results.next().await {
    ///     item.result?;
    ///     done += 1;
    ///     print!("\r{done} of {all}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the write of an item fails, the result of the item is an error, for example one of the
    /// errors of [`create`](Repository::create). If the write of one item fails, the stream
    /// continues with the remaining items.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the stream at any time. A dropped stream sends no more requests, but
    /// requests that were already sent may still arrive at DynamoDB.
    pub fn stream(self) -> WriteStream<K::Output> {
        let settings = Arc::new(self.like(()));
        let WriteMany { items, concurrency } = self.kind;
        let count = items.len();
        // With a limit of 0 requests in flight, the stream would never send a request.
        if concurrency == 0 {
            let refused = (0..count).map(|index| -> Sequence<K::Output> {
                let result = ItemResult { index, result: Err(Error::InvalidSetting(InvalidSetting::Concurrency)) };
                let step: BatchCall<K::Output> = Box::pin(ready(vec![result]));
                Box::new(std::iter::once(step))
            });
            return WriteStream::new(refused, 1, count);
        }
        let numbered = items.into_iter().enumerate();
        let keyed = numbered.map(|(index, item)| (item.key(), Numbered { index, item }));
        let mut chains = groups(keyed).into_iter().map(Vec::into_iter);
        let sequences = std::iter::from_fn(move || {
            // Each chain contains all items with one key. A request takes at most one item from
            // each chain, because DynamoDB refuses a request that names a key twice.
            let mut together: Vec<_> = chains.by_ref().take(K::MOST).collect();
            let settings = Arc::clone(&settings);
            (!together.is_empty()).then(|| -> Sequence<K::Output> {
                Box::new(std::iter::from_fn(move || {
                    let items: Vec<_> = together.iter_mut().filter_map(Iterator::next).collect();
                    (!items.is_empty()).then(|| K::send(&settings, items))
                }))
            })
        });
        WriteStream::new(sequences, concurrency, count)
    }
}

impl<T: Versioned, K: InMany<T>> IntoFuture for Request<T, WriteMany<K>> {
    type Output = Vec<Result<K::Output>>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let table = self.table();
        let mut stream = self.stream();
        let call = async move {
            let mut results = Vec::new();
            set_batch(stream.size_hint().0);
            while let Some(item) = stream.next().await {
                results.push(item);
            }
            // The stream returns the results in the order in which the items finish.
            results.sort_unstable_by_key(|item| item.index);
            results.into_iter().map(|item| item.result).collect()
        };
        observe_as(K::OPERATION, table, call, |results: &Vec<_>| first_failure(results))
    }
}

macro_rules! in_many {
    ($($kind:ident, $operation:literal => $output:ty, $key:expr;)*) => {$(
        impl<T: Versioned> InMany<T> for $kind<T> {
            type Output = $output;

            const OPERATION: &'static str = $operation;

            const MOST: usize = 1;

            fn key(&self) -> Key {
                let key: fn(&Self) -> Key = $key;
                key(self)
            }

            fn send(settings: &Request<T, ()>, items: Vec<Numbered<Self>>) -> BatchCall<Self::Output> {
                let calls = items.into_iter().map(|Numbered { index, item }| {
                    settings.like(item).into_future().map(move |result| ItemResult { index, result })
                });
                Box::pin(join_all(calls))
            }
        }
    )*};
}

in_many! {
    Create, "create_many" => Stored<T>, |create| create.value.key();
    Update, "update_many" => Stored<T>, |update| update.stored.key();
    Delete, "delete_many" => Deleted, |delete| delete.stored.key();
}

impl<K: Sealed> Sealed for WriteMany<K> {}
impl<K: Checked> Checked for WriteMany<K> {}

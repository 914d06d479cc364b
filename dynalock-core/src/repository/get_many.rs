use std::{
    collections::{HashMap, HashSet},
    future::IntoFuture,
    sync::Arc,
};

use super::{Repository, Request};
use crate::{
    codec::{ExpiredItems, Item, Stored, decode_stored, key_of},
    error::Result,
    key::Key,
    model::{IntoKey, Versioned},
    retry::Attempts,
    telemetry::{BoxedCall, observe, set_batch},
    write::key::checked_key,
};

/// The kind of a call that reads several items by their keys, for [`Repository::get_many`].
#[derive(Debug)]
pub struct GetMany {
    keys: Vec<Key>,
    expired: ExpiredItems,
}

impl<T: Versioned> Repository<T> {
    /// Reads the items with the given keys. `get_many` returns one `Option` for each key, in the
    /// order of the keys. If the caller gives a key twice, `get_many` reads the item once. Each
    /// read is strongly consistent, but `get_many` does not read all items at the same moment.
    ///
    /// DynamoDB accepts up to 100 keys in a request. For more than 100 keys, `get_many` sends
    /// several requests one after the other. If DynamoDB leaves keys unprocessed, `get_many`
    /// requests the unprocessed keys after a pause. The deadline of `get_many` limits the total
    /// duration of all requests and pauses. Only a request that reads none of its keys counts as a
    /// failed attempt for [`attempts`](Request::attempts).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let products = products.get_many(["85123A", "22423"]).await?;
    /// for product in products.into_iter().flatten() {
    ///     println!("{}: {}", product.sku, product.stock);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Decode`](crate::Error::Decode): an item cannot be decoded into a `T`.
    /// - [`Error::Corrupt`](crate::Error::Corrupt): an attribute of the library in an item, for
    ///   example `_writes`, is invalid.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `get_many` at any time, because a read changes nothing.
    pub fn get_many<K: IntoKey<T>>(&self, keys: impl IntoIterator<Item = K>) -> Request<T, GetMany> {
        let keys = keys.into_iter().map(IntoKey::into_key).collect();
        self.request(GetMany { keys, expired: ExpiredItems::Absent })
    }

    /// Makes a `Stored` from an item that the program has read with the SDK. The program can write
    /// the `Stored` like a value that the repository has read, with the same checks of the version.
    /// `decode` accepts expired items. The item must be complete, so read the item without a
    /// projection expression.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>) -> Result<(), Box<dyn std::error::Error>> {
    /// let output = client.scan().table_name("products").send().await?;
    /// for item in output.items.unwrap_or_default() {
    ///     let product = products.decode(item)?;
    ///     println!("{} at version {}", product.sku, product.version());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Decode`](crate::Error::Decode): the item cannot be decoded into a `T`.
    /// - [`Error::Corrupt`](crate::Error::Corrupt): the item contains an invalid value in an
    ///   attribute of the library, for example in `_writes`.
    pub fn decode(&self, item: Item) -> Result<Stored<T>> {
        decode_stored(&self.table, item)
    }
}

impl<T> Request<T, GetMany> {
    /// Includes expired items in the result, like [`Request::<T,
    /// Get>::including_expired`](Request::including_expired).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let products = products.get_many(["85123A", "22423"]).including_expired().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn including_expired(mut self) -> Self {
        self.kind.expired = ExpiredItems::Included;
        self
    }
}

impl<T: Versioned> Request<T, GetMany> {
    /// DynamoDB refuses a BatchGetItem that names a key twice, so `different_keys` returns each key
    /// once.
    pub(super) fn different_keys(&self) -> Result<Vec<Item>> {
        let mut seen = HashSet::new();
        let different = self.kind.keys.iter().filter(|key| seen.insert(*key));
        different.map(|key| checked_key(T::MODEL, &self.repository.table, key)).collect()
    }
}

impl<T: Versioned> IntoFuture for Request<T, GetMany> {
    type Output = Result<Vec<Option<Stored<T>>>>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("get_many", self.table(), async move {
            let different = self.different_keys()?;
            let Self { repository, limits, kind: GetMany { keys, expired }, .. } = self;
            set_batch(keys.len());
            let repeats = different.len() < keys.len();
            let table = Arc::clone(&repository.table);
            let items = Attempts::new(&repository.connection, limits).read_many(&table, different).await?;
            let expiry = repository.item_expiry();
            let is_shown = |item: &Item| expired == ExpiredItems::Included || !expiry.is_over(T::MODEL, item);
            let items = items.into_iter().filter(is_shown);
            let keyed = items.filter_map(|item| Some((key_of(T::MODEL, &item)?, item)));
            let mut found: HashMap<Key, Item> = keyed.collect();
            // If the keys of the call are all different, each item moves out of the map without a
            // copy.
            let mut item = |key: &Key| if repeats { found.get(key).cloned() } else { found.remove(key) };
            keys.iter().map(|key| item(key).map(|item| repository.decode(item)).transpose()).collect()
        })
    }
}

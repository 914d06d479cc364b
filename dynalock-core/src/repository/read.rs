use std::{future::IntoFuture, sync::Arc};

use super::Request;
use crate::{
    codec::{ExpiredItems, Stored, decode},
    error::Result,
    key::Key,
    model::Versioned,
    operation::GetItem,
    retry::Attempts,
    telemetry::{BoxedCall, observe},
    write::key::checked_key,
};

/// The kind of a call that reads one item, for [`Repository::get`](super::Repository::get).
#[derive(Debug)]
pub struct Get {
    pub(super) key: Key,
    pub(super) consistent: bool,
    pub(super) expired: ExpiredItems,
}

impl<T> Request<T, Get> {
    /// Makes the read eventually consistent. An eventually consistent read consumes half the read
    /// units, and may miss the most recent writes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let product = products.get("85123A").eventually_consistent().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn eventually_consistent(mut self) -> Self {
        self.kind.consistent = false;
        self
    }

    /// Returns the item even if the item has [expired](super::Repository#expired-items). Without
    /// `including_expired`, the call treats an expired item as absent, even before DynamoDB deletes
    /// the item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let product = products.get("85123A").including_expired().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn including_expired(mut self) -> Self {
        self.kind.expired = ExpiredItems::Included;
        self
    }
}

impl<T: Versioned> Request<T, Get> {
    pub(super) fn get_item(&self) -> Result<GetItem> {
        let (table, Get { key, consistent, .. }) = (&self.repository.table, &self.kind);
        Ok(GetItem { table: Arc::clone(table), key: checked_key(T::MODEL, table, key)?, consistent: *consistent })
    }
}

impl<T: Versioned> IntoFuture for Request<T, Get> {
    type Output = Result<Option<Stored<T>>>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        // The future contains only what the read needs. glibc allocates boxes of more than 1,032
        // bytes slowly.
        let (table, get) = (self.table(), self.get_item());
        let Self { repository, limits, kind, .. } = self;
        let expiry = (kind.expired == ExpiredItems::Absent).then(|| repository.item_expiry());
        let connection = repository.connection;
        observe("get", table, async move {
            let get = get?;
            let Some(item) = Attempts::new(&connection, limits).read(&get).await? else { return Ok(None) };
            if expiry.is_some_and(|expiry| expiry.is_over(T::MODEL, &item)) {
                return Ok(None);
            }
            let (value, basis) = decode(&get.table, item)?;
            Ok(Some(Stored::new(value, basis)))
        })
    }
}

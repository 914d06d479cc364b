use std::future::IntoFuture;

use super::{Request, request::BoxedCall, session::Session};
use crate::{
    codec::{Stored, decode},
    error::Result,
    key::Key,
    model::Versioned,
};

/// A read of one item: [`Repository::get`](super::Repository::get).
#[derive(Debug)]
pub struct Get {
    key: Key,
    consistent: bool,
}

impl Get {
    pub(super) fn new(key: Key) -> Self {
        Self { key, consistent: true }
    }
}

impl<T> Request<T, Get> {
    /// Makes the read eventually consistent: it costs half the read units, and may miss the most
    /// recent writes.
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
}

impl<T: Versioned> IntoFuture for Request<T, Get> {
    type Output = Result<Option<Stored<T>>>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (mut session, Get { key, consistent }) = Session::<T>::new(self);
            let mut get = session.get(&key)?;
            get.consistent = consistent;
            let Some(item) = session.read(&get).await? else { return Ok(None) };
            let (value, basis) = decode(session.table(), item)?;
            Ok(Some(Stored::new(value, basis)))
        })
    }
}

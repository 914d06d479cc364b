//! Patches in a transaction.

use std::fmt;

use super::{Op, Transaction, Tx, pending::PendingOperation};
use crate::{
    expression::{PatchContent, patch_methods},
    model::{IntoKey, Versioned},
    repository::Repository,
    write::patch::SharedPatch,
};

/// A patch that a transaction has recorded: [`Transaction::patch`] and [`Tx::patch`]. Its methods
/// add changes to the recorded patch, until the transaction is committed.
pub struct PatchOp<T> {
    operation: Op<T, ()>,
    content: SharedPatch<T>,
}

impl<T: Versioned> PatchOp<T> {
    patch_methods!();

    /// Ends the patch, and returns the handle of the operation.
    pub fn op(self) -> Op<T, ()> {
        self.operation
    }

    fn change(&self, change: impl FnOnce(&mut PatchContent<T>)) {
        self.content.change(change);
    }
}

impl Transaction {
    /// Adds atomic changes of an item that is not read:
    /// [`Repository::patch`](crate::Repository::patch). The patch is recorded at once, and the
    /// methods of the returned value add changes to it. The transaction returns no item for a
    /// patch.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(
    /// #     client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>,
    /// # ) -> dynalock::Result<()> {
    /// let a = Product::ATTR;
    /// let mut tx = dynalock::Transaction::new(client);
    /// tx.patch(products, "85123A").add(a.stock, -3).when(a.stock.ge(3));
    /// tx.patch(products, "22423").add(a.stock, 3);
    /// tx.commit().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// A patch without a change, or with changes that overlap, is an
    /// [`Error::InvalidPatch`](crate::Error::InvalidPatch) at the commit. Two writes of one item,
    /// for example two patches, are an
    /// [`Error::InvalidTransaction`](crate::Error::InvalidTransaction). A patch that the item
    /// refuses cancels the transaction: [`Error::Cancelled`](crate::Error::Cancelled) has the item,
    /// and does not name the condition or the range that refused the patch.
    pub fn patch<T: Versioned>(&mut self, repository: &Repository<T>, key: impl IntoKey<T>) -> PatchOp<T> {
        let content = SharedPatch::default();
        let intent = repository.patch_intent(key.into_key(), content.clone());
        let operation = self.add(repository, PendingOperation::patch(repository, intent));
        PatchOp { operation, content }
    }
}

impl Tx {
    /// Adds atomic changes of an item: [`Repository::patch`](crate::Repository::patch). The patch
    /// is recorded at once, and the methods of the returned value add changes to it. If the run has
    /// read the item, the patch requires the item as it was read.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(
    /// #     client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>,
    /// # ) -> dynalock::Result<()> {
    /// dynalock::transact(client, |tx| async move {
    ///     tx.patch(products, "85123A").add(Product::ATTR.stock, -3);
    ///     Ok::<_, dynalock::Error>(())
    /// })
    /// .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn patch<T: Versioned>(&self, repository: &Repository<T>, key: impl IntoKey<T>) -> PatchOp<T> {
        let content = SharedPatch::default();
        let intent = repository.patch_intent(key.into_key(), content.clone());
        let operation = self.record(repository, PendingOperation::patch(repository, intent));
        PatchOp { operation, content }
    }
}

impl<T> fmt::Debug for PatchOp<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PatchOp").field(&self.operation).finish()
    }
}

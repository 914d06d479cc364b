//! Patches in a `Transaction` or in a closure of `transact`.

use super::{Op, Transaction, Tx, pending::PendingOperation};
use crate::{
    expression::{PatchContent, patch_methods},
    model::{IntoKey, Versioned},
    repository::Repository,
    write::patch::SharedPatch,
};

/// A patch that is an operation of a transaction. [`Transaction::patch`] and [`Tx::patch`] return a
/// `PatchOp`. Until the commit of the transaction, the methods of a `PatchOp` can add changes to the
/// patch.
pub struct PatchOp<T> {
    operation: Op<T, ()>,
    content: SharedPatch<T>,
}

impl<T: Versioned> PatchOp<T> {
    patch_methods!();

    /// Returns the handle of the patch operation. After the call of `op`, the caller can add no
    /// more changes to the patch.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(tx: &mut dynalock::Transaction, products: &dynalock::Repository<Product>) {
    /// use dynalock::transaction::Op;
    ///
    /// let sold: Op<Product, ()> = tx.patch(products, "85123A").add(Product::ATTR.stock, -3).op();
    /// # }
    /// ```
    pub fn op(self) -> Op<T, ()> {
        self.operation
    }

    fn change(&self, change: impl FnOnce(&mut PatchContent<T>)) {
        self.content.change(change);
    }
}

impl Transaction {
    /// Adds an operation that changes attributes of an item without a read, like
    /// [`Repository::patch`](crate::Repository::patch). The methods of the returned [`PatchOp`] add
    /// changes to the patch. A transaction does not return the item after a patch.
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
    /// If the patch has no change, or if two changes of the patch overlap, the commit fails with
    /// [`Error::InvalidPatch`](crate::Error::InvalidPatch). If the transaction writes an item
    /// twice, for example with two patches, the commit fails with
    /// [`Error::InvalidTransaction`](crate::Error::InvalidTransaction). The commit fails with
    /// [`Error::Cancelled`](crate::Error::Cancelled) if a condition of the patch is false, or if
    /// the sum of an `add` would be out of range. `Cancelled` contains the item, but does not name
    /// the condition or the `add` that caused the refusal.
    pub fn patch<T: Versioned>(&mut self, repository: &Repository<T>, key: impl IntoKey<T>) -> PatchOp<T> {
        let content = SharedPatch::default();
        let operation = PendingOperation::patch(repository, key.into_key(), content.clone());
        let operation = self.add(repository, operation);
        PatchOp { operation, content }
    }
}

impl Tx {
    /// Records a patch, which changes attributes of an item without a read, like
    /// [`Repository::patch`](crate::Repository::patch). The methods of the returned [`PatchOp`] add
    /// changes to the patch. If the closure of `transact` has read the item, the commit requires
    /// that the item has not changed since the read.
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
        let operation = PendingOperation::patch(repository, key.into_key(), content.clone());
        let operation = self.record(repository, operation);
        PatchOp { operation, content }
    }
}

debug_fields!([T] PatchOp<T>, self => (self.operation));

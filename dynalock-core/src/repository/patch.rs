//! Patches of a single item.

use std::future::IntoFuture;

use super::{
    Repository, Request,
    request::{BoxedCall, Checked, sealed::Sealed},
    session::Session,
};
use crate::{
    codec::{Stored, decode},
    error::{Error, Result},
    expression::{PatchContent, patch_methods},
    key::Key,
    lease::LeasePolicy,
    model::{IntoKey, Versioned},
    write::patch::{PatchIntent, SeenItem, SharedPatch},
};

/// Atomic changes of one item, without a read: [`Repository::patch`].
#[derive(Debug)]
pub struct Patch<T> {
    pub(super) key: Key,
    pub(super) content: SharedPatch<T>,
}

impl<T: Versioned> Patch<T> {
    pub(super) fn new(key: Key) -> Self {
        Self { key, content: SharedPatch::default() }
    }
}

impl<T: Versioned> Repository<T> {
    /// Changes attributes of an item by one request, without a read. The changes are atomic, and do
    /// not conflict with other writers: a patch increments the stored version by itself. Returns
    /// the item after the patch.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let a = Product::ATTR;
    /// let product = products.patch("85123A").add(a.stock, -3).when(a.stock.ge(3)).await?;
    /// println!("{} left", product.stock);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # What a patch requires
    ///
    /// A patch never leaves an item that `T` cannot read. In addition to the condition of the
    /// caller, a patch requires that the item exists, that no other caller holds its lease, and
    /// that each change fits the stored value.
    ///
    /// # Lost replies
    ///
    /// A patch is relative, so a repetition after a lost reply could apply it twice. A patch whose
    /// outcome is unknown is therefore never sent again. The call reads the item instead. The item
    /// keeps the ids of its last eight patches, in the attributes `_p0` to `_p7`. If the id of this
    /// patch is among them, the patch was applied, and the call returns the item as it was read,
    /// which may include later writes. Otherwise the error is [`Error::Indeterminate`]: the id may
    /// have been pushed out, or the request may still arrive. The library cannot distinguish these
    /// cases from a request that was lost on its way.
    ///
    /// With [`exactly_once`](Request::exactly_once), the call sends the patch as a transaction with
    /// a token, at twice the write units, and repeats it under that token for up to ten minutes. A
    /// refusal after a lost reply remains [`Error::Indeterminate`].
    ///
    /// # Errors
    ///
    /// - [`Error::NotFound`]: there is no item under the key.
    /// - [`Error::ConditionFailed`]: the condition of the caller is false. The error contains the
    ///   item.
    /// - [`Error::Locked`]: another caller holds a lease on the item.
    /// - [`Error::OutOfRange`]: a number would leave the range of its type.
    /// - [`Error::Unpatchable`]: an attribute has another type than `T` says, is missing although
    ///   `T` requires it, or is stored under an alias.
    /// - [`Error::InvalidPatch`]: the patch has no change, or two changes overlap. Nothing was
    ///   sent.
    /// - [`Error::Encode`]: a value cannot be stored. Nothing was sent.
    /// - [`Error::ExpressionTooLong`]: the expressions are longer than 4 KB. Nothing was sent.
    /// - [`Error::ItemTooLarge`]: the item would be larger than DynamoDB stores.
    /// - [`Error::VersionExhausted`]: the item has the last version that a `u64` can hold.
    /// - [`Error::Indeterminate`]: a reply was lost, and the outcome cannot be known. A patch that is
    ///   sent as a transaction is read back, because DynamoDB then returns no item. The error is
    ///   also `Indeterminate` if that read fails, or if the item was deleted in between.
    /// - [`Error::Decode`] or [`Error::Corrupt`]: the patch was applied, but the item does not fit
    ///   `T`, because another program stored a value that `T` cannot read. For example, an addition
    ///   to a stored 2.5 leaves a fraction in a field for whole numbers.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible too.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the patch may have been applied or not. Nothing is sent after the
    /// drop, but a request that was sent may still arrive.
    pub fn patch(&self, key: impl IntoKey<T>) -> Request<T, Patch<T>> {
        self.request(Patch::new(key.into_key()))
    }

    /// Returns a patch of an item, for a transaction.
    pub(crate) fn patch_intent(&self, key: Key, content: SharedPatch<T>) -> PatchIntent<T> {
        self.patch_under(key, content, LeasePolicy::outside(T::MODEL, self.options))
    }

    /// Returns a patch of an item by a call with this lease policy.
    pub(super) fn patch_under(&self, key: Key, content: SharedPatch<T>, policy: LeasePolicy) -> PatchIntent<T> {
        let (table, at, expiry) = (self.table.clone(), self.options.now(), self.item_expiry());
        PatchIntent { table, key, content, policy, at, expiry, seen: SeenItem::default() }
    }
}

impl<T: Versioned> Request<T, Patch<T>> {
    patch_methods!();

    fn change(&self, change: impl FnOnce(&mut PatchContent<T>)) {
        self.kind.content.change(change);
    }
}

impl<T> Sealed for Patch<T> {}
impl<T> Checked for Patch<T> {}

impl<T: Versioned> IntoFuture for Request<T, Patch<T>> {
    type Output = Result<Stored<T>, Error>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (mut session, Patch { key, content }) = Session::<T>::new(self);
            let item = session.patch(key, content).await?;
            let (value, basis) = decode(session.table(), item)?;
            Ok(Stored::new(value, basis))
        })
    }
}

//! The call that patches a single item.

use std::future::IntoFuture;

use super::{
    Repository, Request,
    request::{Checked, sealed::Sealed},
    session::Session,
};
use crate::{
    codec::{Stored, decode},
    error::{Error, Result},
    expression::{PatchContent, patch_methods},
    key::Key,
    lease::LeasePolicy,
    model::{IntoKey, Versioned},
    telemetry::{BoxedCall, observe},
    write::patch::{PatchIntent, SeenItem, SharedPatch},
};

/// The kind of a call that changes one item without a read: [`Repository::patch`].
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
    /// Changes attributes of an item by one request, without a read. The changes are atomic. A
    /// patch requires no particular version of the item, so a patch never conflicts with other
    /// writers. A patch increments the stored version. The call returns the item after the patch.
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
    /// After a patch, `T` can still read the item. In addition to the condition of the caller, a
    /// patch therefore requires that the item exists, that no other caller holds its lease, and
    /// that the stored values allow each change.
    ///
    /// # Lost replies
    ///
    /// A change such as `add` depends on the stored value, so a second request after a lost reply
    /// could apply the change twice. Without `exactly_once`, a patch whose outcome is unknown is
    /// therefore never sent again. Instead of a second request, the call reads the item. The item
    /// contains the ids of its last eight patches, in the attributes `_p0` to `_p7`. If these ids
    /// include the id of this patch, the patch was applied. The call then returns the item that it
    /// has read, which may contain later writes. If the item does not contain the id, the call
    /// returns [`Error::Indeterminate`]. The request may have been lost on its way, may still
    /// arrive, or may have been applied before later patches removed its id, and the library cannot
    /// distinguish these cases.
    ///
    /// With [`exactly_once`](Request::exactly_once), the call sends the patch as a transaction with
    /// a ClientRequestToken, at twice the write units. The call can repeat the transaction safely,
    /// because DynamoDB applies a transaction at most once while it remembers its token. If a
    /// repeated request is refused after a lost reply, the error is still [`Error::Indeterminate`].
    ///
    /// # Errors
    ///
    /// - [`Error::NotFound`]: there is no item under the key.
    /// - [`Error::ConditionFailed`]: the condition of the caller is false. `ConditionFailed`
    ///   contains the item.
    /// - [`Error::Locked`]: another caller holds a lease on the item.
    /// - [`Error::OutOfRange`]: the sum of an `add` would be outside the range of the attribute's
    ///   type.
    /// - [`Error::Unpatchable`]: an attribute has another type than in `T`, is missing although `T`
    ///   requires the attribute, or is stored under an alias.
    /// - [`Error::InvalidPatch`]: the patch has no change, or two changes overlap. Nothing was
    ///   sent.
    /// - [`Error::Encode`]: a value cannot be stored. Nothing was sent.
    /// - [`Error::ExpressionTooLong`]: the expressions are longer than 4 KB. Nothing was sent.
    /// - [`Error::ItemTooLarge`]: the item would be larger than DynamoDB stores.
    /// - [`Error::VersionExhausted`]: the item has the last version that a `u64` can hold.
    /// - [`Error::Indeterminate`]: a reply was lost, and the outcome cannot be known. After a patch
    ///   that was sent as a transaction, the call reads the item, because a transaction returns no
    ///   item. If this read fails, or if the item has been deleted in the meantime, the error is
    ///   also `Indeterminate`.
    /// - [`Error::Decode`] or [`Error::Corrupt`]: the patch was applied, but the item cannot be
    ///   decoded into a `T`, because another program stored a value that `T` cannot read. For
    ///   example, an addition to a stored 2.5 leaves a fraction in a field for whole numbers.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible too.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the patch may or may not have been applied. A dropped call sends
    /// no more requests, but a request that was already sent may still arrive.
    pub fn patch(&self, key: impl IntoKey<T>) -> Request<T, Patch<T>> {
        self.request(Patch::new(key.into_key()))
    }

    /// Returns the intent of a patch in a transaction.
    pub(crate) fn patch_intent(&self, key: Key, content: SharedPatch<T>) -> PatchIntent<T> {
        self.patch_under(key, content, LeasePolicy::outside(T::MODEL, self.options))
    }

    /// Returns the intent of a patch by a call with this lease policy.
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
        observe("patch", self.table(), async move {
            let (mut session, Patch { key, content }) = Session::<T>::new(self);
            let item = session.patch(key, content).await?;
            let (value, basis) = decode(session.table(), item)?;
            Ok(Stored::new(value, basis))
        })
    }
}

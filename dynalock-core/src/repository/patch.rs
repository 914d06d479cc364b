use std::future::IntoFuture;

use super::{
    Repository, Request, explain,
    request::{Checked, Explain, sealed::Sealed},
    session::Session,
};
use crate::{
    codec::{Stored, decode_applied},
    error::{Error, Result},
    explain::Explained,
    expression::{PatchContent, patch_methods},
    key::Key,
    model::{IntoKey, Versioned},
    telemetry::{BoxedCall, observe},
    write::patch::SharedPatch,
};

/// The kind of a [`Request`] that changes one item without a read. [`Repository::patch`] returns
/// the request.
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
    /// Changes attributes of an item by one request, without a read. DynamoDB applies either all
    /// changes of a patch or none. A patch does not compare the version of the item, so a patch
    /// never conflicts with other writers. A patch increments the stored version. `patch` returns
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
    /// The item after a patch must be decodable into a `T`. The library adds three conditions to a
    /// patch: the item exists, no other caller holds a lease on the item, and the stored values
    /// allow each change of the patch.
    ///
    /// # Lost replies
    ///
    /// A change like `add` depends on the stored value, so a second request after a lost reply
    /// could apply the change twice. Without `exactly_once`, the library never sends a patch a
    /// second time if the outcome of the first request is unknown. After a lost reply to a patch
    /// without `exactly_once`, the call reads the item. Each item contains the ids of the last
    /// eight patches of the item, in the attributes `_p0` to `_p7`.
    ///
    /// After a lost reply, the call reads the item. If the item contains the id of the patch, the
    /// patch was applied, and the call returns the item. The returned item may also contain writes
    /// of other callers after the patch. If the item does not contain the id of a patch whose reply
    /// was lost, the call returns [`Error::Indeterminate`]. The library cannot distinguish the
    /// possible causes of a missing patch id: the request was lost, the request may still arrive at
    /// DynamoDB, or later patches have removed the id.
    ///
    /// With [`exactly_once`](Request::exactly_once), the call sends the patch as a transaction with
    /// a ClientRequestToken. A transaction consumes twice the write units of an UpdateItem. The
    /// call can repeat the transaction safely, because DynamoDB does not apply a second transaction
    /// with a token that DynamoDB still remembers. If a reply is lost and DynamoDB refuses the
    /// repeated transaction, the call returns [`Error::Indeterminate`].
    ///
    /// # Errors
    ///
    /// - [`Error::NotFound`]: the key has no item.
    /// - [`Error::ConditionFailed`]: the condition of the caller is false. `ConditionFailed`
    ///   contains the item.
    /// - [`Error::Locked`]: another caller holds a lease on the item.
    /// - [`Error::OutOfRange`]: the sum of an `add` would be outside the range of the field's type.
    /// - [`Error::Unpatchable`]: a stored attribute has another type than the field in `T`, is
    ///   missing although `T` requires the attribute, or is stored under an alias of the field.
    /// - [`Error::InvalidPatch`]: the call sent no request, because the patch has no change, or
    ///   because two changes of the patch overlap.
    /// - [`Error::Encode`]: the call sent no request, because a value cannot be stored.
    /// - [`Error::ExpressionTooLong`]: the call sent no request, because the expressions are longer
    ///   than 4 KB.
    /// - [`Error::ItemTooLarge`]: the item would be larger than DynamoDB can store.
    /// - [`Error::VersionExhausted`]: the version of the item is the largest `u64`.
    /// - [`Error::Indeterminate`]: a reply was lost, and the call cannot find out whether DynamoDB
    ///   applied the patch. A patch with `exactly_once` is a transaction, and the reply to a
    ///   transaction contains no item, so the call reads the item after the patch. If the read
    ///   after a patch with `exactly_once` fails or finds no item, the call returns
    ///   `Indeterminate`.
    /// - [`Error::Decode`] or [`Error::Corrupt`]: the patch was applied, but the item cannot be
    ///   decoded into a `T`. A program that does not use dynalock has stored a value that `T`
    ///   cannot read. For example, if an attribute of a whole-number field contains 2.5, an `add`
    ///   of 1 succeeds, but `T` cannot read the new value 3.5.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `patch`, DynamoDB may or may not have applied the patch. A
    /// dropped call sends no more requests, but a request that was already sent may still arrive at
    /// DynamoDB.
    pub fn patch(&self, key: impl IntoKey<T>) -> Request<T, Patch<T>> {
        self.request(Patch::new(key.into_key()))
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
            decode_applied(session.table(), item)
        })
    }
}

impl<T: Versioned> Explain<T> for Patch<T> {
    type Explanation = Result<Explained>;

    fn explain(request: &Request<T, Self>) -> Result<Explained> {
        let Patch { key, content } = &request.kind;
        explain::patch(&mut Session::of_unsent(request), key.clone(), content.clone())
    }
}
